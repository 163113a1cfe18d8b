"""Small worlds for tests of policy: facts with sensible defaults, folded as the engine folds them."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve
from immutables import Map

from provisioner.core.events import Moment
from provisioner.core.evolve import fold
from provisioner.core.facts import (
    Change,
    DemandFact,
    DescriptionFact,
    Fact,
    FactKind,
    HealthFact,
    InstanceFact,
    Key,
    RequestFact,
    SupplyFact,
)
from provisioner.core.instance import InstanceState
from provisioner.core.model import (
    Amounts,
    Drain,
    DrainKind,
    EntryState,
    Kind,
    Line,
    Per,
    Price,
    Promises,
    Share,
    SupplyEntry,
    Template,
    Terms,
)
from provisioner.core.money import NANOS
from provisioner.core.policy.words import Plan, Purchase
from provisioner.core.process import ProcessState
from provisioner.core.request import RequestState
from provisioner.core.settings import (
    Consumer,
    PolicySettings,
    ProviderSettings,
    Settings,
    SourceSettings,
    SqliteController,
)
from provisioner.core.world import Heard, ProcessView, Seen, World

AT = 1_900_000_000.0
BOOT_S = 500_000.0
SOURCE = "lsf"
EAST, WEST = "east", "west"
GIB = 1 << 30
Record = tuple[FactKind, str, Fact]


def moment(after_s: float = 0.0) -> Moment:
    return Moment(at=AT + after_s, boot_s=BOOT_S + after_s, seed=f"seed-{after_s}")


def amounts(**each: float) -> Amounts:
    """Canonical units: cores, GiB of memory, pieces."""
    factor = {"memory": GIB, "disk": GIB}
    return tuple(sorted((name, round(n * factor.get(name, 1) * 1000)) for name, n in each.items()))


def usd(amount: float, per: Per = Per.HOUR, once: float = 0.0) -> Price:
    return Price(round(amount * NANOS), "USD", per, round(once * NANOS))


def template(name: str = "small", price: float | None = 1.0, cores: float = 4, **more: Any) -> Template:
    defaults: dict[str, Any] = {
        "kind": Kind.HOST,
        "unit": "machine",
        "units_per_instance": 1,
        "size": amounts(cores=cores),
        "max_units": 100,
        "price": None if price is None else usd(price),
        "lead_typical_s": 60,
        "lead_worst_s": 180,
    }
    return Template(template=name, **(defaults | more))


def grant_template(name: str = "abaqus", price: float | None = 2.0, **more: Any) -> Template:
    priced = None if price is None else usd(price, Per.UNIT_HOUR)
    defaults: dict[str, Any] = {"kind": Kind.GRANT, "unit": "token", "units_per_instance": None, "size": ()}
    return evolve(template(name, **(defaults | more)), price=priced)


def described(*templates: Template, promises: Promises | None = None, limits: tuple[Any, ...] = ()) -> DescriptionFact:
    exact = Promises(token_replay="exact")
    return DescriptionFact(
        provider_name="simulated",
        provider_version="1",
        kinds=("host", "grant"),
        capabilities=(),
        promises=promises or exact,
        revision="r1",
        digest="d1",
        read_at=AT,
        templates=templates,
        limits=limits,
    )


def settings(*providers: str, policy: PolicySettings | None = None, **more: Any) -> Settings:
    entries: Mapping[str, ProviderSettings] = {name: provider(name) for name in providers or (EAST,)}
    defaults: dict[str, Any] = {
        "cluster": "c1",
        "controller": SqliteController(path="/facts.db"),
        "providers": entries,
        "sources": {SOURCE: SourceSettings()},
        "consumers": {"default": Consumer(exclusive=False)},
        "policy": policy or PolicySettings(),
    }
    return Settings(**(defaults | more))


def provider(name: str, **more: Any) -> ProviderSettings:
    return ProviderSettings(name=name, command=("p",), **more)


def line(id: str = "queue", count: int = 1, each: Amounts | None = None, **more: Any) -> Line:
    bundle = amounts(cores=1) if each is None else each
    return Line(id=id, kind=more.pop("kind", Kind.HOST), count=count, each=bundle, **more)


def grant_line(id: str = "tokens", count: int = 1, resource: str = "abaqus", **more: Any) -> Line:
    return Line(id=id, kind=Kind.GRANT, count=count, resource=resource, **more)


def demand(
    *lines: Line, source: str = SOURCE, revision: int = 1, counted: int | None = 1, incarnation: int = 0
) -> Record:
    return FactKind.DEMAND, source, DemandFact(incarnation, revision, counted, AT, lines)


def supply(*entries: SupplyEntry, source: str = SOURCE, revision: int = 1, pushed_after_s: float = 0.0) -> Record:
    return FactKind.SUPPLY, source, SupplyFact(0, revision, AT + pushed_after_s, entries, digest="x")


def entry(
    instance: str, state: EntryState = EntryState.IDLE, *, rev: int = 1, after_s: float = 0.0, **more: Any
) -> SupplyEntry:
    """`rev` and `after_s`: in which snapshot, and when, it joined."""
    defaults: dict[str, Any] = {"since": AT + after_s, "drain": None, "joined_rev": (0, rev), "joined_at": AT + after_s}
    return SupplyEntry(instance=instance, name=instance, state=state, **(defaults | more))


def terms(of: Template) -> Terms:
    size = tuple((name, n * 925 // 1000 if name == "memory" else n) for name, n in of.size)
    return Terms(
        price=of.price,
        billing=of.billing,
        hold_min_s=of.hold_min_s,
        size=size,
        labels=of.labels,
        place=of.place,
        units_per_instance=of.units_per_instance,
        lead_typical_s=of.lead_typical_s,
        lead_worst_s=of.lead_worst_s,
    )


def request(
    id: str = "rq-1",
    units: int = 1,
    state: RequestState = RequestState.PLANNED,
    of: Template | None = None,
    shares: tuple[Share, ...] = (Share(SOURCE, "queue", 4),),
    after_s: float = 0.0,
    **more: Any,
) -> Record:
    bought = of or template()
    defaults: dict[str, Any] = {
        "provider": EAST,
        "min_units": 1,
        "consumer": "default",
        "reserve_nanos": 0,
        "price_cap": bought.price,
        "planned_at": AT + after_s,
        "send_by": AT + after_s + 120,
        "deadline_at": AT + after_s + 900,
        "decision": "dc-1",
        "state": state,
        "state_at": AT + after_s,
        "sent_at": None if state is RequestState.PLANNED else AT + after_s,
    }
    fact = RequestFact(
        id=id,
        template=bought.template,
        kind=bought.kind,
        token=f"tk-{id}",
        units=units,
        shares=shares,
        terms=terms(bought),
        **(defaults | more),
    )
    return FactKind.REQUEST, id, fact


def instance(
    id: str = "in-1",
    state: InstanceState = InstanceState.RUNNING,
    of: Template | None = None,
    shares: tuple[Share, ...] = (Share(SOURCE, "queue", 4),),
    after_s: float = 0.0,
    **more: Any,
) -> Record:
    bought = of or template()
    defaults: dict[str, Any] = {
        "provider": EAST,
        "request": None,
        "units": 1,
        "consumer": "default",
        "requested_at": AT + after_s,
        "made_at": AT + after_s,
        "state_at": AT + after_s,
        "running_at": AT + after_s if state is InstanceState.RUNNING else None,
        "size": terms(bought).size,
        "labels": bought.labels,
        "place": bought.place,
    }
    merged = defaults | more
    if "units_made" in {a.name for a in InstanceFact.__attrs_attrs__}:
        merged.setdefault("units_made", merged["units"])
    fact = InstanceFact(
        id=id,
        provider_id=f"p-{id}",
        kind=bought.kind,
        template=bought.template,
        token=f"tk-{id}",
        shares=shares,
        terms=terms(bought),
        state=state,
        **merged,
    )
    return FactKind.INSTANCE, id, fact


def ask_drain(id: str = "dr-1", asked_after_s: float = 0.0, kind: DrainKind = DrainKind.ASK) -> Drain:
    return Drain(id=id, kind=kind, reason="idle", asked_at=AT + asked_after_s)


def health(until_s: float | None = 60.0, **more: Any) -> HealthFact:
    until = None if until_s is None else AT + until_s
    defaults: dict[str, Any] = {"failures": 1, "error_class": "no_capacity", "detail": "", "since": AT, "until": until}
    return HealthFact(**(defaults | more))


def world(
    *records: Record,
    offers: Mapping[str, DescriptionFact] | None = None,
    heard_at_boot_s: float | None = BOOT_S,
    idle_since: Mapping[str, float] | None = None,
    unneeded_since: Mapping[str, float] | None = None,
    states: Mapping[str, ProcessState] | None = None,
) -> World:
    """A world in which all sources were heard just now and have been fresh for a day, and all providers are ready."""
    offered = {EAST: described(template())} if offers is None else offers
    sources = {id for kind, id, _ in records if kind in (FactKind.DEMAND, FactKind.SUPPLY)}
    views = {
        name: ProcessView(state=(states or {}).get(name, ProcessState.READY), number=1, described_boot_s=BOOT_S - 10)
        for name in offered
    }
    heard = Heard(demand_boot_s=heard_at_boot_s, supply_boot_s=heard_at_boot_s, fresh_since_boot_s=BOOT_S - 86_400)
    seen = Seen(
        started_boot_s=BOOT_S - 86_400,
        processes=Map(views),
        heard=Map(dict.fromkeys(sources, heard)),
        idle_since=Map(idle_since or {}),
        unneeded_since=Map(unneeded_since or {}),
    )
    empty = World("c1", "l-1", seen=seen)
    described_records = [(FactKind.DESCRIPTION, name, fact) for name, fact in offered.items()]
    return with_facts(empty, *described_records, *records)


def with_facts(before: World, *records: Record) -> World:
    return fold(before, [Change(Key(kind, id), value) for kind, id, value in records])


def heard_again(before: World, after_s: float) -> World:
    """The same world, its sources heard (again) that much later."""
    later = {
        source: evolve(was, demand_boot_s=BOOT_S + after_s, supply_boot_s=BOOT_S + after_s)
        for source, was in before.seen.heard.items()
    }
    return evolve(before, seen=evolve(before.seen, heard=Map(later)))


def planned(before: World, found: Plan, after_s: float = 0.0) -> World:
    """The world with the plan's purchases as planned requests and its drops gone."""
    records = [_planned(purchase, f"rq-{after_s}-{n}", after_s) for n, purchase in enumerate(found.purchases)]
    dropped = [
        (FactKind.REQUEST, drop.request, evolve(before.requests[drop.request], state=RequestState.CANCELLED))
        for drop in found.drops
    ]
    return with_facts(before, *records, *dropped)


