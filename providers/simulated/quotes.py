"""Quotes: prices told for one purchase each and forgotten with the process (QT-1, QT-2).

Alone responsible for which quotes are open; keeps nothing at the far side and sets nothing aside.
"""

import threading

from attrs import frozen

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import QuoteParams, QuoteResult
from provider_sdk.contract.money import nanos_to_amount
from provider_sdk.contract.times import format_time
from provider_sdk.contract.types import LeadTime, Money
from provider_sdk.contract.words import ErrorClass, Per
from providers.simulated.offers import Offer

OPEN_MOST = 10_000
"""Open quotes that are remembered; the oldest are forgotten first."""


@frozen
class _Open:
    template: str
    units: int
    until_ms: int


class Quotes:
    """The open quotes of one process; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._count = 0

    def give(self, params: QuoteParams, offer: Offer | None, held: int, valid_ms: int, now_ms: int) -> QuoteResult:
        """Quote what can be had of the units asked for, `held` being what is sold already; or refuse."""
        if offer is None:
            raise ContractError(ErrorClass.UNKNOWN_TEMPLATE, f"there is no template {params.template[:200]}")
        price = offer.terms.price
        if price is None:
            raise ContractError(ErrorClass.UNSUPPORTED, "this template has no price at all")
        left = params.units if offer.capacity is None else max(0, offer.capacity - held)
        units = min(params.units, offer.max_units, left)
        if units < max(params.min_units, offer.min_units):
            raise ContractError(ErrorClass.NO_CAPACITY, f"{units} units could be had")
        until_ms = (now_ms + valid_ms) // 1000 * 1000
        with self._lock:
            self._count += 1
            name = f"q-{now_ms}-{self._count}"
            self._open[name] = _Open(params.template, units, until_ms)
            if len(self._open) > OPEN_MOST:
                del self._open[next(iter(self._open))]
        return QuoteResult(
            quote=name,
            units=units,
            price=Money(nanos_to_amount(price.nanos), price.currency, Per(price.per)),
            valid_until=format_time(until_ms / 1000),
            held=False,
            lead_time=LeadTime(offer.lead.typical_s, offer.lead.worst_s),
        )

    def use(self, quote: str, template: str, units: int, now_ms: int) -> bool:
        """Use a quote up: True the first time, while it holds, for what it was given for."""
        with self._lock:
            found = self._open.get(quote)
            if found is None or found.template != template or units > found.units or now_ms >= found.until_ms:
                return False
            del self._open[quote]
            return True
