"""Room for bundles in many equal hosts, run-length: how lines are packed into it; it must not know where the hosts
come from.

Units of a grant are packed as if each were a host of its own.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from provisioner.core.model import Amounts, Line
from provisioner.core.policy.demand import LineKey
from provisioner.core.policy.traits import takes_whole


@frozen(eq=False)
class Room:
    """`hosts` equal hosts with `free` thousandths of each resource; each holds so many of each line, by key."""

    hosts: int
    free: Mapping[str, int]
    holds: tuple[tuple[LineKey, int], ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing was packed into them."""
        return not self.holds


NOTHING_FREE: Mapping[str, int] = {}


def bundles_in(free: Mapping[str, int], line: Line) -> int:
    """How many of the line fit into one untouched host with this much free."""
    if takes_whole(line):
        return int(all(free.get(resource, 0) >= amount for resource, amount in line.each))
    return min((free.get(resource, 0) // amount for resource, amount in line.each if amount > 0), default=1)


def fill(rooms: Sequence[Room], key: LineKey, line: Line, wanted: int) -> tuple[list[Room], int]:
    """Pack up to `wanted` of the line, first fit: the rooms afterwards, used before untouched, and how many found
    room.
    """
    after: list[Room] = []
    placed = 0
    for room in rooms:
        fit = _fit(room, line) if placed < wanted else 0
        if fit == 0:
            after.append(room)
            continue
        parts, took = _fill_one(room, key, line, fit, wanted - placed)
        after += parts
        placed += took
    return after, placed


def touched(rooms: Sequence[Room]) -> int:
    """How many of the hosts hold anything."""
    return sum(room.hosts for room in rooms if not room.whole)


def overfull(rooms: Sequence[Room], key: LineKey) -> list[Room]:
    """The same hosts with nothing free, for what was planned into them in another order."""
    return [Room(sum(room.hosts for room in rooms), NOTHING_FREE, ((key, 1),))]


def _fit(room: Room, line: Line) -> int:
    if takes_whole(line) and not room.whole:
        return 0
    return bundles_in(room.free, line)


def _fill_one(room: Room, key: LineKey, line: Line, fit: int, wanted: int) -> tuple[list[Room], int]:
    full = min(room.hosts, wanted // fit)
    rest = wanted - full * fit if full < room.hosts else 0
    parts = [_with(room, full, key, line, fit)] if full else []
    if rest:
        parts.append(_with(room, 1, key, line, rest))
    untouched = room.hosts - full - (1 if rest else 0)
    if untouched:
        parts.append(Room(untouched, room.free, room.holds))
    return parts, full * fit + rest


def _with(room: Room, hosts: int, key: LineKey, line: Line, bundles: int) -> Room:
    free = NOTHING_FREE if takes_whole(line) else _minus(room.free, line.each, bundles)
    return Room(hosts, free, (*room.holds, (key, bundles)))


def _minus(free: Mapping[str, int], each: Amounts, times: int) -> dict[str, int]:
    left = dict(free)
    for resource, amount in each:
        left[resource] = left.get(resource, 0) - amount * times
    return left
