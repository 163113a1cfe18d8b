"""The contract of every link to a keeper of facts: its values and its Protocol.

Knows what a commit, a load and a watch promise. Must not know any store, nor what the bytes of a fact mean.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, NamedTuple, Protocol, TypeAlias

from attrs import frozen


@frozen
class Bounds:
    """What one batch may hold at most: operations, and bytes of kinds, ids and values."""

    operations: int
    bytes: int


EMBEDDED = Bounds(operations=200_000, bytes=256 * 1024 * 1024)
"""For facts inside the daemon, where one decision is one transaction however much it changes (a list of all a
provider has, say).

A link over a network takes less and says so itself: etcd 120 operations, since it takes 128 and a link adds its
guards, and 1 MiB.
"""


class Record(NamedTuple):
    """One fact as stored; a tuple, since a load makes a hundred thousand of them."""

    kind: str
    id: str
    version: int
    value: bytes


@frozen
class Put:
    """Write a record; `expect` is the version it must have now, 0 = must be absent, None = unguarded."""

    kind: str
    id: str
    value: bytes
    expect: int | None = None


@frozen
class Delete:
    """Remove a record; `expect` as in Put. Removing what is absent is no fault unless a version is expected."""

    kind: str
    id: str
    expect: int | None = None


@frozen
class Guard:
    """Compare a record's version without writing it; 0 = must be absent."""

    kind: str
    id: str
    expect: int


Operation: TypeAlias = Put | Delete | Guard


@frozen
class Batch:
    """Operations that become true together or not at all; all guards see the state before the batch."""

    operations: tuple[Operation, ...]


class Conflict(NamedTuple):
    """A guard that failed; `found` is the version the record has (0 = absent)."""

    kind: str
    id: str
    expected: int
    found: int


Refusal: TypeAlias = Literal["conflict", "not_owner", "read_only", "disk_full", "locked", "too_large", "closed"]


@frozen
class Committed:
    """Durable; every Put of the batch now has version == revision. A batch of guards alone moves no revision."""

    revision: int


@frozen
class Refused:
    """Nothing of the batch was written or ever will be; `detail` is a sentence for people."""

    reason: Refusal
    conflicts: tuple[Conflict, ...] = ()
    detail: str = ""


@frozen
class Unknown:
    """The batch may or may not have landed, or may land later: the caller reloads before it decides again."""

    detail: str


Outcome: TypeAlias = Committed | Refused | Unknown


@frozen
class Loaded:
    """All facts at one revision, in the order of (kind, id)."""

    records: list[Record]
    revision: int


@frozen
class Change:
    """What one committed batch wrote: the records put, and the (kind, id) it made sure are absent."""

    revision: int
    puts: tuple[Record, ...]
    deletes: tuple[tuple[str, str], ...]


@frozen
class Lagged:
    """The last word of a watch that can't go on without a gap; load again and watch from `Loaded.revision`."""

    after_revision: int


class Link(Protocol):
    """A way to one keeper of facts, used from one trio run.

    `cluster` and `lineage` (name form) belong to the facts. Every method may be cancelled: a cancelled commit may
    land all the same. Faults of a load are raised as FactsError (links/errors.py), those of a commit returned.
    """

    @property
    def cluster(self) -> str: ...

    @property
    def lineage(self) -> str: ...

    async def load(self) -> Loaded:
        """Read everything at one revision, after all commits acknowledged so far."""
        ...

    async def commit(self, batch: Batch) -> Outcome:
        """Make a batch durable or refuse it; a second write to one key in a batch is a bug (ValueError)."""
        ...

    async def watch(self, after_revision: int) -> AsyncIterator[Change | Lagged]:
        """Give every change above `after_revision` once, in order, without gaps; Lagged comes last, if at all."""
        ...

    async def close(self) -> None:
        """Refuse what waits, end the watches and let go of the facts; a second close does nothing."""
        ...
