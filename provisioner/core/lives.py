"""What every life has in common: a table (state × trigger → state) and one step; it knows no particular life."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from attrs import frozen

S = TypeVar("S", bound=StrEnum)
T = TypeVar("T", bound=StrEnum)


@frozen
class Arc(Generic[S]):
    """One line of a table: the next state and, in a word or two, why."""

    next: S
    why: str


@frozen
class Life(Generic[S, T]):
    """A life as data: what is not in the table does not happen."""

    name: str
    table: Mapping[tuple[S, T], Arc[S]]
    final: frozenset[S]

    def step(self, state: S, trigger: T) -> Arc[S] | None:
        """The arc taken from `state` on `trigger`, or None where the table has none: then nothing changes."""
        return self.table.get((state, trigger))

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(state, trigger, next, why) for drawings and for the docs."""
        return [(str(s), str(t), str(arc.next), arc.why) for (s, t), arc in self.table.items()]
