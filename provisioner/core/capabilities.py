"""What a provider declared beyond the methods it must have; nothing else of that kind is sent to it (GR-3)."""

from provisioner.core.world import World

CANCEL, DESCRIBE_DELTA, EXTEND, FORGET, QUOTE = "cancel", "describe.delta", "extend", "forget", "quote"


def can(world: World, provider: str, capability: str) -> bool:
    """Whether the provider declared this capability at its last handshake."""
    description = world.descriptions.get(provider)
    return description is not None and capability in description.capabilities
