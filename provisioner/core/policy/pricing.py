"""What an offer costs: per hour, over the expected stay, and at worst until it can go back; it chooses nothing."""

from provisioner.core.model import Kind, Per, Price, Template, Terms
from provisioner.core.money import billable_s, hourly_cost_nanos

EXPECTED_STAY_S = 3600
"""How long a purchase is expected to be kept, until it is learned (design §7, settings `expected_stay`)."""


def hourly_nanos(template: Template, price: Price) -> int:
    """Of one whole host, or of one unit of a grant."""
    if price.per is Per.PURCHASE:
        return price.nanos
    of_units = template.kind is Kind.HOST and price.per is Per.UNIT_HOUR
    return price.nanos * ((template.units_per_instance or 1) if of_units else 1)


def cost_nanos(template: Template, price: Price) -> int:
    """What each host, or each unit of a grant, costs over the expected stay."""
    return 0 if _is_for_all(template, price) else _stay_nanos(template, price)


def once_nanos(template: Template, price: Price) -> int:
    """What a purchase costs besides, however many units it has."""
    if price.per is Per.PURCHASE:
        return price.nanos + price.once_nanos
    return price.once_nanos + (_stay_nanos(template, price) if _is_for_all(template, price) else 0)


def reserve_nanos(kind: Kind, terms: Terms, price: Price, units: int) -> int:
    """What a purchase may cost at worst until it can be given back, rounded up; in nano-units of the price's
    currency.
    """
    if price.per is Per.PURCHASE:
        return price.nanos + price.once_nanos
    held_s = max(terms.hold_min_s, terms.billing.minimum_s, terms.lead_worst_s + EXPECTED_STAY_S)
    charged_s = billable_s(held_s, terms.billing.quantum_s, terms.billing.minimum_s)
    charged = units if price.per is Per.UNIT_HOUR else _instances(kind, terms, units)
    return hourly_cost_nanos(price.nanos, charged, charged_s) + price.once_nanos


def _is_for_all(template: Template, price: Price) -> bool:
    """Whether the price does not grow with the units: of a purchase, or of a grant that holds them all."""
    one_grant = template.kind is Kind.GRANT and template.units_per_instance is None
    return price.per is Per.PURCHASE or (price.per is Per.HOUR and one_grant)


def _stay_nanos(template: Template, price: Price) -> int:
    billing = template.billing
    stay_s = billable_s(max(EXPECTED_STAY_S, template.hold_min_s), billing.quantum_s, billing.minimum_s)
    return hourly_cost_nanos(hourly_nanos(template, price), 1, stay_s)


def _instances(kind: Kind, terms: Terms, units: int) -> int:
    """How many instances so many units are: a grant holds them all where its template does not say."""
    per = terms.units_per_instance or (1 if kind is Kind.HOST else units)
    return -(-units // max(per, 1))
