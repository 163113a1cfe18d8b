"""What a count means: everything that answers it is netted once, and for no longer than it answers it (design §6)."""

from typing import Any

import pytest

from provisioner.core.facts import FactKind, WishFact, WishKind
from provisioner.core.instance import InstanceState
from provisioner.core.model import Constraint, DrainKind, EntryState, Notice, Share
from provisioner.core.policy.plan import plan
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import RequestState
from provisioner.core.settings import SourceSettings
from tests.core.policy.builders import (
    BOOT_S,
    EAST,
    SOURCE,
    amounts,
    ask_drain,
    bought,
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
    planned,
    request,
    settings,
    standing,
    supply,
    template,
    with_facts,
    world,
)

NOW = moment()
FOUR = demand(line(count=4), counted=5)


@pytest.mark.parametrize(
    "state", [RequestState.PLANNED, RequestState.SENDING, RequestState.TAKEN, RequestState.UNKNOWN]
)
def test_what_is_bought_and_not_made_yet_is_netted(state: RequestState) -> None:
    assert standing(plan(world(FOUR, request(state=state)), settings(), NOW)) == (0, 4, 0)


def test_an_unknown_purchase_stops_answering_demand_after_cover_but_is_held_still() -> None:
    few = {EAST: described(template(capacity_max=1))}
    unknown = world(FOUR, request(state=RequestState.UNKNOWN), offers=few)
    assert plan(unknown, settings(), NOW).wake_boot_s is not None
    later = plan(unknown, settings(), moment(250.0))
    assert standing(later) == (0, 4, 0)
    after = plan(heard_again(unknown, 600.0), settings(), moment(600.0))
    assert standing(after) == (0, 0, 4)
    assert after.lines[0].reason.why is Why.CAPACITY


def test_a_purchase_overdue_by_cover_stops_answering_demand() -> None:
    taken = world(FOUR, request(state=RequestState.TAKEN))
    assert standing(plan(heard_again(taken, 779.0), settings(), moment(779.0))) == (0, 4, 0)
    hedged = plan(heard_again(taken, 780.0), settings(), moment(780.0))
    assert bought(hedged) == [(EAST, "small", 1)]


@pytest.mark.parametrize("state", [InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN])
def test_what_was_made_and_has_not_joined_is_netted(state: InstanceState) -> None:
    assert standing(plan(world(FOUR, instance(state=state)), settings(), NOW)) == (0, 4, 0)


NEVER_NETTED: list[tuple[str, dict[str, Any]]] = [
    ("failed", {"state": InstanceState.FAILED}),
    ("vanished", {"state": InstanceState.VANISHED}),
    ("returning", {"state": InstanceState.RETURNING}),
    ("being given back", {"return_id": "rt-1"}),
    ("noticed", {"notice": Notice("reclaim")}),
    ("draining firmly", {"drain": ask_drain(kind=DrainKind.FIRM)}),
]


@pytest.mark.parametrize(("name", "how"), NEVER_NETTED, ids=[row[0] for row in NEVER_NETTED])
def test_what_can_never_serve_is_not_netted(name: str, how: dict[str, Any]) -> None:
    found = plan(world(FOUR, instance(**how)), settings(), NOW)
    assert bought(found) == [(EAST, "small", 1)]


def test_a_request_partly_made_is_netted_once_in_all() -> None:
    half = request(units=2, state=RequestState.TAKEN, made_units=1, shares=(Share(SOURCE, "queue", 8),))
    made = instance(request="rq-1", shares=(Share(SOURCE, "queue", 8),))
    found = plan(world(demand(line(count=9)), half, made), settings(), NOW)
    assert standing(found) == (0, 9, 0)
    assert bought(found) == [(EAST, "small", 1)], "eight are coming, one is bought for"


def test_a_host_that_joined_after_the_counted_snapshot_meets_the_line() -> None:
    joined = world(FOUR, instance(), supply(entry("in-1", rev=6), revision=6))
    found = plan(joined, settings(), NOW)
    assert standing(found) == (4, 0, 0)
    assert found.lines[0].reason.why is Why.MET
    assert found.wake_boot_s == NOW.boot_s + 60, "the netting window ends by time alone"


def test_a_host_idle_at_the_counted_snapshot_is_never_netted() -> None:
    counted = world(FOUR, instance(), supply(entry("in-1", rev=5), revision=6))
    assert bought(plan(counted, settings(), NOW)) == [(EAST, "small", 1)]


def test_a_higher_incarnation_of_demand_has_counted_all_that_joined_before() -> None:
    restarted = world(demand(line(count=4), counted=1, incarnation=1), instance(), supply(entry("in-1", rev=900)))
    assert len(plan(restarted, settings(), NOW).purchases) == 1


