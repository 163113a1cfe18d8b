"""How a plan becomes facts: purchases with their tokens, wishes to owners, give-backs, and the decisions that explain
them.

Every commit of the planner moves its head record, so that a late one is refused. It must not judge the plan.
"""

import math

from attrs import evolve
from immutables import Map

from provisioner.core import answers, quoting
from provisioner.core.events import Moment
from provisioner.core.evolve import Draft
from provisioner.core.facts import (
    DecisionFact,
    FactKind,
    HeadFact,
    RequestFact,
    ReturnFact,
    WishFact,
    WishKind,
)
from provisioner.core.ids import decision_id, drain_id, request_id, return_id, token_of
from provisioner.core.lease import PLANNER
from provisioner.core.model import Drain, Rejected, ReturnItem, Share
from provisioner.core.policy.plan import plan
from provisioner.core.policy.quotes import quote_id
from provisioner.core.policy.words import Cancel, DrainChoice, GiveBack, Plan, Purchase, ReopenChoice
from provisioner.core.reasons import Reason
from provisioner.core.request import RequestTrigger
from provisioner.core.settings import Settings
from provisioner.core.world import LineStatus, PlanView, World

SEND_WITHIN_S = 120.0
DEADLINE_S, DEADLINE_MOST_S = 900.0, 30 * 86_400.0
"""A purchase not sent within the first is dropped; nothing may be made for it after the second, or after twice its
longest lead time up to the third, all from its planning."""


def plan_pass(draft: Draft, now: Moment, settings: Settings) -> Draft:
    """The draft after one planner pass; without any change it writes nothing, not even its head."""
    found = plan(draft.world, settings, now)
    before = draft
    draft = _recorded(draft, found, now)
    if draft.changes != before.changes:
        draft = _head_moved(draft)
    draft = quoting.wished(draft, found.quotes)
    before_s = draft.world.seen.unneeded_since
    return draft.see(
        evolve(
            draft.world.seen,
            unneeded_since=Map({i: before_s.get(i, now.boot_s) for i in found.unneeded}),
            plan=PlanView(
                last_boot_s=now.boot_s, wanted=False, at_once=False, wake_boot_s=found.wake_boot_s, lines=found.lines
            ),
        )
    )


def planning_at(world: World, settings: Settings) -> float:
    """When the next pass is due, by the boot clock: at once for the first event, then one per least pause, at the
    latest by the tick."""
    view = world.seen.plan
    if view.last_boot_s is None or (view.wanted and view.at_once):
        return 0.0
    soonest = view.last_boot_s + settings.policy.min_interval_s
    if view.wanted:
        return soonest
    latest = view.last_boot_s + settings.policy.tick_s
    return latest if view.wake_boot_s is None else max(soonest, min(latest, view.wake_boot_s))


def _recorded(draft: Draft, found: Plan, now: Moment) -> Draft:
    for drop in found.drops:
        draft = _drop(draft, drop.request, drop.reason, now)
    for n, cancel in enumerate(found.cancels):
        draft = _cancel(draft, cancel, n, now)
    for n, reopen in enumerate(found.reopens):
        draft = _reopen(draft, reopen, n, now)
    for n, purchase in enumerate(found.purchases):
        draft = _buy(draft, purchase, n, now)
    for n, choice in enumerate(found.drains):
        draft = _drain(draft, choice, n, now)
    for n, giveback in enumerate(found.returns):
        draft = _give_back(draft, giveback, n, now)
    return _explain_open(draft, found.lines, now)


def _head_moved(draft: Draft) -> Draft:
    head = draft.world.head
    epoch = draft.world.seen.epochs.get(PLANNER, 0)
    return draft.put(FactKind.HEAD, PLANNER, HeadFact(n=(head.n if head is not None else 0) + 1, epoch=epoch))


def _drop(draft: Draft, request: str, reason: Reason, now: Moment) -> Draft:
    fact = draft.world.open_requests.get(request)
    if fact is None:
        return draft
    return answers.move_request(draft, fact, RequestTrigger.UNWANTED, now, reason.sentence())


def _cancel(draft: Draft, choice: Cancel, n: int, now: Moment) -> Draft:
    """What was sent is its owner's to end: the planner only wishes it."""
    id, decision = f"{WishKind.CANCEL}.{choice.request}", decision_id(f"{now.seed}/cancel-{n}", 0)
    request = draft.world.open_requests.get(choice.request)
    if request is None or id in draft.world.wishes:
        return draft
    why = DecisionFact(
        id=decision,
        at=now.at,
        what="cancel",
        subject=choice.request,
        reason=choice.reason,
        lines=request.shares,
        provider=request.provider,
        template=request.template,
        units=max(request.units - request.made_units, 0),
    )
    wish = WishFact(WishKind.CANCEL, choice.request, choice.reason, now.at)
    return draft.put(FactKind.WISH, id, wish).put(FactKind.DECISION, decision, why)


