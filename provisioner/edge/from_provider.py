"""How a provider's words become ours: decoded answers into core values; everything is checked here once, and trusted
inside.

Numbers of attributes become thousandths of the canonical unit (bytes, bytes per second, hertz, seconds, pieces);
words become labels.
"""

from collections.abc import Iterable, Mapping

from provider_sdk.contract import (
    ErrorData,
    ExtendedItem,
    InitializeResult,
    Instance,
    ListResult,
    QuoteResult,
    ReturnedItem,
    amount_to_nanos,
    outcome_of,
    parse_time,
)
from provider_sdk.contract import Report as WireReport
from provider_sdk.contract import Template as WireTemplate
from provider_sdk.contract.promises import Promises as WirePromises
from provider_sdk.contract.types import (
    InstanceNotice,
    PartialMark,
    Quantity,
    Scope,
    TemplatePrice,
)
from provider_sdk.contract.types import Limit as WireLimit
from provider_sdk.contract.types import Place as WirePlace
from provider_sdk.contract.types import Problem as WireProblem
from provider_sdk.contract.words import Outcome, PriceModel
from provisioner.core.events import ExtendWord, ItemWord, Quote, Refusal, Report, SeenInstance, SeenMark
from provisioner.core.model import (
    Amounts,
    Billing,
    BillingEnd,
    BillingStart,
    Draw,
    Kind,
    Labels,
    Notice,
    Per,
    Place,
    Price,
    Problem,
    Promises,
    SharedLimit,
    Template,
)

THOUSANDTHS = 1000
DETAIL_MOST = 2000
WAIT_MOST_S = 86_400
"""A longer wait counts as this one: a senseless figure must not keep a thing that costs money from ever being named."""
SPAN_MOST_S = 10 * 365 * 86_400
"""The same for what a template says of its times: ten years from now is a date that can still be told, and paid for."""
CANONICAL: Mapping[str, int] = {
    "B": 1,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
    "MB/s": 1_000_000,
    "Mbit/s": 125_000,
    "Gbit/s": 125_000_000,
    "Hz": 1,
    "s": 1,
}


def promises(wire: WirePromises) -> Promises:
    """What a provider promised, in our words."""
    return Promises(
        token_replay=wire.token.replay.value,
        token_lifetime_s=wire.token.lifetime_s,
        unknown_ends_s=wire.token.unknown_ends_s,
        mark_kept=wire.mark.kept.value,
        list_covers=wire.list.covers.value,
        list_delay_s=wire.list.delay_s,
        gone_visible_s=wire.list.gone_visible_s,
        not_found_gone_after_s=wire.list.not_found_gone_after_s,
        memory_where=wire.memory.where.value,
        price_cap=wire.limits.price_cap.value,
        min_units=wire.limits.min_units.value,
        return_partial=wire.return_.partial,
        return_observed=wire.return_.observed,
        return_typical_s=wire.return_.typical_s,
        in_flight=wire.calls.in_flight,
        answer_s=dict(wire.calls.answer_s),
        not_after=wire.calls.not_after.value,
        late_effect_s=wire.calls.late_effect_s,
    )


def opened_words(wire: InitializeResult) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
    """(program, version, kinds, capabilities) of a handshake."""
    return wire.provider.name, wire.provider.version, tuple(k.value for k in wire.kinds), wire.capabilities


def template(wire: WireTemplate) -> Template:
    """One kind of thing a provider can supply."""
    size, labels = attributes(wire.attributes or {})
    capacity, hold, lead = wire.capacity, wire.hold, wire.lead_time
    return Template(
        template=wire.template,
        kind=Kind(wire.kind.value),
        unit=wire.unit,
        units_per_instance=wire.units_per_instance,
        size=size,
        labels=labels,
        place=place(wire.place) or Place(),
        capacity_max=capacity.max if capacity is not None else None,
        capacity_available=capacity.available if capacity is not None else None,
        draws=tuple(Draw(d.limit, d.amount) for d in wire.draws),
        min_units=wire.granularity.min_units,
        step_units=wire.granularity.step_units,
        max_units=wire.granularity.max_units,
        hold_min_s=_span(hold.min_s) if hold is not None else 0,
        hold_max_s=_span(hold.max_s) if hold is not None and hold.max_s is not None else None,
        price=template_price(wire.price),
        model=_model(wire.model),
        valid_until=_at(wire.valid_until),
        billing=_billing(wire),
        lead_typical_s=_span(lead.typical_s),
        lead_worst_s=_span(lead.worst_s),
        notice_s=_span(wire.notice_s) if wire.notice_s is not None else None,
        priority=wire.priority or 0,
    )


def _span(wire: int) -> int:
    return min(wire, SPAN_MOST_S)


def _model(model: PriceModel | None) -> str | None:
    return model.value if model is not None else None


def _billing(wire: WireTemplate) -> Billing:
    if wire.billing is None:
        return Billing()
    b = wire.billing
    return Billing(_span(b.quantum_s), _span(b.minimum_s), BillingStart(b.starts.value), BillingEnd(b.ends.value))


def template_price(wire: TemplatePrice | None) -> Price | None:
    """A template's price; None where it is unknown: unknown is not free."""
    if wire is None:
        return None
    once = amount_to_nanos(wire.once) if wire.once is not None else 0
    return Price(amount_to_nanos(wire.amount), wire.currency, Per(wire.per.value), once)


def limits(wire: Iterable[WireLimit]) -> tuple[SharedLimit, ...]:
    """Ceilings that templates share."""
    return tuple(SharedLimit(w.limit, w.name, w.max, w.used) for w in wire)


