"""Which offer is best for so many bundles: operator priority, cost per useful unit, lead time, name; it buys nothing.

Whole hosts are judged full; the last one by what is left for it, so that a small host may beat a big half-empty one.
Both orders are sorted once for a shape of line, so that a choice costs a few steps however many offers there are.
"""

import heapq
from collections.abc import Iterable, Sequence, Set

from attrs import frozen

from provisioner.core.model import Rejected
from provisioner.core.money import decimal_text
from provisioner.core.policy.offers import Offer
from provisioner.core.policy.stock import OfferKey
from provisioner.core.reasons import Why

Fit = tuple[Offer, int]
"""An offer, and how many bundles one host of it holds."""

Merit = tuple[tuple[int, int], int, int, str, str]

MOST_RIVALS = 5

_FINE = 1000
"""Costs per useful unit are compared in thousandths of a nano-unit."""


@frozen(eq=False)
class Ranked:
    """Offers by cost per bundle of a full host, and by cost of one host; `odd` ones have to be judged for each
    number.
    """

    when_full: tuple[Fit, ...]
    by_host: tuple[Fit, ...]
    odd: tuple[Fit, ...]


def ranked(fits: Iterable[Fit]) -> Ranked:
    """The offers in the orders in which they are asked."""
    plain: list[Fit] = []
    odd: list[Fit] = []
    for fit in fits:
        (odd if _is_odd(fit[0]) else plain).append(fit)
    return Ranked(
        when_full=tuple(sorted(plain, key=lambda fit: merit(fit[0], fit[1], fit[1]))),
        by_host=tuple(sorted(plain, key=lambda fit: merit(fit[0], fit[1], 1))),
        odd=tuple(odd),
    )


def best(offers: Ranked, left: int, out: Set[OfferKey]) -> Fit | None:
    """The best offer for so many bundles that is not `out`; None if there is none."""
    candidates = [fit for fit in offers.odd if _key(fit) not in out]
    for order, is_full in ((offers.when_full, True), (offers.by_host, False)):
        first = _first(order, left, out, is_full=is_full)
        if first is not None:
            candidates.append(first)
    return min(candidates, key=lambda fit: merit(fit[0], fit[1], left), default=None)


def passed_over(offers: Ranked, chosen: Fit, left: int, out: Set[OfferKey]) -> tuple[Rejected, ...]:
    """The nearest rivals of the chosen offer for so many bundles, with the number that beat each."""
    rivals = [fit for fit in (*offers.odd, *offers.when_full) if fit is not chosen and _key(fit) not in out]
    nearest = heapq.nsmallest(MOST_RIVALS, rivals, key=lambda fit: merit(fit[0], fit[1], left))
    return tuple(_beaten(rival, chosen, left) for rival in nearest)


def _beaten(rival: Fit, chosen: Fit, left: int) -> Rejected:
    theirs, ours = merit(rival[0], rival[1], left), merit(chosen[0], chosen[1], left)
    if theirs[0] != ours[0]:
        numbers = (", ".join(str(-n) for n in rank) for rank in (theirs[0], ours[0]))
        return _rejected(rival, Why.LOWER_PRIORITY, " < ".join(numbers))
    if theirs[1] != ours[1]:
        costs = (decimal_text(cost // _FINE) for cost in (theirs[1], ours[1]))
        return _rejected(rival, Why.DEARER, " > ".join(costs))
    return _rejected(rival, Why.CHEAPEST, f"equal in cost; lead time {theirs[2]} s, {ours[2]} s")


def _rejected(rival: Fit, why: Why, number: str) -> Rejected:
    return Rejected(rival[0].provider, rival[0].template.template, why.value, number)


def merit(offer: Offer, fit: int, left: int) -> Merit:
    """What offers are compared by, for so many bundles; least is best."""
    template = offer.template
    hosts = max(left // fit, 1)
    paid = max(hosts, -(-template.min_units // offer.per_instance))
    cost = (offer.cost_nanos * paid + offer.once_nanos) * _FINE // min(hosts * fit, left)
    return (offer.rank, cost, template.lead_typical_s, offer.provider, template.template)


def _first(order: Sequence[Fit], left: int, out: Set[OfferKey], *, is_full: bool) -> Fit | None:
    for fit in order:
        if (fit[1] <= left) is is_full and _key(fit) not in out:
            return fit
    return None


def _is_odd(offer: Offer) -> bool:
    """Charged once, or only to be had by the several: then cost is not in proportion."""
    return offer.once_nanos > 0 or offer.template.min_units > offer.per_instance


def _key(fit: Fit) -> OfferKey:
    return fit[0].provider, fit[0].template.template
