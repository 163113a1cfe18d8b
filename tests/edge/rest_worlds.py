"""Small worlds for the tests of the REST interface: facts as a running daemon would hold them, built by hand."""

from collections.abc import Iterable

from attrs import evolve
from immutables import Map

from provisioner.core.events import Moment
from provisioner.core.evolve import fold
from provisioner.core.facts import (
    Change,
    DecisionFact,
    DescriptionFact,
    Fact,
    FactKind,
    HealthFact,
    InstanceFact,
    Key,
    ProcessFact,
    RequestFact,
    ReturnFact,
    SupplyFact,
)
from provisioner.core.instance import InstanceState
from provisioner.core.model import (
    Drain,
    DrainKind,
    EntryState,
    Kind,
    Per,
    Place,
    Price,
    Problem,
    Promises,
    Rejected,
    ReturnItem,
    Share,
    SupplyEntry,
    Template,
    Terms,
)
from provisioner.core.process import ProcessState
from provisioner.core.provider_settings import ProviderSettings, TemplateOverride
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import RequestState
from provisioner.core.settings import Listen, Settings, SourceSettings, SqliteController
from provisioner.core.world import Heard, ListView, ProcessView, Seen, World

NOW = Moment(at=1_900_000_000.0, boot_s=5_000.0, seed="seed")
HOUR = 3600.0
DOLLAR = Price(1_000_000_000, "USD", Per.HOUR)


def settings_for(*, socket: str | None = "/nowhere.sock", listen: Listen | None = None) -> Settings:
    """Two providers, one of them with an override; a source that is trusted for ever."""
    override = TemplateOverride(pattern="small", price=Price(2_000_000_000, "USD", Per.HOUR), max_units=5)
    return Settings(
        cluster="clu",
        controller=SqliteController(path="/nowhere/facts.db"),
        listen=listen if listen is not None else Listen(socket=socket),
        sources={"ops": SourceSettings(fresh_for_s=None)},
        providers={
            "east": ProviderSettings(name="east", command=("provider",), templates=(override,)),
            "west": ProviderSettings(name="west", command=("provider",)),
        },
    )


def instance(id: str, *, state: InstanceState = InstanceState.RUNNING, price: Price | None = DOLLAR) -> InstanceFact:
    """A host of east bought for lsf/queue an hour ago."""
    return InstanceFact(
        id=id,
        provider="east",
        provider_id=f"i-{id}",
        kind=Kind.HOST,
        template="small",
        token=f"tk-{id}",
        request="rq-one",
        units=1,
        units_made=1,
        consumer="default",
        shares=(Share("lsf", "queue", 4),),
        terms=Terms(price=price, size=(("cores", 4_000), ("memory", 16 * 2**30 * 925)), labels=(("arch", "x86_64"),)),
        requested_at=NOW.at - HOUR,
        made_at=NOW.at - HOUR + 10,
        state=state,
        state_at=NOW.at - HOUR + 10,
        labels=(("image", "a"), ("image", "b")),
        size=(("memory", 16 * 2**30 * 1000),),
        place=Place(region="r", zone="r-a"),
        name=f"host-{id}",
        addresses=(("10.0.0.1", "private"),),
        running_at=NOW.at - HOUR + 20,
        gone_at=NOW.at - HOUR / 2 if state is InstanceState.GONE else None,
    )


def entry(instance: str, state: EntryState, *, drain: str | None = None) -> SupplyEntry:
    """What lsf says of an instance, as it stood for ten minutes."""
    return SupplyEntry(instance, f"host-{instance}", state, NOW.at - 600, drain, (0, 1), NOW.at - 3000)


def purchase(id: str, *, state: RequestState = RequestState.FULFILLED) -> RequestFact:
    """A purchase of two hosts of east."""
    return RequestFact(
        id=id,
        provider="east",
        template="small",
        kind=Kind.HOST,
        token=f"tk-{id}",
        units=2,
        min_units=1,
        consumer="default",
        shares=(Share("lsf", "queue", 8),),
        terms=Terms(price=DOLLAR, lead_typical_s=60),
        reserve_nanos=2_500_000_000 if state is not RequestState.FULFILLED else 0,
        price_cap=DOLLAR,
        planned_at=NOW.at - 100,
        send_by=NOW.at + 20,
        deadline_at=NOW.at + 800,
        decision="dc-one",
        state=state,
        state_at=NOW.at - 90,
        sent_at=NOW.at - 90,
        problems=(Problem("no_capacity", units=1, reason="sold out"),),
    )


