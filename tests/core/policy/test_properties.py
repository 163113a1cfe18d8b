"""What holds for every world: demand is conserved, plans repeat themselves, and settled input asks for nothing more."""

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from provisioner.core.facts import FactKind, InstanceFact, RequestFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import Draw, EntryState, Kind, Line, Share, SharedLimit, Template
from provisioner.core.policy.plan import plan
from provisioner.core.policy.words import Plan
from provisioner.core.request import OPEN, RequestState
from provisioner.core.world import World
from tests.core.policy import builders as b

COUNTS = st.integers(0, 40)
BUNDLES = st.sampled_from(
    [
        (),
        b.amounts(cores=1),
        b.amounts(cores=3),
        b.amounts(cores=2, memory=7),
        b.amounts(cores=1, memory=20),
        b.amounts(cores=99),
    ]
)
CONSUMERS = st.sampled_from(["default", "default", "asic", "dv"])
OFFERS = st.lists(
    st.builds(
        b.template,
        name=st.sampled_from(["a", "b", "c", "d"]),
        price=st.sampled_from([None, 1.0, 2.5, 7.0]),
        size=st.sampled_from(
            [b.amounts(cores=4, memory=16), b.amounts(cores=16, memory=32), b.amounts(cores=2, memory=64)]
        ),
        capacity_max=st.sampled_from([None, 0, 3, 10]),
        max_units=st.sampled_from([4, 100]),
        min_units=st.sampled_from([1, 1, 3]),
        priority=st.sampled_from([0, 0, 5]),
        draws=st.sampled_from([(), (Draw("q", 4),)]),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda t: t.template,
)


@st.composite
def lines(draw: st.DrawFn) -> tuple[Line, ...]:
    found = []
    for n in range(draw(st.integers(0, 5))):
        each = draw(BUNDLES)
        found.append(
            b.line(
                f"l{n}",
                draw(COUNTS),
                each,
                alone=draw(st.booleans()),
                consumer=draw(CONSUMERS),
                priority=draw(st.sampled_from([None, 3])),
            )
        )
    return tuple(found)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    templates = draw(OFFERS)
    described = b.described(*templates, limits=(SharedLimit("q", "quota", most=draw(st.sampled_from([20, 400]))),))
    records: list[b.Record] = [b.demand(*draw(lines()), counted=draw(st.sampled_from([None, 5])))]
    entries = []
    for n in range(draw(st.integers(0, 6))):
        state = draw(st.sampled_from(list(InstanceState)))
        drain = draw(st.sampled_from([None, None, b.ask_drain(f"dr-{n}")]))
        shares = (Share(b.SOURCE, f"l{draw(st.integers(0, 5))}", 2),)
        of = draw(st.sampled_from(templates))
        records.append(
            b.instance(
                f"in-{n}",
                state,
                of,
                shares,
                consumer=draw(CONSUMERS),
                drain=drain,
                after_s=-draw(st.sampled_from([5, 2000])),
            )
        )
        said = draw(st.sampled_from([None, *EntryState]))
        if said is not None:
            entries.append(
                b.entry(f"in-{n}", said, rev=draw(st.integers(4, 6)), drain=draw(st.sampled_from([None, f"dr-{n}"])))
            )
    for n in range(draw(st.integers(0, 4))):
        shares = (Share(b.SOURCE, f"l{draw(st.integers(0, 5))}", draw(st.integers(1, 9))),)
        state_of = draw(st.sampled_from(sorted(OPEN)))
        of = draw(st.sampled_from(templates))
        records.append(b.request(f"rq-{n}", draw(st.integers(1, 5)), state_of, of, shares, consumer=draw(CONSUMERS)))
    return b.world(
        *records,
        b.supply(*entries, revision=6),
        offers={b.EAST: described},
        idle_since={f"in-{n}": b.BOOT_S - 5000 for n in range(6)},
    )


@given(worlds())
@settings(max_examples=100, deadline=None)
def test_demand_is_conserved_in_every_world(world: World) -> None:
    found = plan(world, b.settings(), b.moment(1.0))
    asked = {line.id: line.count for line in world.demands[b.SOURCE].lines}
    assert {status.line: status.count for status in found.lines} == asked
    for status in found.lines:
        assert status.count == status.met + status.in_flight + status.open
        assert min(status.met, status.in_flight, status.open) >= 0


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_no_plan_passes_capacity_or_a_shared_limit(world: World) -> None:
    description = world.descriptions[b.EAST]
    found = plan(world, b.settings(), b.moment(1.0))
    drawn = 0
    for template in description.templates:
        held = sum(i.units for i in world.live.values() if i.template == template.template)
        held += sum(r.units - r.made_units for r in world.open_requests.values() if r.template == template.template)
        new = sum(p.units for p in found.purchases if p.template == template.template)
        assert new == 0 or template.capacity_max is None or held + new <= template.capacity_max
        assert all(1 <= p.units <= template.max_units for p in found.purchases if p.template == template.template)
        drawn += sum(d.amount * (held + new) for d in template.draws) if new else 0
    assert drawn <= description.limits[0].most


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_equal_worlds_give_equal_plans(world: World) -> None:
    assert plan(world, b.settings(), b.moment(1.0)) == plan(evolve(world), b.settings(), b.moment(1.0))


@given(worlds())
@settings(max_examples=60, deadline=None)
def test_nothing_is_both_opened_and_given_back_or_closed_twice(world: World) -> None:
    found = plan(world, b.settings(), b.moment(1.0))
    acted = (
        [d.instance for d in found.drains]
        + [r.instance for r in found.reopens]
        + [i for r in found.returns for i in r.instances]
    )
    assert len(acted) == len(set(acted))
    assert all(world.live[i].return_id is None for i in acted)


@given(lines(), OFFERS)
@settings(max_examples=80, deadline=None)
def test_constant_input_asks_for_nothing_after_it_settled(wanted: tuple[Line, ...], offers: list[Template]) -> None:
    """Bought, then made in full, then joined and taken into use: no step calls for another."""
    world = b.world(
        b.demand(*wanted), offers={b.EAST: b.described(*offers, limits=(SharedLimit("q", "quota", most=10**6),))}
    )
    first = plan(world, b.settings(), b.moment())
    world = b.planned(world, first)
    assert b.is_quiet(plan(world, b.settings(), b.moment(1.0)))
    world = made(world)
    second = plan(world, b.settings(), b.moment(2.0))
    assert b.is_quiet(second)
    for line in wanted:
        status = next(s for s in second.lines if s.line == line.id)
        before = next(s for s in first.lines if s.line == line.id)
        assert (status.met, status.in_flight, status.open) == (before.met, before.in_flight, before.open)


def made(world: World) -> World:
    """Every open purchase made in full, each host running."""
    records: list[b.Record] = []
    for request in world.open_requests.values():
        for n in range(request.units if request.kind is Kind.HOST else 1):
            records.append(_host(request, n))
        records.append(
            (FactKind.REQUEST, request.id, evolve(request, state=RequestState.FULFILLED, made_units=request.units))
        )
    return b.with_facts(world, *records)


def _host(request: RequestFact, n: int) -> b.Record:
    kind, id, fact = b.instance(f"{request.id}-{n}", InstanceState.RUNNING, shares=request.shares)
    assert isinstance(fact, InstanceFact)
    return (
        kind,
        id,
        evolve(
            fact,
            template=request.template,
            provider=request.provider,
            request=request.id,
            consumer=request.consumer,
            terms=request.terms,
            size=request.terms.size,
        ),
    )


@given(worlds(), st.floats(0.01, 0.99))
@settings(max_examples=100, deadline=None)
def test_time_alone_changes_nothing_before_the_wake(world: World, part: float) -> None:
    first = plan(world, b.settings(), b.moment(1.0))
    if first.unneeded:
        since = world.seen.unneeded_since.update(dict.fromkeys(first.unneeded, b.BOOT_S + 1))
        world = evolve(world, seen=evolve(world.seen, unneeded_since=since))
    ahead_s = 1000.0 if first.wake_boot_s is None else first.wake_boot_s - b.BOOT_S - 1.0
    later = plan(world, b.settings(), b.moment(1.0 + ahead_s * part))
    assert actions(later) == actions(first)
    assert [(s.met, s.in_flight, s.open) for s in later.lines] == [(s.met, s.in_flight, s.open) for s in first.lines]


def actions(found: Plan) -> tuple[object, ...]:
    return (found.purchases, found.drops, found.drains, found.reopens, found.returns)
