"""Many histories, one after the other or side by side: what struck how often, what went wrong, and the shortest proof.

It must not know how a history is played.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from attrs import define, field, frozen

from provisioner.core.invariants import Violation
from provisioner.sim.chaos.course import run
from provisioner.sim.chaos.history import Fault, History, draw
from provisioner.sim.chaos.shrink import shrunk

BATCH = 25


@frozen
class Failure:
    """One history that went wrong."""

    seed: int
    violations: tuple[Violation, ...]


@define(eq=False)
class Tally:
    """The sum over histories."""

    histories: int = 0
    hits: Counter[Fault] = field(factory=Counter)
    struck: Counter[Fault] = field(factory=Counter)
    purchases: int = 0
    jobs_done: int = 0
    virtual_s: float = 0.0
    failures: list[Failure] = field(factory=list)

    def add(self, other: "Tally") -> None:
        """Takes another tally in."""
        self.histories += other.histories
        self.hits += other.hits
        self.struck += other.struck
        self.purchases += other.purchases
        self.jobs_done += other.jobs_done
        self.virtual_s += other.virtual_s
        self.failures += other.failures

    def table(self) -> list[str]:
        """How often each fault and each crash point struck, and in how many histories, as lines."""
        width = max(len(fault.value) for fault in Fault)
        rows = [f"{fault.value:<{width}}  {self.hits[fault]:>8}  {self.struck[fault]:>8}" for fault in Fault]
        return [f"{'fault or crash point':<{width}}  {'struck':>8}  {'in':>8}", *rows]


def tally(seeds: Iterable[int]) -> Tally:
    """Plays the histories of these seeds."""
    total = Tally()
    for seed in seeds:
        verdict = run(draw(seed))
        total.histories += 1
        total.hits += verdict.hits
        total.struck += Counter(verdict.hits.keys())
        total.purchases += verdict.bought
        total.jobs_done += verdict.done
        total.virtual_s += verdict.ended_s
        if verdict.violations:
            total.failures.append(Failure(seed, verdict.violations))
    return total


def campaign(first: int, count: int, workers: int) -> Iterator[Tally]:
    """Tallies of batches of seeds from `first` on, as they become ready; `workers` processes side by side."""
    batches = [range(n, min(n + BATCH, first + count)) for n in range(first, first + count, BATCH)]
    if workers <= 1:
        yield from map(tally, batches)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(tally, batches)


def proof(failure: Failure) -> tuple[History, list[str]]:
    """The cut down history of a failure, and its story in readable lines."""
    history = shrunk(draw(failure.seed), failure.violations[0].id)
    verdict = run(history)
    return history, [*history.lines(), *verdict.lines]
