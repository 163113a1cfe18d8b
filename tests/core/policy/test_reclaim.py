"""What is drained, reopened and given back, and that silence never does any of it."""

from typing import Any

import pytest
from attrs import evolve

from provisioner.core.facts import FactKind, ReturnFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import DrainKind, EntryState, Kind, Notice, ReturnItem, Share
from provisioner.core.policy.plan import plan
from provisioner.core.policy.words import Plan
from provisioner.core.process import ProcessState
from provisioner.core.reasons import Why
from provisioner.core.settings import PolicySettings, ProviderSettings, Reclaim, SourceSettings, TemplateOverride
from provisioner.core.world import World
from tests.core.policy.builders import (
    AT,
    BOOT_S,
    EAST,
    SOURCE,
    Record,
    amounts,
    ask_drain,
    demand,
    described,
    entry,
    grant_line,
    grant_template,
    heard_again,
    instance,
    is_quiet,
    line,
    moment,
    provider,
    settings,
    standing,
    supply,
    template,
    with_facts,
    world,
)

IDLE_S = 600.0
LATER = moment(IDLE_S)


def idle_world(*more: Record, since_s: float = 0.0, **how: Any) -> World:
    """One idle host, idle since `since_s` in our own eyes, its source just heard."""
    of = how.pop("of", None)
    records = (instance(of=of, **how), supply(entry("in-1")), *(more or (demand(),)))
    return heard_again(world(*records, idle_since={"in-1": BOOT_S + since_s}), IDLE_S)


def drained(found: Plan) -> list[tuple[str, DrainKind, Why]]:
    return [(d.instance, d.kind, d.reason.why) for d in found.drains]


def returned(found: Plan) -> list[tuple[tuple[str, ...], str]]:
    return [(r.instances, r.why) for r in found.returns]


def test_a_host_idle_beyond_idle_time_is_asked_to_drain_and_not_a_moment_before() -> None:
    early = plan(idle_world(), settings(), moment(IDLE_S - 1))
    assert is_quiet(early)
    assert early.wake_boot_s == BOOT_S + IDLE_S
    assert drained(plan(idle_world(), settings(), LATER)) == [("in-1", DrainKind.ASK, Why.IDLE)]


def test_idle_age_is_the_smaller_of_the_sources_and_our_own() -> None:
    assert is_quiet(plan(idle_world(since_s=1.0), settings(), LATER)), "we saw it idle a second later"
    said_later = heard_again(
        world(instance(), supply(entry("in-1", after_s=1.0)), demand(), idle_since={"in-1": BOOT_S}), IDLE_S
    )
    assert is_quiet(plan(said_later, settings(), LATER)), "its source says a second later"
    unseen = heard_again(world(instance(), supply(entry("in-1")), demand()), IDLE_S)
    assert is_quiet(plan(unseen, settings(), LATER)), "not seen idle by ourselves since this start"


def test_a_template_may_have_an_idle_time_of_its_own() -> None:
    quick = settings(providers={EAST: provider(EAST, templates=(TemplateOverride(pattern="*", idle_time_s=5.0),))})
    assert len(plan(idle_world(), quick, moment(5.0)).drains) == 1


def test_a_host_is_kept_for_its_minimum_hold() -> None:
    held = idle_world(of=template(hold_min_s=3600))
    assert is_quiet(plan(held, settings(), LATER))
    assert plan(held, settings(), LATER).wake_boot_s == BOOT_S + IDLE_S + 300, "its source goes silent first"
    longer = settings(policy=PolicySettings(reclaim=Reclaim(min_hold_s=700.0)))
    assert plan(idle_world(), longer, LATER).wake_boot_s == BOOT_S + 700


def test_a_host_that_a_line_in_force_could_use_is_useful_and_stays() -> None:
    assert plan(idle_world(demand(line(count=1))), settings(), LATER).drains == ()
    too_big = demand(line(count=1, each=amounts(cores=64)))
    assert len(plan(idle_world(too_big), settings(), LATER).drains) == 1
    others = demand(line(count=1, consumer="asic"))
    assert len(plan(idle_world(others), settings(), LATER).drains) == 1


