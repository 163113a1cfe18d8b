"""How far the wall clock can be believed: a jump of it is seen by the boot clock, and ages that prove something are
counted by both.

It must not know what is proven. A jump while no daemon ran leaves no trace: an age counts from this start at the
earliest.
"""

from attrs import evolve

from provisioner.core.events import Moment
from provisioner.core.evolve import Draft
from provisioner.core.world import World

JUMP_S = 2.0
"""The wall clock has jumped if it moved against the boot clock by more than this since it was last looked at anew."""


def with_steadiness(draft: Draft, now: Moment) -> Draft:
    """The draft in which a jump of the wall clock since the last event is known, and whose ages it has falsified."""
    seen = draft.world.seen
    offset_s = now.at - now.boot_s
    if seen.wall_offset_s is not None and abs(offset_s - seen.wall_offset_s) <= JUMP_S:
        return draft
    if seen.wall_offset_s is None:
        return draft.see(evolve(seen, wall_offset_s=offset_s, steady_since_boot_s=now.boot_s))
    undated = seen.undated | frozenset(draft.world.open_requests)
    return draft.see(evolve(seen, wall_offset_s=offset_s, steady_since_boot_s=now.boot_s, undated=undated))


def proven_age_s(world: World, since_at: float, now: Moment) -> float:
    """The least age (seconds) of what began at a wall time: no jump of the wall clock can make it older than it is."""
    return min(now.at - since_at, now.boot_s - world.seen.steady_since_boot_s)
