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


def how_much(world: World, events: Iterable[Event], due: Collection[Key]) -> int:
    """What is new, what is due, and the offers that a plan looks at."""
    offers = sum(len(description.templates) for description in world.descriptions.values())
    return len(due) + sum(_size(event) for event in events) + offers


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