def test_a_host_is_useful_while_something_else_is_in_flight_for_the_line() -> None:
    coming = instance("in-2", InstanceState.BOOTING, after_s=IDLE_S - 10)
    found = plan(idle_world(demand(line(count=4), counted=5), coming), settings(), LATER)
    assert standing(found) == (0, 4, 0)
    assert found.drains == ()


def test_a_busy_host_is_never_asked() -> None:
    busy = heard_again(
        world(instance(), supply(entry("in-1", EntryState.BUSY)), demand(), idle_since={"in-1": BOOT_S}), IDLE_S
    )
    assert is_quiet(plan(busy, settings(), LATER))


def test_hosts_of_a_silent_source_are_left_alone() -> None:
    silent = world(instance(), supply(entry("in-1")), demand(), idle_since={"in-1": BOOT_S})
    assert is_quiet(plan(silent, settings(), LATER))


def test_without_a_handshake_idle_time_alone_gives_it_back() -> None:
    alone = settings(sources={SOURCE: SourceSettings(handshake="none")})
    assert returned(plan(idle_world(), alone, LATER)) == [(("in-1",), "idle")]


def drain_world(
    state: EntryState | None, *, answers: str | None = None, demands: Record | None = None, **how: Any
) -> World:
    """One host with an open drain `dr-1`, and what its source says of it."""
    how = {"drain": ask_drain()} | how
    entries = () if state is None else (entry("in-1", state, drain=answers),)
    return world(instance(**how), supply(*entries), demands or demand())


def test_a_drained_host_that_answers_by_the_drains_id_is_given_back() -> None:
    found = plan(drain_world(EntryState.DRAINED, answers="dr-1"), settings(), moment(1.0))
    assert returned(found) == [(("in-1",), "idle")]
    assert found.returns[0].reason.why is Why.DRAINED


@pytest.mark.parametrize("answers", [None, "dr-0"])
def test_a_host_drained_without_that_id_is_not_given_back(answers: str | None) -> None:
    assert is_quiet(plan(drain_world(EntryState.DRAINED, answers=answers), settings(), moment(1.0)))


def test_work_ends_a_drain_that_only_asks_and_not_a_firm_one() -> None:
    found = plan(drain_world(EntryState.BUSY), settings(), moment(1.0))
    assert [(r.instance, r.reason.why) for r in found.reopens] == [("in-1", Why.BUSY)]
    assert is_quiet(plan(drain_world(EntryState.BUSY, drain=ask_drain(kind=DrainKind.FIRM)), settings(), moment(1.0)))


def test_an_unanswered_drain_is_ended_and_asked_again_only_later() -> None:
    waiting = drain_world(EntryState.IDLE)
    assert is_quiet(plan(waiting, settings(), moment(119.0)))
    assert plan(waiting, settings(), moment(1.0)).wake_boot_s == BOOT_S + 120
    ended = plan(waiting, settings(), moment(120.0))
    assert [(r.instance, r.reason.why) for r in ended.reopens] == [("in-1", Why.DRAIN_UNANSWERED)]
    again = idle_world(reopened_at=AT + 500, reopened_why="drain_unanswered")
    assert is_quiet(plan(again, settings(), LATER))
    assert len(plan(heard_again(again, 1100.0), settings(), moment(1100.0)).drains) == 1


def test_a_drain_being_answered_is_waited_for() -> None:
    assert is_quiet(plan(drain_world(EntryState.DRAINING, answers="dr-1"), settings(), moment(200.0)))


def test_new_demand_opens_a_drained_host_again_instead_of_buying() -> None:
    wanted = drain_world(EntryState.DRAINED, answers="dr-1", demands=demand(line(count=4)))
    found = plan(wanted, settings(), moment(1.0))
    assert [(r.instance, r.reason.why) for r in found.reopens] == [("in-1", Why.WANTED_AGAIN)]
    assert found.purchases == ()
    assert found.returns == ()
    assert standing(found) == (0, 4, 0)


def test_only_as_many_drained_hosts_are_opened_as_are_wanted() -> None:
    three = [instance(f"in-{n}", drain=ask_drain(f"dr-{n}")) for n in range(3)]
    entries = [entry(f"in-{n}", EntryState.DRAINED, drain=f"dr-{n}") for n in range(3)]
    found = plan(world(*three, supply(*entries), demand(line(count=5))), settings(), moment(1.0))
    assert [r.instance for r in found.reopens] == ["in-0", "in-1"]
    assert returned(found) == [(("in-2",), "idle")]


