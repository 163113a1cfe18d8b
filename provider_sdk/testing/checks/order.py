"""All checks, in the order in which they run: what others build on comes first. Knows no check's insides."""

from typing import Final

from provider_sdk.testing.check import Check
from provider_sdk.testing.checks.buying import BUYING
from provider_sdk.testing.checks.concurrency import CONCURRENCY
from provider_sdk.testing.checks.declared import DECLARED, DECLARED_OVER_CRASHES
from provider_sdk.testing.checks.describing import DESCRIBING, TEMPLATES, TWICE
from provider_sdk.testing.checks.endings import ENDINGS
from provider_sdk.testing.checks.fencing import FENCING
from provider_sdk.testing.checks.frames import EVERY_LINE, FRAMES
from provider_sdk.testing.checks.handshake import GREETING, HANDSHAKE
from provider_sdk.testing.checks.listing import LISTING
from provider_sdk.testing.checks.playing import PLAYING
from provider_sdk.testing.checks.remembering import REMEMBERING
from provider_sdk.testing.checks.returning import RETURNING

__all__ = ["ALL", "EVERY_LINE", "GATES", "MEASURES", "ORDINARY"]

# Without the first two nothing else can be examined.
GATES: Final[tuple[Check, ...]] = (GREETING, TEMPLATES)
# What is said in the ordinary course of things, without crashes: enough to see what holds for every line.
ORDINARY: Final[tuple[Check, ...]] = (TWICE, *FRAMES, *DESCRIBING, *BUYING, *RETURNING, *LISTING, *DECLARED)
MEASURES: Final[tuple[Check, ...]] = (
    *ORDINARY,
    *HANDSHAKE,
    *CONCURRENCY,
    *REMEMBERING,
    *DECLARED_OVER_CRASHES,
    *PLAYING,
    *FENCING,
    *ENDINGS,
)
ALL: Final[tuple[Check, ...]] = (*GATES, *MEASURES, EVERY_LINE)
