"""Puts what is for sale into the contract's words: templates and shared limits.

Pure. Decides nothing about purchases and reads no books.
"""

from provider_sdk.contract.money import nanos_to_amount
from provider_sdk.contract.types import (
    Billing,
    Capacity,
    Draw,
    Granularity,
    Hold,
    LeadTime,
    Limit,
    Template,
    TemplatePrice,
)
from provider_sdk.contract.words import (
    BillingEnd,
    BillingStart,
    Kind,
    Per,
    PriceModel,
)
from providers.simulated.config import Config, Stock
from providers.simulated.messages import attributes_of, place_of
from providers.simulated.offers import Offer, Price
from providers.simulated.plan import is_price_omitted

MACHINES = "machines"


def template_of(offer: Offer, config: Config, held: int) -> Template:
    """Describe one offer; `held` is what this cloud has sold of it and not seen gone."""
    terms = offer.terms
    capacity = None
    if offer.capacity is not None and config.stock.stated:
        capacity = Capacity(max=offer.capacity, available=max(0, offer.capacity - held))
    omitted = is_price_omitted(offer, config)
    return Template(
        template=terms.template,
        kind=Kind(terms.kind),
        unit=terms.unit,
        units_per_instance=1 if terms.kind == "host" else None,
        attributes=attributes_of(terms),
        capacity=capacity,
        draws=(Draw(MACHINES, 1),) if terms.kind == "host" and _states_machines(config.stock) else (),
        granularity=Granularity(offer.max_units, offer.min_units, offer.step_units),
        hold=Hold(terms.hold_min_s, terms.hold_max_s) if terms.hold_min_s or terms.hold_max_s else None,
        price=None if terms.price is None or omitted else _template_price(terms.price),
        model=PriceModel(terms.model),
        billing=Billing(
            terms.billing.quantum_s,
            terms.billing.minimum_s,
            BillingStart(terms.billing.starts),
            BillingEnd(terms.billing.ends),
        ),
        lead_time=LeadTime(offer.lead.typical_s, offer.lead.worst_s),
        notice_s=None if offer.spot is None else offer.spot.notice_s,
        place=place_of(terms),
        priority=offer.priority,
    )


def limits_of(config: Config, machines_held: int) -> tuple[Limit, ...] | None:
    """Describe the ceiling shared by all host templates, if there is one and it is told."""
    if not _states_machines(config.stock) or config.stock.machines is None:
        return None
    return (Limit(MACHINES, config.stock.machines, "machines in this cloud", machines_held),)


def _states_machines(stock: Stock) -> bool:
    return stock.stated and stock.machines is not None


def _template_price(price: Price) -> TemplatePrice:
    once = None if price.once_nanos is None else nanos_to_amount(price.once_nanos)
    return TemplatePrice(nanos_to_amount(price.nanos), price.currency, Per(price.per), once)