def _planned(purchase: Purchase, id: str, after_s: float) -> Record:
    fact = RequestFact(
        id=id,
        provider=purchase.provider,
        template=purchase.template,
        kind=purchase.kind,
        token=f"tk-{id}",
        units=purchase.units,
        min_units=purchase.min_units,
        consumer=purchase.consumer,
        shares=purchase.shares,
        terms=purchase.terms,
        reserve_nanos=purchase.reserve_nanos,
        price_cap=purchase.price_cap,
        planned_at=AT + after_s,
        send_by=AT + after_s + 120,
        deadline_at=AT + after_s + 900,
        decision="dc",
        state_at=AT + after_s,
    )
    return FactKind.REQUEST, id, fact


def bought(found: Plan) -> list[tuple[str, str, int]]:
    return [(p.provider, p.template, p.units) for p in found.purchases]


def standing(found: Plan, id: str = "queue") -> tuple[int, int, int]:
    """(met, in flight, open) of one line."""
    [status] = [s for s in found.lines if s.line == id]
    return status.met, status.in_flight, status.open


def is_quiet(found: Plan) -> bool:
    return not (found.purchases or found.drops or found.drains or found.reopens or found.returns)


def shares_by_line(purchases: Iterable[Purchase]) -> dict[str, int]:
    total: dict[str, int] = {}
    for purchase in purchases:
        for share in purchase.shares:
            total[share.line] = total.get(share.line, 0) + share.units
    return total