def test_a_joined_host_that_became_busy_is_not_netted_any_more() -> None:
    busy = world(FOUR, instance(), supply(entry("in-1", EntryState.BUSY, rev=6), revision=6))
    found = plan(busy, settings(), moment(1.0))
    assert standing(found) == (0, 4, 0)
    assert len(found.purchases) == 1


def test_work_that_started_as_the_host_joined_is_not_bought_for_before_its_source_could_say_so() -> None:
    busy = world(FOUR, instance(), supply(entry("in-1", EntryState.BUSY, rev=6), revision=6))
    found = plan(busy, settings(), NOW)
    assert is_quiet(found)
    assert found.wake_boot_s == NOW.boot_s + 1
    said = with_facts(busy, demand(line(count=4), revision=2, counted=6))
    assert len(plan(said, settings(), NOW).purchases) == 1


@pytest.mark.parametrize("counted", [1, None])
def test_netting_of_a_joined_host_ends_with_the_window(counted: int | None) -> None:
    joined = world(demand(line(count=4), counted=counted), instance(), supply(entry("in-1", rev=6), revision=6))
    assert plan(joined, settings(), moment(59.0)).purchases == ()
    assert len(plan(joined, settings(), moment(60.0)).purchases) == 1


def test_a_host_reopened_after_the_counted_snapshot_is_netted() -> None:
    again = entry("in-1", rev=1, reopened_rev=(0, 6), reopened_at=NOW.at)
    assert standing(plan(world(FOUR, instance(), supply(again, revision=6)), settings(), NOW)) == (4, 0, 0)


def test_a_host_still_closed_at_its_source_after_we_reopened_it_is_coming_for_a_window() -> None:
    closed = entry("in-1", EntryState.DRAINED, drain="dr-1")
    held = world(FOUR, instance(reopened_at=NOW.at, reopened_why="wanted_again"), supply(closed))
    assert standing(plan(held, settings(), NOW)) == (0, 4, 0)
    assert plan(held, settings(), NOW).purchases == ()
    assert len(plan(held, settings(), moment(60.0)).purchases) == 1


def test_a_host_its_own_source_drains_is_not_netted() -> None:
    own = entry("in-1", EntryState.DRAINING, rev=6)
    assert len(plan(world(FOUR, instance(), supply(own)), settings(), NOW).purchases) == 1


def test_room_left_by_one_line_serves_others_of_the_same_source_that_it_satisfies() -> None:
    other = line("other", 3, where=(Constraint("template", one_of=("small",)),))
    foreign = demand(line("theirs", 1), source="slurm")
    found = plan(world(demand(line(count=1), other), foreign, request(state=RequestState.TAKEN)), settings(), NOW)
    assert standing(found, "queue") == (0, 1, 0)
    assert standing(found, "other") == (0, 3, 0)
    assert [p.shares for p in found.purchases] == [(Share("slurm", "theirs", 1),)]


def test_a_host_of_an_exclusive_consumer_answers_only_its_own_lines() -> None:
    theirs = request(state=RequestState.TAKEN, consumer="asic")
    found = plan(world(demand(line(count=4)), theirs), settings(), NOW)
    assert bought(found) == [(EAST, "small", 1)]
    own = plan(world(demand(line(count=4, consumer="asic")), theirs), settings(), NOW)
    assert own.purchases == ()


def test_a_changed_shape_that_the_host_does_not_satisfy_is_not_answered_by_it() -> None:
    bigger = world(demand(line(count=1, each=amounts(cores=8))), request(state=RequestState.TAKEN))
    assert standing(plan(bigger, settings(), NOW)) == (0, 0, 1)


def test_what_was_delivered_counts_not_what_was_ordered() -> None:
    bigger = instance(size=amounts(cores=8), request="rq-1")
    of = request(state=RequestState.FULFILLED)
    assert standing(plan(world(demand(line(count=8)), of, bigger), settings(), NOW)) == (0, 8, 0)


def test_the_schedulers_own_figure_corrects_the_size() -> None:
    joined = entry("in-1", rev=6, size=amounts(cores=3))
    found = plan(world(FOUR, instance(), supply(joined, revision=6)), settings(), NOW)
    assert standing(found) == (3, 1, 0)


def test_lines_that_want_hosts_alone_do_not_share_one_in_flight() -> None:
    two = world(demand(line(count=2, alone=True)), request(units=1, state=RequestState.TAKEN))
    assert bought(plan(two, settings(), NOW)) == [(EAST, "small", 1)]


@pytest.mark.parametrize("heard", [None, BOOT_S - 300])
def test_nothing_is_bought_for_a_silent_source_and_its_line_says_so(heard: float | None) -> None:
    found = plan(world(FOUR, heard_at_boot_s=heard), settings(), NOW)
    assert is_quiet(found)
    assert found.lines[0].reason.why is Why.SOURCE_SILENT
    assert standing(found) == (0, 0, 4)


