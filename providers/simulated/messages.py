"""Puts what the cloud holds into the contract's words: instances, reports, problems, give-backs.

Pure. Alone responsible for this translation; decides nothing about purchases and reads no books.
"""

from collections.abc import Mapping
from math import ceil

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import ReturnedItem
from provider_sdk.contract.money import nanos_to_amount
from provider_sdk.contract.times import format_time
from provider_sdk.contract.types import (
    Address,
    AttributeValue,
    Charge,
    Instance,
    InstanceNotice,
    LimitFact,
    Money,
    PartialMark,
    Place,
    Problem,
    Quantity,
    Report,
    ReportProgress,
    Scope,
)
from provider_sdk.contract.words import (
    AddressScope,
    ErrorClass,
    InstanceKind,
    InstanceState,
    NoticeKind,
    Outcome,
    Per,
    QuantityUnit,
    ReturnState,
)
from providers.simulated.lives import (
    NEVER,
    billed_from_ms,
    billed_until_ms,
    charge_nanos,
    reason_at,
    state_at,
    units_at,
)
from providers.simulated.offers import Terms
from providers.simulated.plan import Shortfall
from providers.simulated.records import Order, Thing

MACHINES = "machines"
_POLL_AFTER_S = 1


def instance_of(thing: Thing, now_ms: int, *, with_mark: bool = False, thin: bool = False) -> Instance:
    """Describe one thing that was made by now; `thin` leaves out all that does not change."""
    state = state_at(thing.life, now_ms)
    kind = InstanceKind(thing.terms.kind)
    core = Instance(
        instance=thing.instance,
        units=units_at(thing.life, now_ms),
        state=InstanceState(state),
        kind=kind,
        template=thing.template,
        notice=_notice(thing, now_ms),
    )
    if thin:
        return core
    terms, price = thing.terms, thing.terms.price
    starts, ends = billed_from_ms(thing.life, terms), billed_until_ms(thing.life, terms)
    charged = state == "gone" and price is not None
    return Instance(
        instance=core.instance,
        units=core.units,
        state=core.state,
        kind=kind,
        template=core.template,
        reason=reason_at(thing.life, now_ms),
        name=thing.name if kind is InstanceKind.HOST else None,
        addresses=(Address(thing.address, AddressScope.PRIVATE),) if kind is InstanceKind.HOST else (),
        access=dict(terms.access) or None,
        place=place_of(terms),
        attributes=attributes_of(terms),
        made_at=_time(thing.life.made_ms),
        billed_from=_time(starts) if starts <= now_ms else None,
        billed_until=_time(ends) if state == "gone" and starts != NEVER else None,
        expires_at=None if thing.life.expires_ms == NEVER else _time(thing.life.expires_ms),
        price=None if price is None else Money(nanos_to_amount(price.nanos), price.currency, Per(price.per)),
        charged=Charge(charge_text(thing, now_ms), price.currency) if charged and price is not None else None,
        notice=core.notice,
        mark=PartialMark(**dict(thing.mark)) if with_mark else None,  # type: ignore[arg-type]
    )


def charge_text(thing: Thing, now_ms: int) -> str:
    """Return what the thing has cost until now as a decimal amount."""
    return nanos_to_amount(charge_nanos(thing.life, thing.terms, now_ms))


def report_of(order: Order, request_id: str, now_ms: int) -> Report:
    """Report on one purchase as the books hold it."""
    outcome = outcome_of(order, now_ms)
    lying = order.lie is not None and now_ms < order.closes_ms
    return Report(
        request_id=request_id,
        token=order.token,
        outcome=outcome,
        instances=tuple(instance_of(thing, now_ms) for thing in order.made(now_ms)),
        problems=tuple(problem_of(shortfall, template=None) for shortfall in order.shortfalls),
        progress=_progress(order, outcome, now_ms),
        poll_after_s=None if outcome in (Outcome.MADE, Outcome.NOT_MADE) or lying else _POLL_AFTER_S,
    )


def _progress(order: Order, outcome: Outcome, now_ms: int) -> ReportProgress | None:
    """How far an open purchase is, for people."""
    if outcome is not Outcome.PENDING:
        return None
    made, units = len(order.made(now_ms)), len(order.things)
    return ReportProgress(f"{made} of {units} made", ceil((order.closes_ms - now_ms) / 1000))


