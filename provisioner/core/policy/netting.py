"""How far each line is answered by what is held and coming: every unit once, nothing evaporates; it must not buy
anything.

First each pool answers the lines it was bought for, by as much as was planned; then, in the order of lines, whatever
else of its source fits into the room it has left.
"""

from collections.abc import Iterable, Iterator, Sequence

from attrs import field, frozen

from provisioner.core.policy.demand import LineKey, Want, may_share
from provisioner.core.policy.pools import Pool
from provisioner.core.policy.rooms import Room, bundles_in, fill, overfull, touched
from provisioner.core.policy.standing import Phase
from provisioner.core.policy.traits import mismatch, takes_whole
from provisioner.core.settings import Settings

COMING = frozenset({Phase.COMING, Phase.ASKED, Phase.PLANNED})


@frozen(eq=False)
class Sheet:
    """The working sheet of one pass, filled in as it goes: per line, what is met, in flight and left of its count.

    `coming` is the part of `in_flight` that has neither joined nor been reopened.
    """

    left: dict[LineKey, int]
    met: dict[LineKey, int] = field(factory=dict)
    in_flight: dict[LineKey, int] = field(factory=dict)
    coming: dict[LineKey, int] = field(factory=dict)
    expected_at: dict[LineKey, float] = field(factory=dict)

    def answer(self, key: LineKey, units: int, phase: Phase, expected_at: float | None) -> None:
        """Book `units` of a line as answered by something this far on its way, expected to serve at a time (epoch)."""
        self.left[key] -= units
        column = self.met if phase is Phase.JOINED else self.in_flight
        column[key] = column.get(key, 0) + units
        if phase in COMING:
            self.coming[key] = self.coming.get(key, 0) + units
        if expected_at is not None:
            self.expected_at[key] = max(expected_at, self.expected_at.get(key, expected_at))


@frozen(eq=False)
class Netted:
    """One pool after netting; `used` of its slots answer a line."""

    pool: Pool
    used: int


def new_sheet(wants: Iterable[Want]) -> Sheet:
    """A sheet on which nothing is answered yet; an expired line asks for nothing."""
    return Sheet({want.key: 0 if want.expired else want.line.count for want in wants})


def net(wants: Sequence[Want], pools: Sequence[Pool], sheet: Sheet, settings: Settings) -> list[Netted]:
    """Let the pools answer the lines, in their order; what each pool was used for comes back."""
    if not pools:
        return []
    by_key = {want.key: want for want in wants}
    rooms = [_own_lines(pool, by_key, sheet, settings) for pool in pools]
    found = _still_open(wants, sheet)
    return [
        Netted(pool, touched(left) + _any_lines(pool, left, by_key, found, sheet, settings))
        for pool, left in zip(pools, rooms, strict=True)
    ]


def serves(pool: Pool, want: Want, settings: Settings) -> bool:
    """Whether the pool's things may serve the line at all; room is another question."""
    return may_share(settings, pool.consumer, want.line.consumer) and mismatch(pool.traits, want.line) is None


def _own_lines(pool: Pool, by_key: dict[LineKey, Want], sheet: Sheet, settings: Settings) -> list[Room]:
    """What was planned is believed where the first fit does not find it: the plan had packed it in another order.

    Never more than empty hosts would hold: the line may have another shape by now.
    """
    rooms = [Room(pool.slots, pool.traits.size)]
    for share in pool.shares:
        want = by_key.get((share.source, share.line))
        amount = 0 if want is None else min(share.units, sheet.left[want.key])
        if want is None or amount <= 0 or not serves(pool, want, settings):
            continue
        amount = min(amount, pool.slots * bundles_in(pool.traits.size, want.line))
        rooms, placed = fill(rooms, want.key, want.line, amount)
        if placed < amount and pool.phase is not Phase.JOINED:
            rooms, placed = overfull(rooms, want.key), amount
        if placed:
            sheet.answer(want.key, placed, pool.phase, pool.expected_at)
    return rooms


@frozen(eq=False)
class Open:
    """The lines of one source that are still open after each pool served its own, and what each of them needs at
    least.

    `least` has the resources that all of them want, with the smallest amount; a used host with less of one is full
    for all.
    """

    lines: list[Want]
    least: dict[str, int]


def _still_open(wants: Sequence[Want], sheet: Sheet) -> dict[str, Open]:
    by_source: dict[str, list[Want]] = {}
    for want in wants:
        if sheet.left[want.key] > 0:
            by_source.setdefault(want.key[0], []).append(want)
    return {source: Open(lines, _least(lines)) for source, lines in by_source.items()}


def _least(lines: Iterable[Want]) -> dict[str, int]:
    """Lines that take a whole host ask for nothing of a used one."""
    bundles = [dict(want.line.each) for want in lines if not takes_whole(want.line)]
    wanted = set(bundles[0]).intersection(*bundles[1:]) if bundles else set()
    return {resource: min(bundle[resource] for bundle in bundles) for resource in sorted(wanted)}


def _any_lines(
    pool: Pool,
    rooms: Sequence[Room],
    by_key: dict[LineKey, Want],
    found: dict[str, Open],
    sheet: Sheet,
    settings: Settings,
) -> int:
    """How many untouched hosts of the pool came into use for whatever is still open."""
    still = found.get(pool.source)
    if still is None:
        return 0
    left = _with_room(rooms, still.least)
    used = 0
    for want in _candidates(pool, by_key, still.lines) if left else ():
        wanted = sheet.left[want.key]
        if wanted <= 0 or not serves(pool, want, settings):
            continue
        after, placed = fill(left, want.key, want.line, wanted)
        if placed:
            sheet.answer(want.key, placed, pool.phase, pool.expected_at)
            used += touched(after) - touched(left)
            left = _with_room(after, still.least)
        if not left:
            break
    return used


def _with_room(rooms: Iterable[Room], least: dict[str, int]) -> list[Room]:
    return [room for room in rooms if room.whole or _has_room(room, least)]


def _has_room(room: Room, least: dict[str, int]) -> bool:
    return bool(room.free) and all(room.free.get(resource, 0) >= amount for resource, amount in least.items())


def _candidates(pool: Pool, by_key: dict[LineKey, Want], lines: Iterable[Want]) -> Iterator[Want]:
    for share in pool.shares:
        want = by_key.get((share.source, share.line))
        if want is not None:
            yield want
    if not pool.own_only:
        yield from lines