def test_a_host_that_has_joined_is_opened_rather_than_waiting_for_one_to_come() -> None:
    closed = drain_world(EntryState.DRAINED, answers="dr-1", demands=demand(line(count=4)))
    found = plan(with_facts(closed, instance("in-2", InstanceState.BOOTING)), settings(), moment(1.0))
    assert [r.instance for r in found.reopens] == ["in-1"]
    assert standing(found) == (0, 4, 0)


def test_a_host_the_source_still_counts_as_open_is_reopened_but_adds_no_room() -> None:
    unseen = drain_world(EntryState.IDLE, demands=demand(line(count=4)))
    found = plan(unseen, settings(), moment(1.0))
    assert [r.instance for r in found.reopens] == ["in-1"]
    assert len(found.purchases) == 1


@pytest.mark.parametrize("how", [{"return_id": "rt-1"}, {"drain": ask_drain(kind=DrainKind.FIRM)}])
def test_what_is_being_given_back_or_firmly_closed_is_never_opened_again(how: dict[str, Any]) -> None:
    wanted = drain_world(EntryState.DRAINING, answers="dr-1", demands=demand(line(count=4)), **how)
    found = plan(wanted, settings(), moment(1.0))
    assert found.reopens == ()
    assert len(found.purchases) == 1


def test_a_noticed_host_is_drained_firmly_at_once_and_replaced_in_the_same_pass() -> None:
    noticed = world(
        instance(notice=Notice("reclaim", AT + 120)), supply(), demand(line(count=4)), heard_at_boot_s=BOOT_S
    )
    found = plan(noticed, settings(), moment(1.0))
    assert drained(found) == [("in-1", DrainKind.FIRM, Why.NOTICE)]
    assert found.drains[0].deadline_at == AT + 120
    assert len(found.purchases) == 1


@pytest.mark.parametrize("state", [InstanceState.FAILED, InstanceState.VANISHED])
def test_what_can_never_serve_is_given_back_at_once_even_if_the_source_is_silent(state: InstanceState) -> None:
    dead = world(instance(state=state), supply(), demand(), heard_at_boot_s=None)
    assert [r[0] for r in returned(plan(dead, settings(), moment()))] == [("in-1",)]


def test_a_failed_host_of_a_provider_that_is_down_is_returned_all_the_same() -> None:
    dead = world(instance(state=InstanceState.FAILED), supply(), demand(), states={EAST: ProcessState.QUARANTINED})
    assert len(plan(dead, settings(), moment()).returns) == 1


def test_a_host_that_does_not_join_in_time_is_closed_firmly_then_given_back_with_consent() -> None:
    late = heard_again(world(instance(), supply(), demand(line(count=4))), 900.0)
    assert is_quiet(plan(late, settings(), moment(899.0)))
    found = plan(late, settings(), moment(900.0))
    assert drained(found) == [("in-1", DrainKind.FIRM, Why.NEVER_JOINED)]
    assert len(found.purchases) == 1, "and another is bought"
    closed = world(instance(drain=ask_drain(asked_after_s=900.0, kind=DrainKind.FIRM)), supply(), demand())
    assert plan(heard_again(closed, 1000.0), settings(), moment(1000.0)).returns == ()
    assert plan(heard_again(closed, 1019.0), settings(), moment(1030.0)).returns == (), "not heard since"
    given = plan(heard_again(closed, 1020.0), settings(), moment(1030.0))
    assert returned(given) == [(("in-1",), "never_joined")]


def test_the_join_clock_starts_anew_when_a_silent_source_is_back() -> None:
    back = heard_again(world(instance(), supply(), demand(line(count=4))), 1000.0)
    heard = evolve(back.seen.heard[SOURCE], fresh_since_boot_s=BOOT_S + 950)
    back = evolve(back, seen=evolve(back.seen, heard=back.seen.heard.set(SOURCE, heard)))
    assert is_quiet(plan(back, settings(), moment(1000.0)))


def test_a_host_of_a_source_that_never_said_what_it_has_cannot_be_late_to_join() -> None:
    by_hand = settings(sources={SOURCE: SourceSettings(fresh_for_s=None)})
    assert is_quiet(plan(world(instance(), demand(line(count=4))), by_hand, moment(100_000.0)))


