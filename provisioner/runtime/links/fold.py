"""One group of batches judged in order and folded into the least that must be written; pure.

Knows guards and versions. Must not know how anything is stored, nor wait for anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from provisioner.runtime.links.link import (
    EMBEDDED,
    Batch,
    Bounds,
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


def weigh(batch: Batch, bounds: Bounds = EMBEDDED) -> int | Refused:
    """What a batch weighs in bytes, or its refusal if no link takes it.

    Raises ValueError if it writes a key twice or has text that can't be encoded: bugs, to be met where they are made.
    """
    operations = batch.operations
    if len(operations) > bounds.operations:
        return Refused("too_large", (), f"{len(operations)} operations in one batch; at most {bounds.operations}.")
    size = 0
    for operation in operations:
        name = operation.kind + operation.id
        size += len(name) if name.isascii() else len(name.encode())
        if isinstance(operation, Put):
            size += len(operation.value)
    if size > bounds.bytes:
        return Refused("too_large", (), f"{size} bytes in one batch; at most {bounds.bytes}.")
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
        self.written: dict[Key, Record | None] = {}
        """The last word on each key that was written; None = deleted."""
        self.moves: list[Batch] = []
        """The batches that wrote something; each moved the revision by one."""

    def take(self, batch: Batch) -> Committed | Refused:
        """Judge a batch against all taken before it and fold it in, or refuse it and leave the fold as it was."""
        conflicts = self._conflicts(batch)
        if conflicts:
            return _conflicted(conflicts)
        self._write(batch)
        return Committed(self.revision)

    def _version(self, key: Key) -> int:
        record = self.written.get(key)
        if record is not None:
            return record.version
        return 0 if key in self.written else self._versions.get(key, 0)

    def _conflicts(self, batch: Batch) -> list[Conflict]:
        conflicts = []
        for operation in batch.operations:
            expected = operation.expect
            if expected is not None:
                found = self._version((operation.kind, operation.id))
                if found != expected:
                    conflicts.append(Conflict(operation.kind, operation.id, expected, found))
        return conflicts

    def _write(self, batch: Batch) -> None:
        revision = self.revision + 1
        for operation in batch.operations:
            match operation:
                case Put():
                    kind, id_ = operation.kind, operation.id
                    self.written[kind, id_] = Record(kind, id_, revision, operation.value)
                    self.revision = revision
                case Delete():
                    key = (operation.kind, operation.id)
                    if self._version(key):
                        self.written[key] = None
                        self.revision = revision
                case Guard():
                    pass
        if self.revision == revision:
            self.moves.append(batch)


def as_change(batch: Batch, revision: int) -> Change:
    """What a batch that moved the facts to `revision` wrote; deletes name all it was to remove, present or not."""
    puts = [Record(put.kind, put.id, revision, put.value) for put in batch.operations if isinstance(put, Put)]
    deletes = [(gone.kind, gone.id) for gone in batch.operations if isinstance(gone, Delete)]
    return Change(revision, tuple(puts), tuple(deletes))


def _conflicted(conflicts: list[Conflict]) -> Refused:
    first = conflicts[0]
    more = f", and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    detail = f"{first.kind}/{first.id} is at version {first.found}, not {first.expected}{more}."
    return Refused("conflict", tuple(conflicts), detail)
