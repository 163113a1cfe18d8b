"""How a history that went wrong is cut down while it still goes wrong in the same way.

It must not know what wrong means.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from attrs import evolve

from provisioner.sim.chaos.course import Verdict, run
from provisioner.sim.chaos.history import History

MOST_RUNS = 200
P = TypeVar("P")


def shrunk(history: History, id: str, play: Callable[[History], Verdict] = run) -> History:
    """The smallest history found that has a violation of this id, by leaving out strikes, work and providers.

    At most MOST_RUNS histories are played; a history that does not have the violation comes back as it is.
    """
    left = MOST_RUNS
    while True:
        for smaller in _smaller(history):
            if left == 0:
                return history
            left -= 1
            if any(v.id == id for v in play(smaller).violations):
                history = smaller
                break
        else:
            return history


def _smaller(history: History) -> Iterator[History]:
    """Every history with one thing less, big pieces first."""
    if len(history.suppliers) > 1:
        for n in range(len(history.suppliers)):
            yield evolve(history, suppliers=_without(history.suppliers, n))
    half = len(history.strikes) // 2
    if half > 1:
        yield evolve(history, strikes=history.strikes[:half])
        yield evolve(history, strikes=history.strikes[half:])
    for n in range(len(history.strikes)):
        yield evolve(history, strikes=_without(history.strikes, n))
    if len(history.work) > 1:
        for n in range(len(history.work)):
            yield evolve(history, work=_without(history.work, n))


def _without(parts: tuple[P, ...], n: int) -> tuple[P, ...]:
    return parts[:n] + parts[n + 1 :]
