"""How much more of an offer may be held: capacity, configured most, shared limits, one purchase at a time.

Everything that is not proven gone counts, also what may still be made by a purchase of unknown outcome.
"""

from collections.abc import Iterable

from attrs import frozen

from provisioner.core.policy.offers import Offer
from provisioner.core.policy.survey import Survey
from provisioner.core.reasons import Why
from provisioner.core.world import World

OfferKey = tuple[str, str]
"""(provider, template)."""


@frozen(eq=False)
class Stock:
    """The working counts of one pass, in units; `drawn` and `others` are of shared limits, in the limit's own measure.

    `others` is what somebody else uses of a limit. `unsettled` names providers with an open purchase.
    """

    held: dict[OfferKey, int]
    of_provider: dict[str, int]
    drawn: dict[tuple[str, str], int]
    others: dict[tuple[str, str], int]
    unsettled: frozenset[str]


def new_stock(world: World, seen: Survey, offers: Iterable[Offer]) -> Stock:
    """The counts before anything is bought in this pass."""
    of_provider: dict[str, int] = {}
    for (provider, _), units in seen.held.items():
        of_provider[provider] = of_provider.get(provider, 0) + units
    drawn: dict[tuple[str, str], int] = {}
    counted: dict[tuple[str, str], int] = {}
    others: dict[tuple[str, str], int] = {}
    for offer in offers:
        _draw(drawn, offer, seen.held.get((offer.provider, offer.template.template), 0))
        _draw(counted, offer, offer.held_when_read)
        for limit in offer.limits.values():
            others[offer.provider, limit.limit] = limit.used or 0
    others = {key: max(used - counted.get(key, 0), 0) for key, used in others.items()}
    unsettled = frozenset(request.provider for request in world.open_requests.values())
    return Stock(dict(seen.held), of_provider, drawn, others, unsettled)


def most_units(stock: Stock, offer: Offer) -> tuple[int, Why, str]:
    """How many more units of the offer may be held, and what stops at that number; a very large number if nothing
    does.
    """
    key = (offer.provider, offer.template.template)
    held = stock.held.get(key, 0)
    stops: list[tuple[int, Why, str]] = [(1 << 53, Why.CAPACITY, "no bound")]
    if offer.held_most is not None:
        stops.append((offer.held_most - held, Why.CAPACITY, f"{held} held of {offer.held_most}"))
    if offer.template.capacity_available is not None:
        further = offer.template.capacity_available + offer.held_when_read - held
        stops.append((further, Why.CAPACITY, f"{max(further, 0)} more available"))
    if offer.provider_most is not None:
        of_all = stock.of_provider.get(offer.provider, 0)
        stops.append(
            (offer.provider_most - of_all, Why.LIMIT, f"{of_all} held of {offer.provider_most} of the provider")
        )
    stops += _limit_stops(stock, offer)
    units, why, number = min(stops, key=lambda stop: stop[0])
    return max(units, 0), why, number


def take(stock: Stock, offer: Offer, units: int) -> None:
    """Count units of the offer as bought in this pass."""
    key = (offer.provider, offer.template.template)
    stock.held[key] = stock.held.get(key, 0) + units
    stock.of_provider[offer.provider] = stock.of_provider.get(offer.provider, 0) + units
    _draw(stock.drawn, offer, units)


def _draw(counts: dict[tuple[str, str], int], offer: Offer, units: int) -> None:
    if units:
        for draw in offer.template.draws:
            key = (offer.provider, draw.limit)
            counts[key] = counts.get(key, 0) + draw.amount * units


def _limit_stops(stock: Stock, offer: Offer) -> list[tuple[int, Why, str]]:
    """`used` was read at some time: what was ours then is replaced by what is ours now."""
    stops = []
    for draw in offer.template.draws:
        limit = offer.limits.get(draw.limit)
        if limit is None or draw.amount <= 0:
            continue
        key = (offer.provider, draw.limit)
        used = stock.others.get(key, 0) + stock.drawn.get(key, 0)
        units = (limit.most - used) // draw.amount
        stops.append((units, Why.LIMIT, f"{limit.name}: {used} used of {limit.most}"))
    return stops