def test_a_source_trusted_for_ever_is_bought_for_without_beingheard_again() -> None:
    trusted = settings(sources={SOURCE: SourceSettings(fresh_for_s=None)})
    assert len(plan(world(FOUR, heard_at_boot_s=None), trusted, NOW).purchases) == 1


def test_unsent_purchases_of_a_silent_source_are_left_alone() -> None:
    silent = world(demand(), request(), heard_at_boot_s=None)
    assert plan(silent, settings(), NOW).drops == ()


def test_an_expired_line_is_not_bought_for_and_its_end_wakes_the_plan() -> None:
    ends = world(demand(line(expires_at=NOW.at + 5)))
    assert plan(ends, settings(), NOW).wake_boot_s == NOW.boot_s + 5
    found = plan(ends, settings(), moment(5.0))
    assert found.purchases == ()
    assert found.lines[0].reason.why is Why.EXPIRED


def test_a_planned_purchase_nobody_wants_any_more_is_dropped_before_anything_is_returned() -> None:
    found = plan(world(demand(), request()), settings(), NOW)
    assert [drop.request for drop in found.drops] == ["rq-1"]
    sent = plan(world(demand(), request(state=RequestState.SENDING)), settings(), NOW)
    assert sent.drops == ()


def test_of_two_purchases_the_one_not_sent_yet_is_dropped() -> None:
    both = world(FOUR, request("rq-1"), request("rq-2", state=RequestState.TAKEN))
    found = plan(both, settings(), NOW)
    assert [drop.request for drop in found.drops] == ["rq-1"]
    assert standing(found) == (0, 4, 0)


def test_a_grant_never_listed_answers_its_line_as_long_as_it_lives() -> None:
    tokens = grant_template()
    held = instance(of=tokens, units=7, shares=(Share(SOURCE, "tokens", 7),))
    for after_s in (0.0, 100_000.0):
        lines = demand(grant_line(count=10))
        found = plan(
            heard_again(world(lines, held, offers={EAST: described(tokens)}), after_s), settings(), moment(after_s)
        )
        assert standing(found, "tokens") == (7, 3, 0)
        assert bought(found) == [(EAST, "abaqus", 3)]


def test_a_listed_grant_is_netted_for_what_is_not_in_use() -> None:
    tokens = grant_template()
    held = instance(of=tokens, units=7, shares=(Share(SOURCE, "tokens", 7),))
    partly = supply(entry("in-1", EntryState.BUSY, rev=6, in_use=5), revision=6)
    found = plan(world(demand(grant_line(count=10)), held, partly, offers={EAST: described(tokens)}), settings(), NOW)
    assert standing(found, "tokens") == (2, 8, 0)


def test_a_drain_not_honoured_yet_counts_as_one_and_so_does_a_reopening() -> None:
    joined = world(FOUR, instance(), supply(entry("in-1", rev=6), revision=6))
    wish = WishFact(WishKind.DRAIN, "in-1", Reason(Why.IDLE), NOW.at, ask_drain())
    drained = with_facts(joined, (FactKind.WISH, "drain.in-1", wish))
    assert standing(plan(drained, settings(), NOW)) == (0, 4, 0)
    closed = world(FOUR, instance(drain=ask_drain()), supply(entry("in-1", EntryState.DRAINED, drain="dr-1")))
    reopened = with_facts(
        closed, (FactKind.WISH, "reopen.in-1", WishFact(WishKind.REOPEN, "in-1", Reason(Why.IDLE), NOW.at))
    )
    assert is_quiet(plan(reopened, settings(), NOW))


def test_a_plan_just_made_answers_what_it_was_made_for_whatever_the_packing() -> None:
    mixed = demand(
        line("cpu", 7, amounts(cores=3, memory=1)),
        line("mem", 9, amounts(cores=1, memory=6)),
        line("both", 5, amounts(cores=2, memory=4)),
    )
    offers = {
        EAST: described(
            template("odd", 2.0, size=amounts(cores=7, memory=17)),
            template("tiny", 1.0, size=amounts(cores=3, memory=8)),
        )
    }
    before = world(mixed, offers=offers)
    first = plan(before, settings(), NOW)
    assert all(status.open == 0 for status in first.lines)
    assert is_quiet(plan(planned(before, first), settings(), moment(1.0)))


def test_a_demand_that_grew_is_bought_for_the_difference_only() -> None:
    before = world(demand(line(count=8)))
    after = planned(before, plan(before, settings(), NOW))
    grown = with_facts(after, demand(line(count=12), revision=2))
    assert bought(plan(grown, settings(), moment(1.0))) == [(EAST, "small", 1)]
