"""The versions of contract v2 that are spoken here, and what each minor adds to the one before it (HS-3, GR-1).

Alone responsible for that table. A minor only adds; what it adds is named here before anybody sends it. Must not know
who speaks to whom.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen


@frozen
class Minor:
    """What one minor adds: capabilities a daemon may name to show that it understands them, and one sentence."""

    capabilities: tuple[str, ...]
    sentence: str


FIRST: Final = "2.0"

MINORS: Final[Mapping[str, Minor]] = MappingProxyType(
    {
        "2.1": Minor((), "Nothing yet: it is 2.0 under another number, so that agreeing on a minor is in use."),
        FIRST: Minor((), "Everything of contract v2 that is not named by a later minor."),
    }
)
"""Best first."""

VERSIONS: Final = tuple(MINORS)
"""What a daemon offers and the SDK speaks, best first."""


def named_beyond_first() -> tuple[str, ...]:
    """What is understood here beyond 2.0, by name; a daemon says so in `initialize`."""
    return tuple(name for version, minor in MINORS.items() if version != FIRST for name in minor.capabilities)


def spoken() -> str:
    """The versions spoken here as they are told to people, best first."""
    return ", ".join(VERSIONS)