def giveback(id: str, instance: str, *, planned_at: float = NOW.at - 60) -> ReturnFact:
    """An open give-back of one instance."""
    return ReturnFact(id, "east", (ReturnItem(instance, f"i-{instance}"),), "idle", planned_at, state_at=planned_at)


def decision(id: str, at: float, subject: str) -> DecisionFact:
    """A purchase for lsf/queue."""
    return DecisionFact(
        id=id,
        at=at,
        what="buy",
        subject=subject,
        reason=Reason(Why.CHEAPEST, "small of east"),
        lines=(Share("lsf", "queue", 4),),
        provider="east",
        template="small",
        units=1,
        rejected=(Rejected("west", "big", Why.CAPACITY.value, "0 left"),),
    )


TEMPLATE = Template(
    template="small", kind=Kind.HOST, unit="machine", units_per_instance=1, size=(("cores", 4_000),), price=DOLLAR,
    max_units=10, capacity_max=50,
)  # fmt: skip


def with_facts(world: World, facts: Iterable[tuple[FactKind, str, Fact]]) -> World:
    """The world with these facts in it."""
    return fold(world, (Change(Key(kind, id), fact) for kind, id, fact in facts))


def with_instances(world: World, *instances: InstanceFact) -> World:
    """The world with these instances in it."""
    return with_facts(world, ((FactKind.INSTANCE, i.id, i) for i in instances))


def empty_world() -> World:
    """A daemon that has just started."""
    return World("clu", "l-1", seen=Seen(started_boot_s=4_000.0))


def lively_world() -> World:
    """One of everything: hosts busy, draining, coming, gone, of unknown price, and what led to them."""
    drain = Drain("dr-1", DrainKind.ASK, "idle", NOW.at - 30)
    draining = evolve(instance("in-b"), drain=drain)
    returning = evolve(instance("in-c", state=InstanceState.RETURNING), return_id="rt-one", reason="idle")
    coming = evolve(instance("in-d", state=InstanceState.BOOTING), running_at=None)
    gone, unpriced = instance("in-e", state=InstanceState.GONE), instance("in-f", price=None)
    entries = (entry("in-a", EntryState.BUSY), entry("in-b", EntryState.DRAINED, drain="dr-1"))
    description = DescriptionFact(
        "sim", "1.0", ("host",), (), Promises(), "r1", "d1", NOW.at, templates=(TEMPLATE,)
    )  # fmt: skip
    world = with_instances(empty_world(), instance("in-a"), draining, returning, coming, gone, unpriced)
    world = with_facts(
        world,
        (
            (FactKind.SUPPLY, "lsf", SupplyFact(0, 7, NOW.at - 5, entries, "digest")),
            (FactKind.REQUEST, "rq-one", purchase("rq-one")),
            (FactKind.REQUEST, "rq-two", purchase("rq-two", state=RequestState.TAKEN)),
            (FactKind.RETURN, "rt-one", giveback("rt-one", "in-c")),
            (FactKind.DECISION, "dc-one", decision("dc-one", NOW.at - 100, "rq-one")),
            (FactKind.DECISION, "dc-two", decision("dc-two", NOW.at - 90, "rq-two")),
            (FactKind.DESCRIPTION, "east", description),
            (FactKind.HEALTH, "east/big", HealthFact(3, "no_capacity", "none", NOW.at - 60, NOW.at + 600)),
            (FactKind.HEALTH, "west/*", HealthFact(10, "bad_params", "no", NOW.at - 60, None, parked=True)),
            (FactKind.PROCESS, "east", ProcessFact(1, 1, 4242, 1, "boot", NOW.at - 900)),
        ),
    )
    ready = ProcessView(state=ProcessState.READY, number=1, is_running=True, described_boot_s=4_100.0)
    waiting = ProcessView(state=ProcessState.BACKING_OFF, number=3, wait_until_boot_s=5_030.0, last_end="exit status 1")
    seen = evolve(
        world.seen,
        processes=Map({"east": ready, "west": waiting}),
        heard=Map({"lsf": Heard(demand_boot_s=None, supply_boot_s=4_995.0)}),
        lists=Map({"east": ListView(complete_begun_boot_s=4_990.0, strangers=("i-stray",))}),
    )
    return evolve(world, seen=seen)