def outcome_of(order: Order, now_ms: int) -> Outcome:
    """Return what became of a purchase; a lie is told until the last unit is made."""
    if now_ms < order.closes_ms:
        return Outcome.PENDING if order.lie is None else Outcome(order.lie)
    return Outcome.MADE if order.made(now_ms) else Outcome.NOT_MADE


def problem_of(shortfall: Shortfall, template: str | None) -> Problem:
    """Say why units are missing."""
    return Problem(
        error_class=ErrorClass(shortfall.error_class),
        units=shortfall.units,
        scope=_scope(shortfall, template),
        retry_after_s=shortfall.retry_after_s,
        reason=shortfall.reason,
        detail=shortfall.detail,
        limit=_limit(shortfall),
    )


def error_of(shortfall: Shortfall, outcome: str, template: str) -> ContractError:
    """Say why a whole call came to nothing."""
    return ContractError(
        ErrorClass(shortfall.error_class),
        shortfall.detail,
        # "unknown" is what an absent outcome means; saying nothing is what such far sides do.
        outcome=Outcome.NOT_MADE if outcome == "not_made" else None,
        scope=_scope(shortfall, template),
        retry_after_s=shortfall.retry_after_s,
        reason=shortfall.reason,
        limit=_limit(shortfall),
    )


def returned_item(thing: Thing | None, instance: str, keep: int, now_ms: int) -> ReturnedItem:
    """Say what has become of a give-back of one instance, once it was noted."""
    if thing is None:
        return ReturnedItem(instance, ReturnState.NOT_FOUND)
    units = units_at(thing.life, now_ms)
    state = ReturnState.RETURNED if units <= keep else ReturnState.RETURNING
    if state is ReturnState.RETURNING and thing.life.units - thing.life.promised_back > keep:
        return held_item(thing, instance, now_ms)
    return ReturnedItem(instance, state, units)


def held_item(thing: Thing, instance: str, now_ms: int) -> ReturnedItem:
    """Say that an instance is not taken back yet."""
    left_ms = thing.life.made_ms + thing.terms.hold_min_s * 1000 - now_ms
    problem = Problem(ErrorClass.HELD, retry_after_s=max(1, -(-left_ms // 1000)))
    return ReturnedItem(instance, ReturnState.HELD, units_at(thing.life, now_ms), problem=problem)


def is_held(thing: Thing, now_ms: int) -> bool:
    """Does the far side still insist on the minimum hold?"""
    return now_ms < thing.life.made_ms + thing.terms.hold_min_s * 1000 and state_at(thing.life, now_ms) != "gone"


def attributes_of(terms: Terms) -> Mapping[str, AttributeValue] | None:
    """Put attributes into the contract's words."""
    if not terms.attributes:
        return None
    return {key: _attribute(value) for key, value in terms.attributes.items()}


def _attribute(value: object) -> AttributeValue:
    match value:
        case {"value": int() | float() as figure, "unit": str() as unit}:
            return Quantity(figure, QuantityUnit(unit))
        case list() | tuple():
            return tuple(str(item) for item in value)
        case bool() | int() | float():
            return value
        case _:
            return str(value)


def place_of(terms: Terms) -> Place | None:
    """Say where it is, as far as told."""
    return Place(**terms.place) if terms.place else None


def _notice(thing: Thing, now_ms: int) -> InstanceNotice | None:
    if not thing.life.notice_ms <= now_ms < thing.life.gone_ms:
        return None
    return InstanceNotice(NoticeKind.RECLAIM, _time(thing.life.reclaim_ms))


def _scope(shortfall: Shortfall, template: str | None) -> Scope | None:
    if shortfall.limit is not None:
        return Scope(limit=shortfall.limit[0])
    if shortfall.scope == "provider":
        return Scope(provider=True)
    return None if template is None else Scope(template=template)


def _limit(shortfall: Shortfall) -> LimitFact | None:
    return None if shortfall.limit is None else LimitFact(*shortfall.limit)


def _time(at_ms: int) -> str:
    return format_time(at_ms / 1000)
