"""Which orders of operators stand now, and how they are told; it gives and ends none."""

from datetime import UTC, datetime

from provisioner.core.events import Moment
from provisioner.core.facts import OverrideFact, OverrideKind
from provisioner.core.world import World


def pause_id(provider: str) -> str:
    """The id of the order that pauses a provider."""
    return f"{OverrideKind.PAUSE}.{provider}"


def pause_of(world: World, provider: str, now: Moment) -> OverrideFact | None:
    """The pause of a provider that is in force, None if there is none or its time is over."""
    fact = world.overrides.get(pause_id(provider)) if world.overrides else None
    return fact if fact is not None and now.at < fact.until_at else None


def is_paused(world: World, provider: str, now: Moment) -> bool:
    """Whether nothing is to be bought from a provider now."""
    return pause_of(world, provider, now) is not None


def pause_text(pause: OverrideFact) -> str:
    """Until when, by whom and why."""
    until = datetime.fromtimestamp(int(pause.until_at), UTC).isoformat()[:19]
    return f"until {until}Z" + (f" by {pause.by}" if pause.by else "") + (f": {pause.why}" if pause.why else "")
