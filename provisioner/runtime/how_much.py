"""How much there is to decide, in pieces: what long decisions are told by. It must not know what is decided."""

from collections.abc import Collection, Iterable

from provisioner.core.events import (
    ClusterPushed,
    DemandPushed,
    Described,
    Event,
    Listed,
    ListedPage,
    SupplyPushed,
)
from provisioner.core.facts import Key
from provisioner.core.world import World

__all__ = ["how_much"]


def how_much(world: World, events: Collection[Event], due: Collection[Key]) -> int:
    """What is new, what is due, and the offers that a plan looks at, where there may be one."""
    found = len(due) + sum(map(_size, events))
    if _is_wanted(world, events):  # else a thousand idle providers would be counted at each answer of one of them
        found += sum(len(description.templates) for description in world.descriptions.values())
    return found


def _is_wanted(world: World, events: Iterable[Event]) -> bool:
    """Whether anything is lacked, or is said to be lacked now."""
    if any(isinstance(event, DemandPushed | ClusterPushed) for event in events):
        return True
    return any(demand.lines for demand in world.demands.values())


def _size(event: Event) -> int:
    match event:
        case DemandPushed(lines=lines):
            return len(lines)
        case SupplyPushed(entries=entries):
            return len(entries)
        case ClusterPushed(supply, demand):
            return len(supply.entries) + len(demand.lines)
        case Listed(instances=things) | ListedPage(instances=things):
            return len(things)
        case Described(templates=templates):
            return len(templates)
        case _:
            return 1
