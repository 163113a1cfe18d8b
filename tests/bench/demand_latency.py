"""How long a demand takes from its push to the purchase's frame at the provider, against one durable commit.

Knows the engine and the link as the daemon wires them. Must not know how either works inside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import trio
from attrs import define, field

from provisioner.core.events import DemandPushed, SupplyPushed
from provisioner.core.facts import DecisionFact
from provisioner.core.model import Line
from provisioner.core.reasons import Reason, Why
from provisioner.edge.fact_codec import encode_fact
from provisioner.runtime.engine import Engine
from provisioner.runtime.links.link import Batch, Committed, Link, Put
from provisioner.runtime.links.sqlite import open_sqlite
from tests.bench.far_sides import FarSide, in_process, with_process
from tests.bench.measure import Bench, Effort, Measured, Row, median_ratio, median_text, p99
from tests.core.play import cores

IN_PROCESS_ROW = Row("demand_to_frame.p99.ratio_to_commit", 5.0, "lower")
WITH_PROCESS_ROW = Row("demand_to_frame_process.p99.ratio_to_commit", 5.0, "lower")

ROUNDS = 5
DEMANDS = 200
SOURCE = "lsf"

Opened: TypeAlias = AbstractAsyncContextManager[tuple[Engine, FarSide]]


@define
class Samples:
    """What one round took, in milliseconds."""

    demands: list[float] = field(factory=list)
    commits: list[float] = field(factory=list)


class Source:
    """A scheduler that lacks one thing at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._revision = 1

    async def joins(self) -> None:
        """Says once that it has no host."""
        await self._engine.push(SupplyPushed(SOURCE, 0, 1, ()))

    async def lacks(self, *lines: Line) -> None:
        """Says what it lacks, as news."""
        self._revision += 1
        await self.repeats(*lines)

    async def repeats(self, *lines: Line) -> None:
        """Says again what it said last; answered when all events before it are decided."""
        await self._engine.push(DemandPushed(SOURCE, 0, self._revision, 1, lines))


def measure(folder: Path, effort: Effort, row: Row, opened: Callable[[Link], Opened]) -> list[Measured]:
    """One row from rounds of demands and commits in turn."""
    rounds = trio.run(_rounds, folder, effort, opened)
    demands = [p99(samples.demands) for samples in rounds]
    commits = [p99(samples.commits) for samples in rounds]
    n = sum(len(samples.demands) for samples in rounds)
    said = f"p99 {median_text(demands, 'ms')} ÷ {median_text(commits, 'ms')}; half within " + " ÷ ".join(
        median_text([one for samples in rounds for one in part(samples)], "ms") for part in (_demands, _commits)
    )
    return [Measured(row, median_ratio(demands, commits), n, said)]


def _demands(samples: Samples) -> list[float]:
    return samples.demands


def _commits(samples: Samples) -> list[float]:
    return samples.commits


async def _rounds(folder: Path, effort: Effort, opened: Callable[[Link], Opened]) -> list[Samples]:
    link = await open_sqlite(folder / "facts.db", "clu", "bench")
    try:
        async with opened(link) as (engine, far):
            source = Source(engine)
            await source.joins()
            demands = 5 if effort.tiny else DEMANDS
            return [await _round(link, source, far, turn, demands) for turn in range(effort.rounds_or(ROUNDS))]
    finally:
        with trio.CancelScope(shield=True):
            await link.close()


async def _round(link: Link, source: Source, far: FarSide, turn: int, demands: int) -> Samples:
    samples = Samples()
    for n in range(demands):
        name = f"job-{turn}-{n}"
        samples.commits.append(await _commit_ms(link, name))
        pushed_ns = time.monotonic_ns()
        await source.lacks(cores(1, id=name))
        samples.demands.append((await far.framed_ns() - pushed_ns) / 1e6)
        # Withdrawn before the machine is heard of as gone, so that it is not bought again.
        await source.lacks()
        await far.answer()
        await source.repeats()
    return samples


async def _commit_ms(link: Link, name: str) -> float:
    """One small fact made durable: what the engine itself would have to wait for."""
    why = DecisionFact(f"dc-{name}", time.time(), "nothing", f"{SOURCE}/{name}", Reason(Why.NO_OFFER_FITS))
    batch = Batch((Put("decision", why.id, encode_fact(why), 0),))
    began_ns = time.monotonic_ns()
    found = await link.commit(batch)
    took_ns = time.monotonic_ns() - began_ns
    if not isinstance(found, Committed):
        raise RuntimeError(f"a commit of the bench came to {found}")
    return took_ns / 1e6


def _in_process(folder: Path, effort: Effort) -> list[Measured]:
    return measure(folder, effort, IN_PROCESS_ROW, in_process)


def _with_process(folder: Path, effort: Effort) -> list[Measured]:
    return measure(folder, effort, WITH_PROCESS_ROW, partial(with_process, folder=folder))


IN_PROCESS = Bench((IN_PROCESS_ROW,), _in_process)
WITH_PROCESS = Bench((WITH_PROCESS_ROW,), _with_process)
