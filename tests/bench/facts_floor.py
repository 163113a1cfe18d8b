"""What the disk and the hand-off to a thread cost without any database: the floors that commits of facts are held to.

Knows appending and syncing. Must not know any link, except as something with a `commit` to be driven.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import outcome
import trio
from attrs import frozen

from provisioner.runtime.links.link import Batch, Committed, Link, Put


@frozen
class Rate:
    """How many commits were durable per second, and how many were measured."""

    per_s: float
    n: int


def raw_floor(folder: Path, *, writers: int = 100, record_bytes: int = 256, seconds: float = 1.0) -> Rate:
    """The disk alone: one thread appends a record for each writer, syncs once, and begins again; no hand-off at all."""
    record = b"x" * record_bytes
    n = 0
    with _Log(folder) as log:
        began = time.perf_counter()
        while (took := time.perf_counter() - began) < seconds:
            log.append_synced([record] * writers)
            n += writers
    return Rate(n / took, n)


def handed_floor(folder: Path, *, writers: int = 100, record_bytes: int = 256, seconds: float = 1.0) -> Rate:
    """The disk under trio: as many tasks hand one record each to a thread, which appends all, syncs once, wakes all."""
    return trio.run(_handed_floor, folder, writers, b"x" * record_bytes, seconds)


async def link_rate(link: Link, *, writers: int = 100, value_bytes: int = 256, seconds: float = 1.0) -> Rate:
    """The same tasks over a link: each puts its own record again and again, guarded by the version it had."""
    value = b"y" * value_bytes
    present = {record.id: record.version for record in (await link.load()).records if record.kind == "bench"}
    versions = [present.get(f"w-{writer:05d}", 0) for writer in range(writers)]

    async def put(writer: int) -> None:
        found = await link.commit(Batch((Put("bench", f"w-{writer:05d}", value, versions[writer]),)))
        if not isinstance(found, Committed):
            raise RuntimeError(f"a commit of the bench came to {found}")
        versions[writer] = found.revision

    return await _drive(put, writers, seconds)


async def _handed_floor(folder: Path, writers: int, record: bytes, seconds: float) -> Rate:
    waiting: queue.SimpleQueue[trio.lowlevel.Task | None] = queue.SimpleQueue()
    token = trio.lowlevel.current_trio_token()

    def append_all() -> None:
        with _Log(folder) as log:
            while group := _all_waiting(waiting):
                log.append_synced([record] * len(group))
                token.run_sync_soon(_wake, group)

    async def append(_writer: int) -> None:
        waiting.put(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)

    thread = threading.Thread(target=append_all, name="floor-writer")
    thread.start()
    try:
        return await _drive(append, writers, seconds)
    finally:
        waiting.put(None)
        thread.join()


async def _drive(commit: Callable[[int], Awaitable[Any]], writers: int, seconds: float) -> Rate:
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

    def append_synced(self, records: list[bytes]) -> None:
        for record in records:
            os.write(self._descriptor, record)
        os.fsync(self._descriptor)