def test_a_surplus_host_is_drained_before_it_joined_only_after_the_shrink_delay() -> None:
    spare = world(instance(), supply(), demand())
    first = plan(spare, settings(), moment())
    assert first.unneeded == ("in-1",)
    assert is_quiet(first)
    assert first.wake_boot_s == BOOT_S + 60
    remembered = evolve(spare, seen=evolve(spare.seen, unneeded_since=spare.seen.absent_since.set("in-1", BOOT_S)))
    assert drained(plan(remembered, settings(), moment(60.0))) == [("in-1", DrainKind.ASK, Why.SURPLUS)]
    late_arrival = world(instance(surplus=True), supply(), demand())
    assert len(plan(late_arrival, settings(), moment()).drains) == 1


def test_a_surplus_host_that_a_line_can_use_is_kept() -> None:
    assert is_quiet(plan(world(instance(surplus=True), supply(), demand(line(count=4))), settings(), moment()))


def test_a_drained_host_that_never_joined_needs_a_snapshot_after_answer_within() -> None:
    closed = drain_world(None)
    assert plan(heard_again(closed, 119.0), settings(), moment(119.0)).returns == ()
    assert returned(plan(heard_again(closed, 121.0), settings(), moment(121.0))) == [(("in-1",), "surplus")]
    wanted = drain_world(None, demands=demand(line(count=4)))
    assert [r.instance for r in plan(wanted, settings(), moment(1.0)).reopens] == ["in-1"]


def test_a_grant_goes_when_its_line_has_been_gone_for_idle_time_and_only_whole() -> None:
    tokens = grant_template()
    shares = (Share(SOURCE, "tokens", 4),)
    held = [instance(f"in-{n}", of=tokens, units=4, shares=shares) for n in (1, 2)]
    offers = {EAST: described(tokens)}
    needed = world(*held, demand(grant_line(count=8)), offers=offers)
    assert plan(needed, settings(), moment()).unneeded == ()
    smaller = world(*held, demand(grant_line(count=3)), supply(), offers=offers, unneeded_since={"in-2": BOOT_S})
    assert plan(smaller, settings(), moment()).unneeded == ("in-2",)
    assert is_quiet(plan(heard_again(smaller, 599.0), settings(), moment(599.0)))
    assert returned(plan(heard_again(smaller, 600.0), settings(), moment(600.0))) == [(("in-2",), "surplus")]


def test_only_so_many_of_one_provider_are_given_back_at_once() -> None:
    many = [instance(f"in-{n:02}", InstanceState.FAILED) for n in range(8)]
    few = settings(policy=PolicySettings(reclaim=Reclaim(parallel_returns=3)))
    open_return = ReturnFact("rt-1", EAST, (ReturnItem("in-00", "p"),), "idle", planned_at=AT)
    busy = world(
        *many[1:], instance("in-00", InstanceState.RETURNING, return_id="rt-1"), (FactKind.RETURN, "rt-1", open_return)
    )
    assert returned(plan(busy, few, moment())) == [(("in-01", "in-02"), "never_joined")]
    assert len(plan(busy, few, moment(1800.0)).returns[0].instances) == 3, "a stuck one does not hold up the others"


def test_a_remnant_is_given_back_and_never_serves() -> None:
    found = plan(world(instance(of=template(kind=Kind.REMNANT)), supply(), demand(line(count=1))), settings(), moment())
    assert returned(found) == [(("in-1",), "surplus")]
    assert len(found.purchases) == 1


def test_giving_back_is_by_provider_and_reason() -> None:
    both = world(
        instance("in-1", InstanceState.FAILED),
        instance("in-2", InstanceState.FAILED, provider="west"),
        instance("in-3", drain=ask_drain()),
        supply(entry("in-3", EntryState.DRAINED, drain="dr-1")),
        demand(),
    )
    providers: dict[str, ProviderSettings] = {name: provider(name) for name in (EAST, "west")}
    found = plan(both, settings(providers=providers), moment(1.0))
    assert [(r.provider, r.instances) for r in found.returns] == [
        (EAST, ("in-1",)),
        (EAST, ("in-3",)),
        ("west", ("in-2",)),
    ]
