"""Room for bundles in many equal hosts, run-length: how lines are packed into it; it must not know where the hosts come from.

Units of a grant are packed as if each were a host of its own.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from provisioner.core.model import Amounts, Line
from provisioner.core.policy.traits import takes_whole


@frozen(eq=False)
class Room:
    """`hosts` equal hosts with `free` thousandths of each resource; `whole` while nothing was packed into them."""

    hosts: int
    free: Mapping[str, int]
    whole: bool = True


FULL: Mapping[str, int] = {}


def bundles_in(free: Mapping[str, int], line: Line) -> int:
    """How many of the line fit into one untouched host with this much free."""
    if takes_whole(line):
        return int(all(free.get(resource, 0) >= amount for resource, amount in line.each))
    return min((free.get(resource, 0) // amount for resource, amount in line.each if amount > 0), default=1)


def fill(rooms: Sequence[Room], line: Line, wanted: int) -> tuple[list[Room], int]:
    """Pack up to `wanted` of the line, first fit; the rooms afterwards, used ones before untouched ones, and how many found room."""
    after: list[Room] = []
    placed = 0
    for room in rooms:
        fit = _fit(room, line) if placed < wanted else 0
        if fit == 0:
            after.append(room)
            continue
        parts, took = _fill_one(room, line, fit, wanted - placed)
        after += parts
        placed += took
    return after, placed


def touched(rooms: Sequence[Room]) -> int:
    """How many of the hosts hold anything."""
    return sum(room.hosts for room in rooms if not room.whole)


def all_full(rooms: Sequence[Room]) -> list[Room]:
    """The same hosts with nothing free."""
    return [Room(sum(room.hosts for room in rooms), FULL, whole=False)]


def _fit(room: Room, line: Line) -> int:
    if takes_whole(line) and not room.whole:
        return 0
    return bundles_in(room.free, line)


def _fill_one(room: Room, line: Line, fit: int, wanted: int) -> tuple[list[Room], int]:
    full = min(room.hosts, wanted // fit)
    rest = wanted - full * fit if full < room.hosts else 0
    parts = [Room(full, _less(room.free, line, fit), whole=False)] if full else []
    if rest:
        parts.append(Room(1, _less(room.free, line, rest), whole=False))
    untouched = room.hosts - full - (1 if rest else 0)
    if untouched:
        parts.append(Room(untouched, room.free, room.whole))
    return parts, full * fit + rest


def _less(free: Mapping[str, int], line: Line, bundles: int) -> Mapping[str, int]:
    if takes_whole(line):
        return FULL
    return _minus(free, line.each, bundles)


def _minus(free: Mapping[str, int], each: Amounts, times: int) -> dict[str, int]:
    left = dict(free)
    for resource, amount in each:
        left[resource] = left.get(resource, 0) - amount * times
    return left
