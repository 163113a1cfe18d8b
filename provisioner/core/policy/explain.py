"""Why something stays open, in one sentence that names the condition or number that killed the best alternative."""

from collections.abc import Iterable, Sequence

from provisioner.core.model import Line, Rejected
from provisioner.core.policy.offers import Offer
from provisioner.core.reasons import SENTENCES, Reason, Why

MOST_REJECTED = 20

_NEARNESS: dict[str, int] = {
    why.value: place
    for place, why in enumerate(
        (
            Why.CHEAPEST,
            Why.DEARER,
            Why.LOWER_PRIORITY,
            Why.CAPACITY,
            Why.LIMIT,
            Why.GRANULARITY,
            Why.PROVIDER_UNSETTLED,
            Why.BACKED_OFF,
            Why.PARKED,
            Why.PAUSED,
            Why.MEMORY_LOST,
            Why.OVER_MAX_PRICE,
            Why.QUOTE_AWAITED,
            Why.UNKNOWN_PRICE,
            Why.FOREIGN_CURRENCY,
            Why.PROVIDER_NOT_READY,
            Why.CONSUMER,
            Why.TOO_SMALL,
            Why.CONSTRAINT,
            Why.WRONG_KIND,
        )
    )
}
"""What came nearest to being bought comes first."""

_OF_ITSELF = frozenset({Why.TOO_SMALL, Why.CONSTRAINT, Why.WRONG_KIND, Why.CONSUMER})
"""What no time changes: then no offer fits, whichever of them it was."""


def nearest_first(rejected: Iterable[Rejected]) -> tuple[Rejected, ...]:
    """The alternatives that came nearest, bounded; equals stay in the order given."""
    return tuple(sorted(rejected, key=_nearness)[:MOST_REJECTED])


def how_near(offer: Offer, line: Line) -> float:
    """For an offer that is too small: which share of a bundle it holds at its scarcest."""
    return min((min(offer.traits.size.get(name, 0) / n, 1.0) for name, n in line.each if n > 0), default=0.0)


def why_open(rejected: Sequence[Rejected], others: int) -> Reason:
    """The reason for what stays open, from the alternatives nearest first; `others` is how many more there were."""
    if not rejected:
        return Reason(Why.NO_PROVIDER)
    best = rejected[0]
    why = Why(best.reason)
    more = others + len(rejected) - 1
    return Reason(
        Why.NO_OFFER_FITS if why in _OF_ITSELF else why, _told(best, why) + (f"; and {more} more" if more else "")
    )


def _told(rejected: Rejected, why: Why) -> str:
    name = rejected.provider if rejected.template == "*" else f"{rejected.template} of {rejected.provider}"
    return f"{name}: {SENTENCES[why]}" + (f": {rejected.number}" if rejected.number else "")


def _nearness(rejected: Rejected) -> int:
    return _NEARNESS.get(rejected.reason, len(_NEARNESS))
