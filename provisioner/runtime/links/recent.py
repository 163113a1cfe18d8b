"""The changes of late, kept in memory within bounds, and the watches that read along them.

Knows revisions and waiting watchers. Must not know where changes come from. Used from one trio run.
"""

from __future__ import annotations

from collections import deque

import trio
from attrs import frozen

from provisioner.runtime.links.fold import as_change
from provisioner.runtime.links.link import Batch, Change, Lagged

MOST_CHANGES = 2048
MOST_CHANGE_BYTES = 16 * 1024 * 1024


@frozen
class _Group:
    """Batches committed together, each moving the revision by one, the first from `floor`."""

    floor: int
    moves: list[Batch]
    size: int


class Recent:
    """The last changes without a gap; what is older is dropped, and a watch that still needed it has lagged.

    Kept are the newest groups that hold at most MOST_CHANGES changes and MOST_CHANGE_BYTES, and the last in any case.
    """

    def __init__(self, revision: int) -> None:
        self.floor = revision
        self.revision = revision
        """The oldest revision that can be watched from, and the newest known."""
        self._size = 0
        # Batches, not changes: most are never watched, so a change is made when one is read.
        self._groups: deque[_Group] = deque()
        self._closed = False
        self._readers = trio.lowlevel.ParkingLot()

    def add(self, moves: list[Batch], size: int) -> None:
        """Append batches committed together, `size` bytes in all, and wake the watches."""
        if not moves:
            return
        self._groups.append(_Group(self.revision, moves, size))
        self._size += size
        self.revision += len(moves)
        while len(self._groups) > 1 and self._is_too_much():
            gone = self._groups.popleft()
            self._size -= gone.size
            self.floor += len(gone.moves)
        self._readers.unpark_all()

    def _is_too_much(self) -> bool:
        return self.revision - self.floor > MOST_CHANGES or self._size > MOST_CHANGE_BYTES

    def restart(self, revision: int) -> None:
        """Forget all: the store was read anew at `revision`, and what happened in between was not seen."""
        self._groups.clear()
        self._size = 0
        self.floor = self.revision = revision
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
                return self._change_from(revision)
            await self._readers.park()
        return None

    def _change_from(self, revision: int) -> Change:
        # From the newest back, since that is where watches are.
        group = next(group for group in reversed(self._groups) if group.floor <= revision)
        return as_change(group.moves[revision - group.floor], revision + 1)


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
