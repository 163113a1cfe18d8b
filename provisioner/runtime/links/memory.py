"""The link that keeps facts in memory only: for simulations and tests in virtual time, where no disk may be waited for.

Knows the contract of a link. Must not be offered to operators: its facts end with the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import trio

from provisioner.runtime.links.errors import FactsUnreachable
from provisioner.runtime.links.fold import Fold, Key, weigh
from provisioner.runtime.links.link import Batch, Change, Lagged, Loaded, Outcome, Record, Refused
from provisioner.runtime.links.recent import Recent, Watch


class MemoryLink:
    """A Link over a dictionary; every commit is a group of its own, and decided within one checkpoint."""

    def __init__(self, cluster: str, lineage: str, records: Iterable[Record] = (), revision: int = 0) -> None:
        self.cluster = cluster
        self.lineage = lineage
        self._records: dict[Key, Record] = {(record.kind, record.id): record for record in records}
        self._versions: dict[Key, int] = {key: record.version for key, record in self._records.items()}
        self._revision = max([revision, *self._versions.values()])
        self._recent = Recent(self._revision)
        self._closed = False

    async def load(self) -> Loaded:
        """Everything, in the order of (kind, id)."""
        await trio.lowlevel.checkpoint()
        if self._closed:
            raise FactsUnreachable("memory", "The facts are closed.", "Start the daemon again.")
        return Loaded([self._records[key] for key in sorted(self._records)], self._revision)

    async def commit(self, batch: Batch) -> Outcome:
        """Commit a batch or refuse it; never unknown."""
        await trio.lowlevel.checkpoint()
        if self._closed:
            return Refused("closed", (), "The facts are closed: the daemon is stopping.")
        size = weigh(batch)
        if isinstance(size, Refused):
            return size
        fold = Fold(self._versions, self._revision)
        outcome = fold.take(batch)
        self._revision = fold.revision
        for key, record in fold.written.items():
            if record is None:
                del self._records[key], self._versions[key]
            else:
                self._records[key] = record
                self._versions[key] = record.version
        self._recent.add(fold.moves, size)
        return outcome

    async def watch(self, after_revision: int) -> AsyncIterator[Change | Lagged]:
        """Every change above `after_revision`."""
        await trio.lowlevel.checkpoint()
        return Watch(self._recent, after_revision)

    async def close(self) -> None:
        """End the watches; the facts stay with whoever has them loaded."""
        await trio.lowlevel.checkpoint()
        self._closed = True
        self._recent.close()