def attributes(wire: Mapping[str, object]) -> tuple[Amounts, Labels]:
    """(numbers in thousandths of the canonical unit, words) of an attribute map, both sorted."""
    size: dict[str, int] = {}
    labels: list[tuple[str, str]] = []
    for name, value in wire.items():
        if isinstance(value, bool):
            labels.append((name, "true" if value else "false"))
        elif isinstance(value, int | float):
            size[name] = round(value * THOUSANDTHS)
        elif isinstance(value, Quantity):
            size[name] = round(value.value * CANONICAL[value.unit.value] * THOUSANDTHS)
        elif isinstance(value, str):
            labels.append((name, value))
        elif isinstance(value, tuple | list):
            labels.extend((name, str(word)) for word in value)
    return tuple(sorted(size.items())), tuple(sorted(labels))


def place(wire: WirePlace | None) -> Place | None:
    """Where something stands; None where nothing is stated."""
    return Place(wire.region, wire.zone, wire.rack) if wire is not None else None


def places(wire: Iterable[WirePlace]) -> tuple[Place, ...]:
    """Places by name, each once, in the order in which they are told."""
    return tuple(dict.fromkeys(Place(w.region, w.zone, w.rack) for w in wire))


def problem(wire: WireProblem | ErrorData) -> Problem:
    """Why something is missing or failed."""
    scope = wire.scope or Scope()
    named = wire.limit.name if wire.limit is not None else None
    return Problem(
        error_class=wire.error_class.value,
        units=wire.units if isinstance(wire, WireProblem) else None,
        reason=wire.reason,
        detail=_detail(wire),
        retry_after_s=_wait(wire.retry_after_s),
        template=scope.template,
        place=place(scope.place),
        limit=scope.limit or named,
        whole_provider=scope.provider,
    )


def _detail(wire: WireProblem | ErrorData) -> str | None:
    """What it says for people, with every fault and every version it names; None if it says nothing."""
    said = [wire.detail] if wire.detail else []
    said += [f"{fault.path or '/'}: {fault.detail}" for fault in wire.faults]
    said += [f"it speaks {', '.join(wire.supported)}"] if wire.supported else []
    return "; ".join(said)[:DETAIL_MOST] or None


def refusal(error: ErrorData) -> Refusal:
    """An error answer; it proves that nothing was made only where the contract says so (RQ-5)."""
    return Refusal(problem(error), outcome_of(error) is Outcome.NOT_MADE)


def report(wire: WireReport) -> Report:
    """A provider's word on one purchase."""
    return Report(
        request=wire.request_id,
        token=wire.token,
        outcome=wire.outcome.value,
        instances=tuple(instance(i) for i in wire.instances),
        gone_units=wire.gone_units or 0,
        problems=tuple(problem(p) for p in wire.problems),
        poll_after_s=_wait(wire.poll_after_s),
        phase=wire.progress.phase if wire.progress is not None else None,
        eta_s=_wait(wire.progress.eta_s) if wire.progress is not None else None,
        cancelling=wire.cancelling,
    )


def instance(wire: Instance) -> SeenInstance:
    """One thing a provider told of."""
    size, labels = attributes(wire.attributes) if wire.attributes is not None else (None, None)
    charged = wire.charged
    return SeenInstance(
        provider_id=wire.instance,
        kind=Kind(wire.kind.value),
        units=wire.units,
        state=wire.state.value,
        template=wire.template,
        reason=wire.reason or "",
        name=wire.name,
        addresses=tuple((a.address, a.scope.value) for a in wire.addresses),
        place=place(wire.place),
        labels=labels,
        size=size,
        made_at=_at(wire.made_at),
        billed_from=_at(wire.billed_from),
        billed_until=_at(wire.billed_until),
        expires_at=_at(wire.expires_at),
        charged_nanos=amount_to_nanos(charged.amount) if charged is not None else None,
        notice=notice(wire.notice),
        mark=_mark(wire.mark),
    )


def instances(page: ListResult) -> tuple[SeenInstance, ...]:
    """All that a page of a list tells of."""
    return tuple(instance(i) for i in page.instances)


def notice(wire: InstanceNotice | None) -> Notice | None:
    """The strongest open warning."""
    if wire is None or wire.kind.value == "withdrawn":
        return None
    return Notice(wire.kind.value, _at(wire.deadline), wire.detail)


def _mark(wire: PartialMark | None) -> SeenMark | None:
    if wire is None:
        return None
    return SeenMark(wire.cluster, wire.lineage, wire.provider, wire.request_id, wire.token, wire.epoch)


def item_word(wire: ReturnedItem) -> ItemWord:
    """The provider's word on one item of a give-back."""
    return ItemWord(
        wire.instance, wire.state.value, wire.units, problem(wire.problem) if wire.problem is not None else None
    )


def _wait(wire: int | None) -> int | None:
    return None if wire is None else min(wire, WAIT_MOST_S)


def quote(wire: QuoteResult) -> Quote:
    """A price that may be bought at once, while it holds."""
    money = wire.price
    price = Price(amount_to_nanos(money.amount), money.currency, Per(money.per.value))
    return Quote(wire.quote, wire.units, price, parse_time(wire.valid_until), wire.held)


def extend_word(wire: ExtendedItem) -> ExtendWord:
    """The provider's word on the end of one instance."""
    return ExtendWord(wire.instance, _at(wire.expires_at), problem(wire.problem) if wire.problem is not None else None)


def _at(wire: str | None) -> float | None:
    return parse_time(wire) if wire is not None else None
