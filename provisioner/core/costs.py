"""What an instance costs by its own record, and what all of them do; it decides nothing and stores nothing."""

from collections.abc import Iterable

from provisioner.core.facts import InstanceFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import BillingEnd, BillingStart, Per
from provisioner.core.money import billable_s, hourly_cost_nanos


def billed_from(instance: InstanceFact) -> float | None:
    """From when it is charged: the provider's word, else by its terms; None while charging has not begun."""
    if instance.billed_from is not None:
        return instance.billed_from
    match instance.terms.billing.starts:
        case BillingStart.REQUESTED:
            return instance.requested_at
        case BillingStart.MADE:
            return instance.made_at
        case BillingStart.RUNNING:
            return instance.running_at


def billed_until(instance: InstanceFact, now_at: float) -> float:
    """Until when it is charged: the provider's word, else by its terms; the present while it is not over."""
    if instance.billed_until is not None:
        return min(instance.billed_until, now_at) if instance.state is not InstanceState.GONE else instance.billed_until
    accepted = instance.return_accepted_at
    if instance.terms.billing.ends is BillingEnd.RETURN_ACCEPTED and accepted is not None:
        return accepted
    return instance.gone_at if instance.gone_at is not None else now_at


def cost_nanos(instance: InstanceFact, now_at: float) -> int | None:
    """Nano-units it has cost so far, its final sum once gone; None where no price is known: unknown is not zero."""
    if instance.charged_nanos is not None and instance.state is InstanceState.GONE:
        return instance.charged_nanos
    price = instance.terms.price
    if price is None:
        return None
    if price.per is Per.PURCHASE:
        return price.nanos + price.once_nanos
    begin = billed_from(instance)
    if begin is None:
        return price.once_nanos
    billing = instance.terms.billing
    seconds = billable_s(max(0.0, billed_until(instance, now_at) - begin), billing.quantum_s, billing.minimum_s)
    units = instance.units_made if price.per is Per.UNIT_HOUR else 1
    return hourly_cost_nanos(price.nanos, units, seconds) + price.once_nanos


def hourly_nanos(instance: InstanceFact) -> int:
    """What it burns an hour now; 0 once it is gone, or while its price is unknown."""
    price = instance.terms.price
    if price is None or instance.state is InstanceState.GONE or price.per is Per.PURCHASE:
        return 0
    return price.nanos * (instance.units if price.per is Per.UNIT_HOUR else 1)


def total_nanos(instances: Iterable[InstanceFact], now_at: float) -> int:
    """The sum over instances of what each has cost by its own record; those of unknown price are left out."""
    return sum(cost for cost in (cost_nanos(i, now_at) for i in instances) if cost is not None)


def paid_until(instance: InstanceFact, now_at: float) -> float | None:
    """The end of the time that is paid for already; None while charging has not begun or it is gone."""
    begin = billed_from(instance)
    if begin is None or instance.state is InstanceState.GONE:
        return None
    billing = instance.terms.billing
    return begin + billable_s(max(0.0, now_at - begin), billing.quantum_s, billing.minimum_s)