def _buy(draft: Draft, purchase: Purchase, n: int, now: Moment) -> Draft:
    id, decision = request_id(now.seed, n), decision_id(now.seed, n)
    fact = RequestFact(
        id=id,
        provider=purchase.provider,
        template=purchase.template,
        kind=purchase.kind,
        token=token_of(id, 1),
        units=purchase.units,
        min_units=purchase.min_units,
        consumer=purchase.consumer,
        shares=purchase.shares,
        terms=purchase.terms,
        reserve_nanos=purchase.reserve_nanos,
        price_cap=purchase.price_cap,
        planned_at=now.at,
        send_by=_send_by(draft.world, purchase, now),
        deadline_at=now.at + min(max(DEADLINE_S, float(2 * purchase.terms.lead_worst_s)), DEADLINE_MOST_S),
        decision=decision,
        state_at=now.at,
        reason=purchase.reason.sentence(),
        quote=purchase.quote,
    )
    if purchase.quote is not None:
        draft = quoting.used(draft, purchase.provider, purchase.template)
    why = DecisionFact(
        id=decision,
        at=now.at,
        what="buy",
        subject=id,
        reason=purchase.reason,
        lines=purchase.shares,
        provider=purchase.provider,
        template=purchase.template,
        units=purchase.units,
        rejected=purchase.rejected,
    )
    return draft.put(FactKind.REQUEST, id, fact).put(FactKind.DECISION, decision, why)


def _send_by(world: World, purchase: Purchase, now: Moment) -> float:
    """Until when it is worth sending: a quote that has lapsed buys nothing."""
    view = world.seen.quotes.get(quote_id(purchase.provider, purchase.template))
    lapses_at = view.valid_until if view is not None and purchase.quote is not None else math.inf
    return min(now.at + SEND_WITHIN_S, lapses_at)


def _drain(draft: Draft, choice: DrainChoice, n: int, now: Moment) -> Draft:
    id = f"{WishKind.DRAIN}.{choice.instance}"
    if id in draft.world.wishes:
        return draft
    drain = Drain(
        id=drain_id(now.seed, choice.instance),
        kind=choice.kind,
        reason=choice.reason.why.value,
        asked_at=now.at,
        deadline_at=choice.deadline_at,
    )
    wish = WishFact(WishKind.DRAIN, choice.instance, choice.reason, now.at, drain)
    return _wished(draft, id, wish, "drain", f"drain-{n}", now)


def _reopen(draft: Draft, choice: ReopenChoice, n: int, now: Moment) -> Draft:
    id = f"{WishKind.REOPEN}.{choice.instance}"
    if id in draft.world.wishes:
        return draft
    wish = WishFact(WishKind.REOPEN, choice.instance, choice.reason, now.at)
    return _wished(draft, id, wish, "reopen", f"reopen-{n}", now)


def _wished(draft: Draft, id: str, wish: WishFact, what: str, ordinal: str, now: Moment) -> Draft:
    decision = decision_id(f"{now.seed}/{ordinal}", 0)
    instance = draft.world.live.get(wish.target)
    fact = DecisionFact(
        id=decision,
        at=now.at,
        what=what,
        subject=wish.target,
        reason=wish.reason,
        lines=instance.shares if instance is not None else (),
        provider=instance.provider if instance is not None else None,
        template=instance.template if instance is not None else None,
    )
    return draft.put(FactKind.WISH, id, wish).put(FactKind.DECISION, decision, fact)


def _give_back(draft: Draft, choice: GiveBack, n: int, now: Moment) -> Draft:
    """One give-back for named instances; one that has an open give-back is left to it."""
    instances = [draft.world.live[i] for i in choice.instances if i in draft.world.live]
    instances = [i for i in instances if i.return_id is None and i.provider == choice.provider]
    if not instances:
        return draft
    id = return_id(now.seed, n)
    items = tuple(ReturnItem(i.id, i.provider_id) for i in instances)
    draft = draft.put(FactKind.RETURN, id, ReturnFact(id, choice.provider, items, choice.why, now.at, state_at=now.at))
    for instance in instances:
        draft = draft.put(FactKind.INSTANCE, instance.id, evolve(instance, return_id=id))
    decision = decision_id(f"{now.seed}/return-{n}", 0)
    fact = DecisionFact(
        id=decision,
        at=now.at,
        what="return",
        subject=id,
        reason=choice.reason,
        lines=tuple(dict.fromkeys(s for i in instances for s in i.shares)),
        provider=choice.provider,
        units=len(instances),
    )
    return draft.put(FactKind.DECISION, decision, fact)


def _explain_open(draft: Draft, lines: tuple[LineStatus, ...], now: Moment) -> Draft:
    """A decision not to buy is recorded when its reason is news, not at every pass."""
    before = {(s.source, s.line): s for s in draft.world.seen.plan.lines}
    for n, status in enumerate(lines):
        was = before.get((status.source, status.line))
        if status.open == 0 or (was is not None and was.open > 0 and was.reason.why == status.reason.why):
            continue
        id = decision_id(f"{now.seed}/open-{n}", 0)
        fact = DecisionFact(
            id=id,
            at=now.at,
            what="nothing",
            subject=f"{status.source}/{status.line}",
            reason=status.reason,
            lines=(Share(status.source, status.line, status.open),),
            rejected=_few(status.rejected),
        )
        draft = draft.put(FactKind.DECISION, id, fact)
    return draft


def _few(rejected: tuple[Rejected, ...], most: int = 20) -> tuple[Rejected, ...]:
    return rejected[:most]
