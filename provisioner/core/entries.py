"""What a source said last of one instance; it must not judge it."""

from provisioner.core.facts import InstanceFact
from provisioner.core.model import SupplyEntry
from provisioner.core.world import World


def entry_of(world: World, instance: InstanceFact) -> SupplyEntry | None:
    """What the source of an instance said of it last."""
    for source in dict.fromkeys(share.source for share in instance.shares):
        supply = world.supplies.get(source)
        for entry in supply.entries if supply is not None else ():
            if entry.instance == instance.id:
                return entry
    return None
