"""What a provider promises of itself (§7), declared once in the handshake.

Alone responsible for the promises and their weakest values: every default here is what a provider that says
nothing is taken to promise. `None` means never or without limit.
"""

from collections.abc import Mapping
from typing import Annotated

from attrs import Factory, frozen
from msgspec import Meta

from provider_sdk.contract.forms import Duration, InFlight, Positive
from provider_sdk.contract.words import (
    Honoured,
    ListCovers,
    MarkKept,
    MemoryWhere,
    MinUnitsPromise,
    PriceCapPromise,
    Replay,
)

ANSWER_S_DEFAULT = 60


@frozen
class TokenPromise:
    """What repeating a request under its token does, and how long after the first sending that holds."""

    replay: Replay = Replay.NONE
    lifetime_s: Duration = 0
    unknown_ends_s: Duration | None = None


@frozen
class MarkPromise:
    """Where marks are kept."""

    kept: MarkKept = MarkKept.NONE


@frozen
class ListPromise:
    """What a list covers and how late it is."""

    covers: ListCovers = ListCovers.OWN_RECORDS
    delay_s: Duration = 3600
    gone_visible_s: Duration = 0
    not_found_gone_after_s: Duration | None = None


@frozen
class MemoryPromise:
    """Where purchases are remembered, and how long final reports stay without `forget`."""

    where: MemoryWhere = MemoryWhere.STATE_DIR
    keep_s: Duration = 604_800


@frozen
class LimitsPromise:
    """Which limits of a purchase are kept."""

    price_cap: PriceCapPromise = PriceCapPromise.IGNORED
    min_units: MinUnitsPromise = MinUnitsPromise.IGNORED
    deadline: Honoured = Honoured.IGNORED


@frozen
class ReturnPromise:
    """How give-backs go."""

    partial: bool = False
    observed: bool = False
    typical_s: Duration = 300
    per_minute: Positive | None = None


@frozen
class CallsPromise:
    """How many calls may be open and how long each may take; `answer_s` is by method, 60 where not stated."""

    in_flight: InFlight = 1
    answer_s: Mapping[Annotated[str, Meta(max_length=64)], Positive] = Factory(dict)
    not_after: Honoured = Honoured.IGNORED
    late_effect_s: Duration = 60

    def answer_limit_s(self, method: str) -> int:
        """Return how many seconds an answer to `method` is waited for."""
        return self.answer_s.get(method, ANSWER_S_DEFAULT)


@frozen
class Promises:
    """All promises of one provider (`return_` is `return` on the wire)."""

    token: TokenPromise = TokenPromise()
    mark: MarkPromise = MarkPromise()
    list: ListPromise = ListPromise()
    memory: MemoryPromise = MemoryPromise()
    limits: LimitsPromise = LimitsPromise()
    return_: ReturnPromise = ReturnPromise()
    calls: CallsPromise = CallsPromise()
