"""How a source's snapshots are taken in: order of (incarnation, revision), heartbeats, and the demand side of it.

The supply side is in intake_supply.py. It must not know what is bought for a line.
"""

from attrs import evolve

from provisioner.core.events import DemandPushed, Moment
from provisioner.core.evolve import Accepted, Draft, RefusedPush
from provisioner.core.facts import DemandFact, FactKind
from provisioner.core.settings import Settings
from provisioner.core.world import Heard, PlanView

Order = tuple[int, int]


def take_demand(draft: Draft, event: DemandPushed, now: Moment, settings: Settings) -> Draft:
    """The draft with the newer demand, or a heartbeat, or a refusal that names what stands."""
    present = draft.world.demands.get(event.source)
    standing = None if present is None else (present.incarnation, present.revision)
    if present is not None and standing is not None:
        order = (event.incarnation, event.revision)
        refusal = refused(event.source, order, standing, equal=_same(present, event), what="demand")
        if refusal is not None:
            return draft.reply(refusal)
    draft = heard(draft, event.source, now, settings, demand=True)
    if standing == (event.incarnation, event.revision):
        return draft.reply(Accepted(event.source, event.incarnation, event.revision, news=False))
    fact = DemandFact(event.incarnation, event.revision, event.supply_revision, now.at, event.lines)
    draft = draft.put(FactKind.DEMAND, event.source, fact).reply(
        Accepted(event.source, event.incarnation, event.revision, news=True)
    )
    return want_plan(draft)


def refused(source: str, order: Order, standing: Order, *, equal: bool, what: str) -> RefusedPush | None:
    """Why a push does not count: older than what stands, or the same revision with other content; None if it does."""
    if order < standing:
        return RefusedPush(source, "stale_revision", *standing, what)
    if order == standing and not equal:
        return RefusedPush(source, "revision_reused", *standing, what)
    return None


def heard(draft: Draft, source: str, now: Moment, settings: Settings, *, demand: bool) -> Draft:
    """The draft in which the source was just heard; a gap longer than `fresh_for` starts its freshness anew, and a
    plan."""
    seen = draft.world.seen
    before = seen.heard.get(source)
    last = None if before is None else max(before.demand_boot_s or 0.0, before.supply_boot_s or 0.0)
    limit = settings.source(source).fresh_for_s
    unbroken = last is not None and (limit is None or now.boot_s - last <= limit)
    kept = before if before is not None else Heard()
    now_heard = Heard(
        demand_boot_s=now.boot_s if demand else kept.demand_boot_s,
        supply_boot_s=kept.supply_boot_s if demand else now.boot_s,
        fresh_since_boot_s=kept.fresh_since_boot_s if unbroken else now.boot_s,
    )
    first_of_its_kind = (kept.demand_boot_s if demand else kept.supply_boot_s) is None
    draft = draft.see(evolve(seen, heard=seen.heard.set(source, now_heard)))
    return draft if unbroken and not first_of_its_kind else want_plan(draft)


def want_plan(draft: Draft, *, at_once: bool = False) -> Draft:
    """The draft in which a planner pass is wanted; `at_once` passes over the least pause between two."""
    plan = draft.world.seen.plan
    if plan.wanted and (plan.at_once or not at_once):
        return draft
    wanted: PlanView = evolve(plan, wanted=True, at_once=plan.at_once or at_once)
    return draft.see(evolve(draft.world.seen, plan=wanted))


def _same(present: DemandFact, event: DemandPushed) -> bool:
    return present.lines == event.lines and present.supply_revision == event.supply_revision
