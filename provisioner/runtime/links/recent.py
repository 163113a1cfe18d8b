"""The changes of late, kept in memory within bounds, and the watches that read along them.

Knows revisions and waiting watchers. Must not know where changes come from. Used from one trio run.
"""

from __future__ import annotations

from collections import deque

import trio

from provisioner.runtime.links.fold import as_change
from provisioner.runtime.links.link import Batch, Change, Lagged, Put

MOST_CHANGES = 2048
MOST_CHANGE_BYTES = 16 * 1024 * 1024


class Recent:
    """The last changes without a gap; what is older is dropped, and a watch that still needed it has lagged."""

    def __init__(self, revision: int, most: int = MOST_CHANGES, most_bytes: int = MOST_CHANGE_BYTES) -> None:
        self.floor = revision
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        # Batches, not changes: most are never watched, so a change is made when one is read.
        self._moves: deque[Batch] = deque()
        self._closed = False
        self._readers = trio.lowlevel.ParkingLot()

    @property
    def revision(self) -> int:
        """The newest revision known here."""
        return self.floor + len(self._moves)

    def add(self, moves: list[Batch]) -> None:
        """Append committed batches, each of which moved the revision by one, and wake the watches."""
        for batch in moves:
            self._moves.append(batch)
            self._bytes += _weight(batch)
        while len(self._moves) > self._most or self._bytes > self._most_bytes:
            self._bytes -= _weight(self._moves.popleft())
            self.floor += 1
        if self._readers:
            self._readers.unpark_all()

    def restart(self, revision: int) -> None:
        """Forget all: the store was read anew at `revision`, and what happened in between was not seen."""
        self._moves.clear()
        self._bytes = 0
        self.floor = revision
        self._readers.unpark_all()

    def close(self) -> None:
        """End every watch."""
        self._closed = True
        self._readers.unpark_all()

    async def after(self, revision: int) -> Change | Lagged | None:
        """The first change above `revision`, waiting for it; Lagged if it is no longer here; None once closed."""
        while not self._closed:
            if not self.floor <= revision <= self.revision:
                return Lagged(revision)
            if revision < self.revision:
                return as_change(self._moves[revision - self.floor], revision + 1)
            await self._readers.park()
        return None


def _weight(batch: Batch) -> int:
    size = 0
    for operation in batch.operations:
        size += 300  # what the objects themselves take
        if isinstance(operation, Put):
            size += len(operation.value)
    return size


class Watch:
    """One watcher's place among the recent changes; an asynchronous iterator that ends after Lagged or a close."""

    def __init__(self, recent: Recent, after_revision: int) -> None:
        self._recent = recent
        self._at = after_revision
        self._ended = False

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> Change | Lagged:
        await trio.lowlevel.checkpoint()
        found = None if self._ended else await self._recent.after(self._at)
        match found:
            case Change(revision=revision):
                self._at = revision
            case Lagged():
                self._ended = True
            case None:
                raise StopAsyncIteration
        return found
