"""One group of batches judged in order and folded into the least that must be written; pure.

Knows guards and versions. Must not know how anything is stored, nor wait for anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from provisioner.runtime.links.link import (
    MOST_BYTES,
    MOST_OPERATIONS,
    Batch,
    Change,
    Committed,
    Conflict,
    Delete,
    Guard,
    Put,
    Record,
    Refused,
)

Key: TypeAlias = tuple[str, str]


def weigh(batch: Batch) -> int | Refused:
    """What a batch weighs in bytes, or its refusal if no link takes it.

    Raises ValueError if it writes a key twice or has text that can't be encoded: bugs, to be met where they are made.
    """
    operations = batch.operations
    if len(operations) > MOST_OPERATIONS:
        return Refused("too_large", (), f"{len(operations)} operations in one batch; at most {MOST_OPERATIONS}.")
    size = 0
    for operation in operations:
        size += len(operation.kind.encode()) + len(operation.id.encode())
        if isinstance(operation, Put):
            size += len(operation.value)
    if size > MOST_BYTES:
        return Refused("too_large", (), f"{size} bytes in one batch; at most {MOST_BYTES}.")
    if len(operations) > 1:
        _no_second_write(batch)
    return size


def _no_second_write(batch: Batch) -> None:
    written: set[Key] = set()
    for operation in batch.operations:
        if isinstance(operation, Guard):
            continue
        key = (operation.kind, operation.id)
        if key in written:
            raise ValueError(f"a batch writes {operation.kind}/{operation.id} twice")
        written.add(key)


class Fold:
    """What a group of batches will have written, folded per key; `versions` (key → version) is read, not changed."""

    def __init__(self, versions: Mapping[Key, int], revision: int) -> None:
        self._versions = versions
        self.revision = revision
        self.puts: dict[Key, Record] = {}
        self.deletes: set[Key] = set()
        self.changes: list[Change] = []

    def take(self, batch: Batch) -> Committed | Refused:
        """Judge a batch against all taken before it and fold it in, or refuse it and leave the fold as it was."""
        conflicts = self._conflicts(batch)
        if conflicts:
            first = conflicts[0]
            detail = (
                f"{first.kind}/{first.id} is at version {first.found}, not {first.expected}"
                f"{f', and {len(conflicts) - 1} more' if len(conflicts) > 1 else ''}."
            )
            return Refused("conflict", tuple(conflicts), detail)
        self._write(batch)
        return Committed(self.revision)

    def version(self, key: Key) -> int:
        """The version a record will have; 0 = absent."""
        put = self.puts.get(key)
        if put is not None:
            return put.version
        return 0 if key in self.deletes else self._versions.get(key, 0)

    def _conflicts(self, batch: Batch) -> list[Conflict]:
        conflicts = []
        for operation in batch.operations:
            expected = operation.expect
            if expected is None:
                continue
            found = self.version((operation.kind, operation.id))
            if found != expected:
                conflicts.append(Conflict(operation.kind, operation.id, expected, found))
        return conflicts

    def _write(self, batch: Batch) -> None:
        revision = self.revision + 1
        puts: list[Record] = []
        deletes: list[Key] = []
        for operation in batch.operations:
            match operation:
                case Put(kind, id, value):
                    puts.append(Record(kind, id, revision, value))
                case Delete(kind, id):
                    if self.version((kind, id)):
                        deletes.append((kind, id))
                case Guard():
                    pass
        if not puts and not deletes:
            return
        self.revision = revision
        for put in puts:
            key = put[:2]
            self.puts[key] = put
            self.deletes.discard(key)
        for key in deletes:
            self.puts.pop(key, None)
            self.deletes.add(key)
        self.changes.append(Change(revision, tuple(puts), tuple(deletes)))
