"""The writer's thread: it takes all commits that wait as one group, and hands each turn's answers back at once.

Knows the queue, the two threads and their times. Must not know tables, nor who waits (a job's `task` is opaque here).
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import outcome
from attrs import define, frozen

from provisioner.runtime.links.link import Batch, Refused
from provisioner.runtime.links.sqlite_store import SqliteStore

MOST_IN_GROUP = 1024
HOLD_SHARE, HOLD_MOST_S = 0.5, 0.005
"""A group is held open for those who were in the last one or already waited when it ended: this share of what the last
one took, since it is less than the sync that it saves. Who commits alone is never held up."""

CLOSED = Refused("closed", (), "The facts are closed: the daemon is stopping.")


@define(eq=False)
class Commit:
    """A batch under way; `task` waits for it, None once nobody does."""

    batch: Batch
    size: int
    task: Any


@define(eq=False)
class Load:
    """A load under way; `task` as in Commit, `size` what it takes of the room for batches."""

    task: Any
    size: int = 0


@frozen
class Close:
    """The last job of a queue."""


Job: TypeAlias = Commit | Load | Close


@frozen
class Turn:
    """What the writer hands back at once: an answer for each job, the batches that moved the revision, the revision."""

    jobs: Sequence[Commit | Load]
    answers: Sequence[outcome.Outcome[Any]]
    moves: list[Batch]
    revision: int


@frozen
class Patience:
    """How long, in seconds, each thing may take before its waiters are told that it does not answer."""

    busy_s: float = 5.0
    commit_s: float = 30.0
    load_s: float = 300.0
    look_every_s: float = 5.0


class Writer:
    """Runs one store in a thread of its own, and watches, in a second one, that the first is not stuck.

    `deliver`, `overdue` and `ended` are called in those threads; `deliver` says whether anybody is left to answer.
    The queue is bounded by those who submit.
    """

    def __init__(
        self,
        store: SqliteStore,
        patience: Patience,
        deliver: Callable[[Turn], bool],
        overdue: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._store = store
        self._patience = patience
        self._deliver = deliver
        self._overdue = overdue
        self._ended = ended
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._held: Job | None = None
        self._expected = 1
        self._hold_s = 0.0
        self._due_at: float | None = None
        self._refusing = False
        self._done = threading.Event()

    def start(self) -> None:
        """Start both threads; daemons, since a disk that never answers must not keep the process from ending."""
        threading.Thread(target=self._write_all, name="facts-writer", daemon=True).start()
        threading.Thread(target=self._look_after, name="facts-watch", daemon=True).start()

    def submit(self, job: Commit | Load) -> None:
        """Queue a job; its answer comes with a Turn."""
        self._jobs.put(job)

    def stop(self) -> None:
        """Have the commits that wait refused and the store closed, after the turn that is running."""
        self._refusing = True
        self._jobs.put(Close())

    def _look_after(self) -> None:
        while not self._done.wait(self._patience.look_every_s):
            due_at = self._due_at
            if due_at is not None and time.monotonic() > due_at:
                self._overdue()

    def _write_all(self) -> None:
        try:
            while self._take_turn():
                self._due_at = None
        finally:
            self._due_at = None
            self._done.set()
            self._store.close()
            self._ended()

    def _take_turn(self) -> bool:
        jobs = self._gather()
        match jobs[0]:
            case Close():
                return False
            case Load() as load:
                self._due_at = time.monotonic() + self._patience.load_s
                return self._hand_over([load], [outcome.capture(self._store.load)], [])
            case Commit():
                self._due_at = time.monotonic() + self._patience.commit_s
                return self._commit([job for job in jobs if isinstance(job, Commit)])

    def _gather(self) -> list[Job]:
        """Wait for work; then take all commits that wait or come in time, or one other job."""
        first = self._held or self._jobs.get()
        self._held = None
        jobs = [first]
        give_up_at = time.monotonic() + self._hold_s
        while isinstance(first, Commit) and len(jobs) < MOST_IN_GROUP:
            job = self._next(give_up_at if len(jobs) < self._expected else None)
            if job is None:
                break
            if not isinstance(job, Commit):
                self._held = job
                break
            jobs.append(job)
        return jobs

    def _next(self, give_up_at: float | None) -> Job | None:
        """The next job that waits; until the given time also one that comes."""
        wait_s = 0.0 if give_up_at is None else give_up_at - time.monotonic()
        try:
            return self._jobs.get(timeout=wait_s) if wait_s > 0 else self._jobs.get_nowait()
        except queue.Empty:
            return None

    def _commit(self, jobs: list[Commit]) -> bool:
        if self._refusing:
            return self._hand_over(jobs, [outcome.Value(CLOSED) for _ in jobs], [])
        # What nobody waits for any more is not begun; to the one who left, its outcome is unknown either way.
        wanted = [job for job in jobs if job.task is not None]
        left = [job for job in jobs if job.task is None] if len(wanted) < len(jobs) else []
        began = time.monotonic()
        try:
            result = self._store.commit([job.batch for job in wanted])
        except Exception as error:  # noqa: BLE001 - a bug reaches those who wait; the thread must outlive it
            return self._hand_over(jobs, [outcome.Error(error) for _ in jobs], [])
        self._hold_s = min((time.monotonic() - began) * HOLD_SHARE, HOLD_MOST_S)
        self._expected = len(wanted) + self._jobs.qsize()
        answers = [outcome.Value(answer) for answer in result.outcomes] + [outcome.Value(CLOSED) for _ in left]
        return self._hand_over(wanted + left, answers, result.moves)

    def _hand_over(
        self, jobs: Sequence[Commit | Load], answers: Sequence[outcome.Outcome[Any]], moves: list[Batch]
    ) -> bool:
        return self._deliver(Turn(jobs, answers, moves, self._store.revision))
