"""Who may run now: slots, and the order among calls that touch one token or one instance (clauses CC-2, CC-3). Pure.

Knows ids and keys; must not know methods, threads, time or the wire.
"""

from collections.abc import Iterable

from attrs import frozen

WAITING = 1_024
"""Calls that may wait for a slot; the daemon never sends that many, one more is refused as `throttled`."""


_NONE = frozenset[str]()


@frozen
class Ticket:
    """A call that wants to run; `keys` are what it must have for itself, none for a read."""

    id: int
    keys: frozenset[str]


class Admission:
    """Which calls run and which wait.

    First come, first served, except that a call whose keys are taken lets others pass; two calls with a common key
    never run at once and never overtake each other.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._running: dict[int, Ticket] = {}
        self._waiting: dict[int, Ticket] = {}

    def resize(self, slots: int) -> None:
        """Take the promised number of slots."""
        self._slots = slots

    @property
    def running(self) -> int:
        """How many run."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def is_waiting(self, id: int) -> bool:
        """Whether this call waits."""
        return id in self._waiting

    def has_room(self) -> bool:
        """Whether one more call may come."""
        return len(self._waiting) < WAITING

    def enter(self, ticket: Ticket) -> bool:
        """Whether the call runs at once; else it waits until `leave` or `withdraw` names it."""
        if len(self._running) < self._slots and not self._is_blocked(ticket, self._waiting.values()):
            self._running[ticket.id] = ticket
            return True
        self._waiting[ticket.id] = ticket
        return False

    def leave(self, id: int) -> list[int]:
        """The call has ended; answers the ids that run from now on."""
        del self._running[id]
        return self._advance()

    def withdraw(self, id: int) -> list[int]:
        """A waiting call is given up; answers the ids that run from now on."""
        del self._waiting[id]
        return self._advance()

    def drop_waiting(self) -> list[int]:
        """Give up all that wait; answers their ids in order."""
        dropped = list(self._waiting)
        self._waiting.clear()
        return dropped

    def held(self) -> frozenset[str]:
        """The keys of all that run or wait."""
        held = [ticket.keys for ticket in self._running.values() if ticket.keys]
        held += [ticket.keys for ticket in self._waiting.values() if ticket.keys]
        return frozenset[str]().union(*held) if held else _NONE

    def _advance(self) -> list[int]:
        started: list[int] = []
        passed: list[Ticket] = []
        for ticket in list(self._waiting.values()):
            if len(self._running) >= self._slots:
                break
            if self._is_blocked(ticket, passed):
                passed.append(ticket)
                continue
            del self._waiting[ticket.id]
            self._running[ticket.id] = ticket
            started.append(ticket.id)
        return started

    def _is_blocked(self, ticket: Ticket, before: Iterable[Ticket]) -> bool:
        if not ticket.keys:
            return False
        return any(ticket.keys & other.keys for other in (*self._running.values(), *before))
