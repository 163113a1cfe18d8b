"""The link to facts in SQLite as one trio run sees it: who waits, who watches, and how it is opened and closed.

Knows tasks and bounds. Must not know tables, threads, or what facts mean.

When MOST_WAITING commits or MOST_WAITING_BYTES wait, further ones wait for room; a disk that does not answer ends that.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import outcome
import trio

from provisioner.runtime.links.errors import FactsSilent, FactsUnreachable
from provisioner.runtime.links.fold import weigh
from provisioner.runtime.links.link import Batch, Change, Lagged, Loaded, Outcome, Refused, Unknown
from provisioner.runtime.links.owner_lock import OwnerLock, take_owner_lock
from provisioner.runtime.links.places import settle_place
from provisioner.runtime.links.recent import Recent, Watch
from provisioner.runtime.links.sqlite_file import Meta, connect_sound, make_if_missing, verify
from provisioner.runtime.links.sqlite_store import SqliteStore
from provisioner.runtime.links.sqlite_writer import CLOSED, Commit, Load, Patience, Turn, Writer

MOST_WAITING = 4096
MOST_WAITING_BYTES = 64 * 1024 * 1024
CLOSE_WITHIN_S = 60.0

_UNANSWERED = "The disk that holds the facts does not answer."


async def open_sqlite(path: Path, cluster: str, owner: str, patience: Patience | None = None) -> SqliteLink:
    """Open the facts of `cluster`, making them if there are none, as their only owner; `owner` names us to others.

    Raises FactsInUse, FactsOfOtherCluster, FactsNewer, FactsCorrupt, FactsUnreachable.
    """
    patience = patience or Patience()
    store, lock, meta = await trio.to_thread.run_sync(_open, path, cluster, owner, patience)
    link = SqliteLink(store, lock, meta, patience)
    link.start()
    return link


def _open(path: Path, cluster: str, owner: str, patience: Patience) -> tuple[SqliteStore, OwnerLock, Meta]:
    place = settle_place(path)
    with contextlib.ExitStack() as undo:
        lock = take_owner_lock(place, cluster, owner)
        undo.callback(lock.release)
        make_if_missing(place, cluster)
        meta = verify(place, cluster)
        store = SqliteStore(place, connect_sound(place, patience.busy_s), meta.revision, patience.busy_s)
        undo.pop_all()
    return store, lock, meta


class SqliteLink:
    """A Link to one open file of facts; made by open_sqlite, used from the trio run that made it."""

    def __init__(self, store: SqliteStore, lock: OwnerLock, meta: Meta, patience: Patience) -> None:
        self.cluster = meta.cluster
        self.lineage = meta.lineage
        self._place = str(store.place)
        self._lock = lock
        self._token = trio.lowlevel.current_trio_token()
        self._recent = Recent(meta.revision)
        self._writer = Writer(store, patience, self._deliver, self._tell_overdue, self._let_go)
        self._open_jobs: set[Commit | Load] = set()
        self._open_bytes = 0
        self._room = trio.lowlevel.ParkingLot()
        self._stalls = 0
        self._closing = False
        self._ended = trio.Event()

    def start(self) -> None:
        """Start the writer; once."""
        self._writer.start()

    async def load(self) -> Loaded:
        """Read everything after all commits given so far; raises FactsError."""
        if self._closing:
            await trio.lowlevel.checkpoint()
            raise FactsUnreachable(self._place, "The facts are closed.", "Start the daemon again.")
        job = Load(trio.lowlevel.current_task())
        loaded: Loaded = await trio.lowlevel.wait_task_rescheduled(self._submit(job))
        return loaded

    async def commit(self, batch: Batch) -> Outcome:
        """Commit a batch with all that waits; Unknown if the disk does not answer in time."""
        size = CLOSED if self._closing else weigh(batch)
        if not isinstance(size, int):
            await trio.lowlevel.checkpoint()
            return size
        while self._is_full(size):
            stalls = self._stalls
            await self._room.park()
            if stalls != self._stalls:
                return Refused("locked", (), f"{_UNANSWERED} Too many commits wait.")
        if self._closing:
            return CLOSED
        job = Commit(batch, size, trio.lowlevel.current_task())
        answer: Outcome = await trio.lowlevel.wait_task_rescheduled(self._submit(job))
        return answer

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
            self._writer.stop()
        with trio.move_on_after(CLOSE_WITHIN_S):
            await self._ended.wait()

    def _is_full(self, size: int) -> bool:
        if self._closing or not self._open_jobs:
            return False
        return len(self._open_jobs) >= MOST_WAITING or self._open_bytes + size > MOST_WAITING_BYTES

    def _submit(self, job: Commit | Load) -> Callable[[object], trio.lowlevel.Abort]:
        """Give a job to the writer; what is returned takes its task's hands off it when that is cancelled."""
        # No deadline here: a cancel scope costs as much as the rest of a commit. The writer's watch ends the wait.
        self._open_jobs.add(job)
        self._open_bytes += job.size
        self._writer.submit(job)

        def leave(_: object) -> trio.lowlevel.Abort:
            job.task = None
            return trio.lowlevel.Abort.SUCCEEDED

        return leave

    def _settle(self, turn: Turn) -> None:
        """Take a turn of the writer: publish what it changed, wake all who wait for it."""
        size = 0
        for job, answer in zip(turn.jobs, turn.answers, strict=True):
            self._open_jobs.remove(job)
            size += job.size
            if job.task is not None:
                trio.lowlevel.reschedule(job.task, answer)
                job.task = None
        self._open_bytes -= size
        # Whoever was woken runs only after this.
        if turn.revision == self._recent.revision + len(turn.moves):
            self._recent.add(turn.moves, size)
        else:
            self._recent.restart(turn.revision)
        if self._room:
            self._room.unpark_all()

    def _give_up(self, detail: str) -> None:
        """Tell all who wait that no answer comes; their jobs stay open until the writer hands them back."""
        self._stalls += 1
        self._room.unpark_all()
        for job in self._open_jobs:
            if job.task is not None:
                silent = FactsSilent(self._place, detail, "Check the disk.")
                answer = outcome.Value(Unknown(detail)) if isinstance(job, Commit) else outcome.Error(silent)
                trio.lowlevel.reschedule(job.task, answer)
                job.task = None

    def _end(self) -> None:
        self._closing = True
        self._recent.close()
        self._give_up("The facts were closed before an answer came.")
        self._ended.set()

    # The rest runs in the writer's threads.

    def _deliver(self, turn: Turn) -> bool:
        try:
            self._token.run_sync_soon(self._settle, turn)
        except trio.RunFinishedError:
            return False
        return True

    def _tell_overdue(self) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._give_up, _UNANSWERED)

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):  # its words stay, but the lock is gone, and that is what counts
            self._lock.release()
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._end)
