"""The link to facts in SQLite: a writer thread that commits all that waits as one group, and one wake for all of them.

Knows the queue, the thread and the tasks that wait. Must not know tables, or what facts mean.

When 4,096 commits or 64 MiB wait, further commits wait for room, at most ANSWER_WITHIN_S like every commit.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import outcome
import trio
from attrs import define, frozen

from provisioner.runtime.links.errors import FactsSilent, FactsUnreachable
from provisioner.runtime.links.fold import weigh
from provisioner.runtime.links.link import Batch, Change, Lagged, Loaded, Outcome, Refused, Unknown
from provisioner.runtime.links.owner_lock import OwnerLock, take_owner_lock
from provisioner.runtime.links.places import settle_place
from provisioner.runtime.links.recent import Recent, Watch
from provisioner.runtime.links.sqlite_file import Meta, check_integrity, connect, make_if_missing, verify
from provisioner.runtime.links.sqlite_store import SqliteStore

MOST_WAITING = 4096
MOST_WAITING_BYTES = 64 * 1024 * 1024
MOST_IN_GROUP = 1024
ANSWER_WITHIN_S = 30.0
LOAD_WITHIN_S = 300.0
CLOSE_WITHIN_S = 60.0

_CLOSED = Refused("closed", (), "The facts are closed: the daemon is stopping.")


@define(eq=False)
class _Commit:
    """A batch under way; `task` waits for it, or is None once nobody does."""

    batch: Batch
    size: int
    task: trio.lowlevel.Task | None = None


@define(eq=False)
class _Load:
    task: trio.lowlevel.Task | None = None


@define(eq=False)
class _Close:
    task: trio.lowlevel.Task | None = None


_Job: TypeAlias = _Commit | _Load | _Close


@frozen
class _Turn:
    """What the writer hands back at once: an answer for each job, the changes made, and the revision now."""

    jobs: Sequence[_Job]
    answers: Sequence[outcome.Outcome[Any]]
    changes: list[Change]
    revision: int


async def open_sqlite(path: Path, cluster: str, owner: str) -> SqliteLink:
    """Open the facts of `cluster`, making them if there are none, as their only owner; `owner` names us to others.

    Raises FactsInUse, FactsOfOtherCluster, FactsNewer, FactsCorrupt, FactsUnreachable.
    """
    store, lock, meta = await trio.to_thread.run_sync(_open, path, cluster, owner)
    link = SqliteLink(store, lock, meta, trio.lowlevel.current_trio_token())
    link.start()
    return link


def _open(path: Path, cluster: str, owner: str) -> tuple[SqliteStore, OwnerLock, Meta]:
    place = settle_place(path)
    lock = take_owner_lock(place, cluster, owner)
    try:
        make_if_missing(place, cluster)
        meta = verify(place, cluster)
        connection = connect(place)
        try:
            check_integrity(connection, place)
        except BaseException:
            connection.close()
            raise
    except BaseException:
        lock.release()
        raise
    return SqliteStore(place, connection, meta.revision), lock, meta


class SqliteLink:
    """A Link to one open file of facts; made by open_sqlite, used from the trio run that made it."""

    def __init__(self, store: SqliteStore, lock: OwnerLock, meta: Meta, token: trio.lowlevel.TrioToken) -> None:
        self.cluster = meta.cluster
        self.lineage = meta.lineage
        self._store = store
        self._lock = lock
        self._token = token
        self._recent = Recent(meta.revision)
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._next: _Job | None = None
        self._waiting = 0
        self._waiting_bytes = 0
        self._room = trio.lowlevel.ParkingLot()
        self._closing = False
        self._ended = trio.Event()
        # A daemon thread: a disk that never answers must not keep the process from ending.
        self._thread = threading.Thread(target=self._write_all, name="facts-writer", daemon=True)

    def start(self) -> None:
        """Start the writer; once."""
        self._thread.start()

    # ------------------------------------------------------------------------------------------- in the trio run

    async def load(self) -> Loaded:
        """Read everything after all commits given so far; raises FactsError."""
        if not self._closing:
            with trio.move_on_after(LOAD_WITHIN_S):
                loaded: Loaded = await self._answer(_Load())
                return loaded
            raise FactsSilent(str(self._store.place), "The disk does not answer.", "Check the disk.")
        await trio.lowlevel.checkpoint()
        raise FactsUnreachable(str(self._store.place), "The facts are closed.", "Start the daemon again.")

    async def commit(self, batch: Batch) -> Outcome:
        """Commit a batch with all that waits; Unknown if the disk has not answered within ANSWER_WITHIN_S."""
        size = _CLOSED if self._closing else weigh(batch)
        if isinstance(size, Refused):
            await trio.lowlevel.checkpoint()
            return size
        given = False
        with trio.move_on_after(ANSWER_WITHIN_S):
            while self._is_full(size):
                await self._room.park()
            if self._closing:
                return _CLOSED
            given = True
            self._waiting += 1
            self._waiting_bytes += size
            answer: Outcome = await self._answer(_Commit(batch, size))
            return answer
        if given:
            return Unknown(f"The disk has not answered within {ANSWER_WITHIN_S:g} s.")
        return Refused("locked", (), f"Too many commits wait, and the disk took none within {ANSWER_WITHIN_S:g} s.")

    async def watch(self, after_revision: int) -> AsyncIterator[Change | Lagged]:
        """Every change above `after_revision`, normally that of a load."""
        await trio.lowlevel.checkpoint()
        return Watch(self._recent, after_revision)

    async def close(self) -> None:
        """Finish the group that is being written, refuse what waits, let go of file and lock."""
        if not self._closing:
            self._closing = True
            self._recent.close()
            self._room.unpark_all()
            self._jobs.put(_Close())
        with trio.move_on_after(CLOSE_WITHIN_S):
            await self._ended.wait()

    def _is_full(self, size: int) -> bool:
        if self._closing or not self._waiting:
            return False
        return self._waiting >= MOST_WAITING or self._waiting_bytes + size > MOST_WAITING_BYTES

    async def _answer(self, job: _Commit | _Load) -> Any:
        job.task = trio.lowlevel.current_task()
        self._jobs.put(job)

        def leave(_: object) -> trio.lowlevel.Abort:
            job.task = None
            return trio.lowlevel.Abort.SUCCEEDED

        return await trio.lowlevel.wait_task_rescheduled(leave)

    def _settle(self, turn: _Turn) -> None:
        """Take a turn of the writer: publish its changes, wake its waiters."""
        if turn.revision != self._recent.revision + len(turn.changes):
            self._recent.restart(turn.revision)
        else:
            self._recent.add(turn.changes)
        for job, answer in zip(turn.jobs, turn.answers, strict=True):
            if isinstance(job, _Commit):
                self._waiting -= 1
                self._waiting_bytes -= job.size
            if job.task is not None:
                trio.lowlevel.reschedule(job.task, answer)
                job.task = None
        if self._room:
            self._room.unpark_all()

    # --------------------------------------------------------------------------------------- in the writer's thread

    def _write_all(self) -> None:
        try:
            while self._take_turn():
                pass
        except trio.RunFinishedError:
            pass  # nobody is left to answer
        finally:
            self._store.close()
            self._lock.release()
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._ended.set)

    def _take_turn(self) -> bool:
        jobs = self._gather()
        match jobs[0]:
            case _Close():
                return False
            case _Load():
                self._hand_over(jobs, [outcome.capture(self._store.load)], [])
            case _Commit():
                self._commit([job for job in jobs if isinstance(job, _Commit)])
        return True

    def _gather(self) -> list[_Job]:
        """Wait for work; then all commits that wait, or one other job."""
        first = self._next or self._jobs.get()
        self._next = None
        jobs = [first]
        while isinstance(first, _Commit) and len(jobs) < MOST_IN_GROUP:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if not isinstance(job, _Commit):
                self._next = job
                break
            jobs.append(job)
        return jobs

    def _commit(self, jobs: list[_Commit]) -> None:
        if self._closing:
            self._hand_over(jobs, [outcome.Value(_CLOSED) for _ in jobs], [])
            return
        # What nobody waits for any more is not begun; its outcome is unknown to the caller either way.
        left = [job for job in jobs if job.task is None]
        if left:
            self._hand_over(left, [outcome.Value(None) for _ in left], [])
            jobs = [job for job in jobs if job not in left]
        try:
            result = self._store.commit([job.batch for job in jobs])
        except Exception as error:  # noqa: BLE001 - a bug reaches those who wait; the thread must outlive it
            self._hand_over(jobs, [outcome.Error(error) for _ in jobs], [])
        else:
            self._hand_over(jobs, [outcome.Value(verdict) for verdict in result.outcomes], result.changes)

    def _hand_over(self, jobs: Sequence[_Job], answers: Sequence[outcome.Outcome[Any]], changes: list[Change]) -> None:
        self._token.run_sync_soon(self._settle, _Turn(jobs, answers, changes, self._store.revision))
