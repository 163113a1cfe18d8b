"""One whole play: a daemon of its own, a cluster against it, then the daemon's records against the clouds' own books.

It alone knows the order of these steps and what counts as a failure; it must not know how anything is shown.
"""

import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import trio
from attrs import define, evolve, field, frozen

from provisioner.runtime.spawn import SpawnRefused
from provisioner.sim.child import Daemon, ToolFailed, leftover_children, run_module, running_daemon
from provisioner.sim.cluster import Cluster
from provisioner.sim.door import Door, Unanswered
from provisioner.sim.player import Pace, Player, Progress, Spoiled
from provisioner.sim.reckoning import Account, reckon
from provisioner.sim.wire import Json
from provisioner.sim.workload import Workload

__all__ = ["Outcome", "Plan", "perform"]

READY_WITHIN_S: Final = 30.0
SETTLED_WITHIN_S: Final = 25.0
"""Longer than the example's pause between two lists."""
_ASK_EVERY_S: Final = 0.1
_ASKED_TO_STOP: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@frozen
class Plan:
    """What is played on what: a configuration, its socket, each provider's books, the jobs and the pace."""

    config: Path
    socket: str
    books: Mapping[str, Path]
    workload: Workload
    pace: Pace
    join_delay_s: float = 30.0


@frozen
class Outcome:
    """What a play came to; times of jobs are seconds of the log."""

    jobs: int
    done: int
    dropped: int
    mean_wait_s: float
    longest_wait_s: float
    peak_hosts: int
    refused_drains: int
    taken: int
    outages: int
    real_s: float
    interrupted: bool
    account: Account
    wrong: tuple[str, ...]
    log_tail: str

    @property
    def went_well(self) -> bool:
        """Whether everything was done or dropped on demand, given back, and agreed upon."""
        return not (self.wrong or self.account.left_over or self.account.findings)


@define(eq=False)
class _Stage:
    """What is gathered while a play runs."""

    player: Player
    interrupted: bool = False
    wrong: list[str] = field(factory=list)
    instances: Sequence[Json] = ()
    costs: Json | None = None
    log_tail: str = ""


async def perform(plan: Plan, show: Callable[[Progress], None]) -> Outcome:
    """Play to the end and settle accounts; raises nothing that belongs to a play that fails: `wrong` says it.

    The first SIGINT, SIGTERM or SIGHUP ends all work and gives everything back, the second ends the play at once.
    """
    began_s = trio.current_time()
    cluster = Cluster(plan.workload.jobs, plan.join_delay_s)
    door = Door(plan.socket)
    stage = _Stage(Player(cluster, len(plan.workload.jobs), door.call, plan.pace, time.time))
    try:
        async with running_daemon(plan.config) as daemon:
            await _play(stage, daemon, plan.books, show)
        if daemon.status is None or daemon.status.code != 0:
            stage.wrong.append(f"the daemon did not end in order: {daemon.status}")
    except* (Spoiled, Unanswered, SpawnRefused, ToolFailed) as failures:
        stage.wrong += _sentences(failures)
    door.close()
    books: Mapping[str, Sequence[Json]] = {}
    try:
        books = await _read_books(plan.books)
    except ToolFailed as failure:
        stage.wrong.append(f"a cloud's books can't be read: {failure}")
    left = await leftover_children()
    if left:
        stage.wrong.append(f"processes were left and had to be killed: {', '.join(map(str, left))}")
    return _outcome(stage, cluster, books, trio.current_time() - began_s)


async def _play(stage: _Stage, daemon: Daemon, books: Mapping[str, Path], show: Callable[[Progress], None]) -> None:
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_spoil_when_ended, daemon)
            await nursery.start(_heed_signals, stage)
            await _wait_ready(stage.player)
            await stage.player.run(show)
            await _settle_accounts(stage, books)
            nursery.cancel_scope.cancel()
    finally:
        stage.log_tail = daemon.last_words


async def _spoil_when_ended(daemon: Daemon) -> None:
    await daemon.ended.wait()
    raise Spoiled(f"the daemon ended too early ({daemon.status})")


async def _heed_signals(stage: _Stage, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    with trio.open_signal_receiver(*_ASKED_TO_STOP) as signals:
        task_status.started()
        async for _ in signals:
            if stage.interrupted:
                raise Spoiled("it was told to stop twice, and stopped before everything was given back")
            stage.interrupted = True
            stage.player.stop()


async def _wait_ready(player: Player) -> None:
    """Until the daemon and its providers can be used."""
    health: Any = None
    with trio.move_on_after(READY_WITHIN_S):
        while True:
            try:
                health = await player.get("/v1/health")
            except Unanswered:
                health = None
            if health is not None and health["status"] == "ok":
                return
            await trio.sleep(_ASK_EVERY_S)
    raise Spoiled(f"the daemon was not ready after {READY_WITHIN_S:.0f} s: {json.dumps(health)}")


async def _settle_accounts(stage: _Stage, folders: Mapping[str, Path]) -> None:
    """Read our records until they agree with the clouds' books: a final sum may reach us only with the next list."""
    with trio.move_on_after(SETTLED_WITHIN_S):
        while True:
            stage.instances = await stage.player.every("/v1/instances", "instances")
            stage.costs = await stage.player.get("/v1/costs")
            if not reckon(stage.instances, stage.costs, await _read_books(folders)).findings:
                return
            await trio.sleep(1.0)


async def _read_books(folders: Mapping[str, Path]) -> dict[str, list[Any]]:
    """Every instance each cloud ever made, by its own word; a cloud never opened has made none. Raises ToolFailed."""
    books: dict[str, list[Any]] = {}
    for provider, folder in folders.items():
        if folder.exists():
            books[provider] = json.loads(await run_module("providers.simulated", "books", str(folder)))
    return books


def _outcome(stage: _Stage, cluster: Cluster, books: Mapping[str, Sequence[Json]], real_s: float) -> Outcome:
    waits_s = cluster.waits_s
    undone = stage.player.jobs - cluster.done - cluster.dropped
    wrong = [*stage.wrong]
    if undone:
        wrong.append(f"{undone} jobs were not done")
    wrong += [f"{name} disappeared while jobs ran on it" for name in cluster.broken]
    return Outcome(
        jobs=stage.player.jobs,
        done=cluster.done,
        dropped=cluster.dropped,
        mean_wait_s=sum(waits_s) / len(waits_s) if waits_s else 0.0,
        longest_wait_s=max(waits_s, default=0.0),
        peak_hosts=cluster.peak_hosts,
        refused_drains=cluster.refused_drains,
        taken=len(cluster.taken),
        outages=stage.player.outages,
        real_s=real_s,
        interrupted=stage.interrupted,
        account=_account(stage, books),
        wrong=tuple(wrong),
        log_tail=stage.log_tail,
    )


def _account(stage: _Stage, books: Mapping[str, Sequence[Json]]) -> Account:
    if stage.costs is not None:
        return reckon(stage.instances, stage.costs, books)
    # Our own records were never read whole: what the clouds still hold is all that can be said.
    account = reckon((), {"total": "0", "currency": "USD"}, books)
    return evolve(account, findings=())


def _sentences(failures: BaseExceptionGroup[Any]) -> list[str]:
    found: list[str] = []
    for failure in failures.exceptions:
        found += _sentences(failure) if isinstance(failure, BaseExceptionGroup) else [str(failure)]
    return found
