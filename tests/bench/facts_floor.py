"""What the disk and the hand-off to a thread cost without any database: the floors that commits of facts are held to.

Knows appending and syncing. Must not know any link.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import outcome
import trio
from attrs import frozen

RECORD_BYTES = 250
WRITERS = 100


@frozen
class Rate:
    """How many commits were durable per second, and how many were measured."""

    per_s: float
    n: int


def raw_floor(folder: Path, seconds: float, *, writers: int = WRITERS, record_bytes: int = RECORD_BYTES) -> Rate:
    """The disk alone: one thread appends a record for each writer, syncs once, and begins again; no hand-off at all."""
    group = b"x" * record_bytes * writers
    n = 0
    with _Log(folder) as log:
        began = time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            log.append_synced(group)
            n += writers
    return Rate(n / took, n)


async def handed_floor(
    folder: Path, seconds: float, *, writers: int = WRITERS, record_bytes: int = RECORD_BYTES
) -> Rate:
    """The disk under trio: as many tasks hand one record each to a thread, which appends all, syncs once, wakes all."""
    waiting: queue.SimpleQueue[trio.lowlevel.Task | None] = queue.SimpleQueue()
    token = trio.lowlevel.current_trio_token()
    record = b"x" * record_bytes

    def append_all() -> None:
        with _Log(folder) as log:
            while group := _all_waiting(waiting):
                log.append_synced(record * len(group))
                token.run_sync_soon(_wake, group)

    async def append(_writer: int) -> None:
        waiting.put(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)

    thread = threading.Thread(target=append_all, name="floor-writer")
    thread.start()
    try:
        return await drive(append, seconds, writers=writers)
    finally:
        waiting.put(None)
        thread.join()


async def drive(commit: Callable[[int], Awaitable[None]], seconds: float, *, writers: int = WRITERS) -> Rate:
    """As many tasks that commit, each again and again, until the time is over and the last commit is answered."""
    counts = [0] * writers
    began = time.perf_counter()

    async def write(writer: int) -> None:
        while time.perf_counter() - began < seconds:
            await commit(writer)
            counts[writer] += 1

    async with trio.open_nursery() as nursery:
        for writer in range(writers):
            nursery.start_soon(write, writer)
    return Rate(sum(counts) / (time.perf_counter() - began), sum(counts))


def _all_waiting(waiting: queue.SimpleQueue[trio.lowlevel.Task | None]) -> list[trio.lowlevel.Task]:
    """All tasks that wait, at least one; none once the end was put."""
    group = [waiting.get()]
    while not waiting.empty():
        group.append(waiting.get())
    return [] if None in group else [task for task in group if task is not None]


def _wake(group: list[trio.lowlevel.Task]) -> None:
    for task in group:
        trio.lowlevel.reschedule(task, outcome.Value(None))


class _Log:
    """A file in a folder that records are appended to, removed in the end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "floor.log"

    def __enter__(self) -> _Log:
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        self._path.unlink()

    def append_synced(self, data: bytes) -> None:
        # fdatasync is also what SQLite calls; where a file grows it keeps the new length all the same.
        if os.write(self._descriptor, data) != len(data):
            raise OSError("the disk took only part of a group; make room")
        os.fdatasync(self._descriptor)
