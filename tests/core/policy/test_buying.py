"""What is bought: the cheapest useful offer, sized, split and explained."""

from typing import Any

import pytest
from attrs import evolve

from provisioner.core.facts import FactKind
from provisioner.core.model import Billing, Constraint, Draw, Kind, Per, Place, Price, Promises, SharedLimit
from provisioner.core.money import NANOS
from provisioner.core.policy.plan import plan
from provisioner.core.process import ProcessState
from provisioner.core.reasons import Why
from provisioner.core.request import RequestState
from provisioner.core.settings import Consumer, PolicySettings, RequestLimits, TemplateOverride
from tests.core.policy.builders import (
    EAST,
    SOURCE,
    WEST,
    amounts,
    bought,
    demand,
    described,
    grant_line,
    grant_template,
    health,
    instance,
    line,
    moment,
    provider,
    request,
    settings,
    shares_by_line,
    standing,
    template,
    usd,
    with_facts,
    world,
)

NOW = moment()


def test_whole_hosts_are_bought_for_bundles_and_the_line_is_in_flight() -> None:
    found = plan(world(demand(line(count=10))), settings(), NOW)
    assert bought(found) == [(EAST, "small", 3)]
    assert standing(found) == (0, 10, 0)
    assert found.purchases[0].shares[0].units == 10
    assert found.lines[0].reason.why is Why.BOUGHT
    assert found.lines[0].expected_at == NOW.at + 60


def test_the_scarcest_of_several_dimensions_decides_how_many_bundles_a_host_holds() -> None:
    both = template(cores=16, size=amounts(cores=16, memory=64))
    found = plan(
        world(demand(line(count=6, each=amounts(cores=2, memory=16))), offers={EAST: described(both)}), settings(), NOW
    )
    assert bought(found) == [(EAST, "small", 2)], "59.2 usable GiB hold three bundles of 16 GiB"


def test_usable_memory_of_a_template_can_be_overridden() -> None:
    both = template(cores=16, size=amounts(cores=16, memory=64))
    all_of_it = provider(EAST, templates=(TemplateOverride(pattern="*", usable_memory_permille=1000),))
    found = plan(
        world(demand(line(count=4, each=amounts(cores=2, memory=16))), offers={EAST: described(both)}),
        settings(providers={EAST: all_of_it}),
        NOW,
    )
    assert bought(found) == [(EAST, "small", 1)]
    assert found.purchases[0].terms.size == amounts(cores=16, memory=64)


def test_the_cheaper_offer_per_useful_core_wins_and_the_operators_priority_beats_it() -> None:
    offers = {EAST: described(template("big", 10.0, cores=16)), WEST: described(template("small", 3.0, cores=4))}
    wanted = world(demand(line(count=16)), offers=offers)
    assert bought(plan(wanted, settings(EAST, WEST), NOW)) == [(EAST, "big", 1)]
    preferred = settings(providers={EAST: provider(EAST), WEST: provider(WEST, priority=1)})
    assert bought(plan(wanted, preferred, NOW)) == [(WEST, "small", 4)]


def test_the_last_host_is_small_if_that_is_cheaper() -> None:
    offers = {EAST: described(template("big", 16.0, cores=16), template("small", 1.2, cores=1))}
    found = plan(world(demand(line(count=17)), offers=offers), settings(), NOW)
    assert bought(found) == [(EAST, "big", 1), (EAST, "small", 1)]


def test_a_minimum_that_is_charged_anyway_counts_in_the_choice() -> None:
    hourly = template("hourly", 1.0, billing=Billing(minimum_s=4 * 3600))
    dearer = template("dearer", 1.5)
    found = plan(world(demand(line(count=1)), offers={EAST: described(hourly, dearer)}), settings(), NOW)
    assert bought(found) == [(EAST, "dearer", 1)]


def test_at_equal_cost_the_shorter_lead_time_then_the_name_wins() -> None:
    slow, quick = template("a-slow", lead_typical_s=600), template("quick", lead_typical_s=30)
    twin = template("quick-twin", lead_typical_s=30)
    found = plan(world(demand(line()), offers={EAST: described(twin, slow, quick)}), settings(), NOW)
    assert bought(found) == [(EAST, "quick", 1)]


def test_what_one_offer_cannot_hold_goes_to_the_next_in_the_same_pass() -> None:
    offers = {EAST: described(template("few", 1.0, capacity_max=2)), WEST: described(template("many", 1.3))}
    found = plan(world(demand(line(count=20)), offers=offers), settings(EAST, WEST), NOW)
    assert bought(found) == [(EAST, "few", 2), (WEST, "many", 3)]
    assert standing(found) == (0, 20, 0)


def test_everything_not_proven_gone_counts_against_capacity() -> None:
    few = template("small", capacity_max=4)
    held = world(
        demand(line(count=100)),
        instance("in-1"),
        request("rq-1", units=2, state=RequestState.UNKNOWN, after_s=-86_400),
        offers={EAST: described(few)},
    )
    found = plan(held, settings(), NOW)
    assert bought(found) == [(EAST, "small", 1)]
    [status] = found.lines
    assert status.reason.why is Why.CAPACITY
    assert "4 held of 4" in status.reason.detail


def test_a_limit_shared_by_templates_is_not_passed_by_both_together() -> None:
    power = SharedLimit("vcpu", "vCPU quota", most=10, used=2)
    a, b = (template(n, p, draws=(Draw("vcpu", 4),)) for n, p in (("a", 1.0), ("b", 1.1)))
    found = plan(world(demand(line(count=12)), offers={EAST: described(a, b, limits=(power,))}), settings(), NOW)
    assert bought(found) == [(EAST, "a", 2)]
    assert found.lines[0].reason.why is Why.LIMIT
    assert "vCPU quota: 10 used of 10" in found.lines[0].reason.detail


def test_the_most_units_of_a_provider_hold_over_all_its_templates() -> None:
    bounded = settings(providers={EAST: provider(EAST, max_units=3)})
    offers = {EAST: described(template("a", 1.0, capacity_max=2), template("b", 1.1))}
    found = plan(world(demand(line(count=40)), offers=offers), bounded, NOW)
    assert bought(found) == [(EAST, "a", 2), (EAST, "b", 1)]
    assert found.lines[0].open == 28


def test_a_purchase_is_split_by_what_one_request_may_hold() -> None:
    found = plan(world(demand(line(count=1000))), settings(), NOW)
    assert bought(found) == [(EAST, "small", 100), (EAST, "small", 100), (EAST, "small", 50)]
    assert shares_by_line(found.purchases) == {"queue": 1000}
    smaller = settings(policy=PolicySettings(request=RequestLimits(max_units=130)))
    assert [units for *_, units in bought(plan(world(demand(line(count=4 * 130))), smaller, NOW))] == [100, 30]


def test_units_are_bought_in_whole_steps_and_not_below_the_least() -> None:
    storage = grant_template("bandwidth", min_units=200, step_units=100, max_units=300)
    offers = {EAST: described(storage)}
    assert bought(plan(world(demand(grant_line(count=150, resource="bandwidth")), offers=offers), settings(), NOW)) == [
        (EAST, "bandwidth", 200)
    ]
    found = plan(world(demand(grant_line(count=350, resource="bandwidth")), offers=offers), settings(), NOW)
    assert [units for *_, units in bought(found)] == [200, 200], "a rest too small to be asked for borrows"


def test_less_capacity_than_the_least_request_is_said_to_be_too_coarse() -> None:
    coarse = template(min_units=5, capacity_max=3)
    found = plan(world(demand(line()), offers={EAST: described(coarse)}), settings(), NOW)
    assert found.purchases == ()
    assert found.lines[0].reason.why is Why.GRANULARITY
    assert "at least 5" in found.lines[0].reason.detail


def test_several_lines_of_one_consumer_share_a_host_unless_one_wants_it_alone() -> None:
    shared = world(demand(line("a", 2), line("b", 2)))
    found = plan(shared, settings(), NOW)
    assert bought(found) == [(EAST, "small", 1)]
    assert shares_by_line(found.purchases) == {"a": 2, "b": 2}
    apart = world(demand(line("a", 2), line("b", 2, alone=True)))
    assert bought(plan(apart, settings(), NOW)) == [(EAST, "small", 3)]


def test_exclusive_consumers_never_share_a_host() -> None:
    lines = demand(line("a", 1, consumer="asic"), line("b", 1, consumer="dv"), line("c", 1))
    found = plan(world(lines), settings(), NOW)
    assert sorted((p.consumer, p.units) for p in found.purchases) == [("asic", 1), ("default", 1), ("dv", 1)]
    open_handed = settings(consumers={"asic": Consumer(exclusive=False), "dv": Consumer(exclusive=False)})
    assert len(plan(world(lines), open_handed, NOW).purchases) == 1


def test_lines_of_higher_priority_are_served_first_when_capacity_is_short() -> None:
    few = described(template(capacity_max=1))
    lines = demand(line("old", 4, since=1.0), line("young", 4, since=2.0), line("urgent", 4, since=9.0, priority=5))
    found = plan(world(lines, offers={EAST: few}), settings(), NOW)
    assert shares_by_line(found.purchases) == {"urgent": 4}
    weighted = settings(consumers={"default": Consumer(exclusive=False, priority=7)})
    assert shares_by_line(plan(world(lines, offers={EAST: few}), weighted, NOW).purchases) == {"old": 4}


def test_the_cap_that_goes_with_a_purchase_is_the_providers_own_price_whatever_the_operator_says() -> None:
    said = settings(providers={EAST: provider(EAST, templates=(TemplateOverride(pattern="*", price=usd(0.4)),))})
    [purchase] = plan(world(demand(line())), said, NOW).purchases
    assert (purchase.terms.price, purchase.price_cap) == (usd(0.4), usd(1.0))
    unpriced = described(template(price=None))
    [purchase] = plan(world(demand(line()), offers={EAST: unpriced}), said, NOW).purchases
    assert (purchase.terms.price, purchase.price_cap) == (usd(0.4), None)


def test_whole_hosts_are_counted_in_hosts() -> None:
    whole = line("hosts", 3, each=(), where=(Constraint("cores", least=4000),))
    found = plan(world(demand(whole)), settings(), NOW)
    assert bought(found) == [(EAST, "small", 3)]


def test_the_reserve_is_the_worst_case_until_it_can_be_given_back() -> None:
    found = plan(world(demand(line(count=8))), settings(), NOW)
    [purchase] = found.purchases
    assert purchase.reserve_nanos == 2 * NANOS * (180 + 3600) // 3600
    assert purchase.price_cap == usd(1.0)
    once = template(price=1.0, hold_min_s=7200)
    held = plan(world(demand(line()), offers={EAST: described(once)}), settings(), NOW)
    assert held.purchases[0].reserve_nanos == 2 * NANOS


def test_a_price_per_unit_hour_and_a_sum_charged_once_are_reserved_too() -> None:
    by_core = evolve(template(units_per_instance=4), price=usd(0.5, Per.UNIT_HOUR, once=1.0))
    offers = {EAST: described(by_core)}
    found = plan(world(demand(line(count=8)), offers=offers), settings(), NOW)
    assert bought(found) == [(EAST, "small", 8)], "two hosts of four units"
    assert found.purchases[0].reserve_nanos == 4 * NANOS * 3780 // 3600 + NANOS


def test_a_grant_is_bought_in_units_of_its_resource() -> None:
    offers = {EAST: described(grant_template("abaqus"), grant_template("ansys", 0.1))}
    found = plan(world(demand(grant_line(count=12)), offers=offers), settings(), NOW)
    assert bought(found) == [(EAST, "abaqus", 12)]
    assert found.purchases[0].kind is Kind.GRANT
    assert standing(found, "tokens") == (0, 12, 0)


FITS = Why.NO_OFFER_FITS
X86 = {"labels": (("arch", "x86_64"),)}
ARM = (Constraint("arch", one_of=("arm64",)),)
NOT_A = (Constraint("zone", one_of=("a",), negated=True),)
REJECTIONS: list[tuple[str, dict[str, Any], dict[str, Any], Why, str]] = [
    ("size", {}, {"each": amounts(cores=8)}, FITS, "small of east: smaller than one bundle of the line: cores 4 < 8"),
    ("arch", X86, {"where": ARM}, FITS, "arch is x86_64, wanted arm64"),
    ("gpus", {}, {"where": (Constraint("gpus", least=1000),)}, FITS, "gpus is not stated, wanted >= 1"),
    ("zone", {"place": Place(zone="a")}, {"where": NOT_A}, FITS, "zone is a, wanted not a"),
    ("too dear", {"price": 3.0}, {"max_price_nanos": 2 * NANOS}, Why.OVER_MAX_PRICE, "3 > 2"),
    ("no price", {"price": None}, {}, Why.UNKNOWN_PRICE, "none stated"),
    ("lapsed price", {"valid_until": NOW.at - 1}, {}, Why.UNKNOWN_PRICE, "lapsed"),
]


@pytest.mark.parametrize(("name", "offer", "wanted", "why", "number"), REJECTIONS, ids=[row[0] for row in REJECTIONS])
def test_what_nothing_can_satisfy_stays_open_and_names_what_killed_it(
    name: str, offer: dict[str, Any], wanted: dict[str, Any], why: Why, number: str
) -> None:
    found = plan(world(demand(line(**wanted)), offers={EAST: described(template(**offer))}), settings(), NOW)
    [status] = found.lines
    assert found.purchases == ()
    assert (status.met, status.in_flight, status.open) == (0, 0, 1)
    assert status.reason.why is why
    assert number in status.reason.detail
    assert number in status.rejected[0].number or status.rejected[0].number in status.reason.detail


def test_a_price_in_another_currency_is_not_bought() -> None:
    foreign = evolve(template(), price=Price(1, "EUR", Per.HOUR))
    found = plan(world(demand(line()), offers={EAST: described(foreign)}), settings(), NOW)
    assert found.lines[0].reason.why is Why.FOREIGN_CURRENCY
    priced = settings(providers={EAST: provider(EAST, templates=(TemplateOverride(pattern="*", price=usd(1)),))})
    assert len(plan(world(demand(line()), offers={EAST: described(foreign)}), priced, NOW).purchases) == 1


def test_no_provider_at_all_is_said() -> None:
    found = plan(world(demand(line()), offers={}), settings(providers={}), NOW)
    assert found.lines[0].reason.why is Why.NO_PROVIDER


@pytest.mark.parametrize("state", [s for s in ProcessState if s not in (ProcessState.READY, ProcessState.DEGRADED)])
def test_a_provider_that_is_not_ready_is_not_bought_from(state: ProcessState) -> None:
    found = plan(world(demand(line()), states={EAST: state}), settings(), NOW)
    assert found.purchases == ()
    assert found.lines[0].reason.why is Why.PROVIDER_NOT_READY
    assert str(state) in found.lines[0].reason.detail


def test_a_provider_that_is_not_ready_is_no_reason_for_a_line_that_would_not_take_it() -> None:
    wants_east = line(where=(Constraint("provider", (EAST,)), Constraint("arch", ("none-such",))))
    two = settings(providers={EAST: provider(EAST), WEST: provider(WEST)})
    [status] = plan(world(demand(wants_east), states={WEST: ProcessState.ABSENT}), two, NOW).lines
    assert status.reason.why is Why.NO_OFFER_FITS
    assert "arch" in status.reason.detail
    assert WEST not in status.reason.detail


def test_a_backed_off_offer_is_passed_over_until_its_time_and_the_plan_wakes_then() -> None:
    bad = with_facts(world(demand(line())), (FactKind.HEALTH, f"{EAST}/small", health(60.0)))
    found = plan(bad, settings(), NOW)
    assert found.lines[0].reason.why is Why.BACKED_OFF
    assert found.wake_boot_s == NOW.boot_s + 60
    later = moment(60.0)
    assert len(plan(bad, settings(), later).purchases) == 1


def test_a_back_off_of_the_whole_provider_covers_each_of_its_templates() -> None:
    bad = with_facts(world(demand(line())), (FactKind.HEALTH, f"{EAST}/*", health(60.0)))
    assert plan(bad, settings(), NOW).lines[0].reason.why is Why.BACKED_OFF


def test_a_parked_template_comes_back_with_another_description() -> None:
    parked = health(None, parked=True, seen_digest="d1", failures=10)
    bad = with_facts(world(demand(line())), (FactKind.HEALTH, f"{EAST}/small", parked))
    assert plan(bad, settings(), NOW).lines[0].reason.why is Why.PARKED
    other = with_facts(
        world(demand(line())), (FactKind.HEALTH, f"{EAST}/small", health(None, parked=True, seen_digest="d0"))
    )
    assert len(plan(other, settings(), NOW).purchases) == 1


def test_a_provider_without_tokens_has_one_purchase_at_a_time() -> None:
    plain = described(template("a", capacity_max=1), template("b"), promises=Promises())
    found = plan(world(demand(line(count=400)), offers={EAST: plain}), settings(), NOW)
    assert bought(found) == [(EAST, "a", 1)]
    busy = world(
        demand(line(count=400)), request("rq-9", state=RequestState.UNKNOWN, after_s=-90_000), offers={EAST: plain}
    )
    waiting = plan(busy, settings(), NOW)
    assert waiting.purchases == ()
    assert waiting.lines[0].reason.why is Why.PROVIDER_UNSETTLED


def test_an_offer_is_closed_to_consumers_the_operator_did_not_name() -> None:
    only = settings(providers={EAST: provider(EAST, templates=(TemplateOverride(pattern="sm*", consumers=("dv",)),))})
    assert plan(world(demand(line())), only, NOW).lines[0].rejected[0].reason == Why.CONSUMER
    assert len(plan(world(demand(line(consumer="dv"))), only, NOW).purchases) == 1
    elsewhere = settings(consumers={"dv": Consumer(providers=(WEST,))})
    assert plan(world(demand(line(consumer="dv"))), elsewhere, NOW).purchases == ()


def test_rejections_are_bounded_and_the_nearest_comes_first() -> None:
    many = [template(f"t{n:02}", cores=n / 10) for n in range(1, 40)]
    found = plan(world(demand(line(each=amounts(cores=5))), offers={EAST: described(*many)}), settings(), NOW)
    [status] = found.lines
    assert len(status.rejected) == 20
    assert status.rejected[0].template == "t39"
    assert "and 38 more" in status.reason.detail


def test_equal_worlds_give_equal_plans_whatever_the_order_of_records() -> None:
    records = [
        demand(line("a", 7), line("b", 3, since=1.0)),
        instance("in-2"),
        instance("in-1"),
        request("rq-2", units=2),
    ]
    offers = {EAST: described(template("x"), template("y")), WEST: described(template("z"))}
    one = plan(world(*records, offers=offers), settings(EAST, WEST), NOW)
    other = plan(world(*reversed(records), offers=offers), settings(WEST, EAST), moment())
    assert one == other


def test_a_source_of_its_own_never_shares_a_purchase_with_another() -> None:
    both = world(demand(line("a", 1)), demand(line("a", 1), source="slurm"))
    found = plan(both, settings(), NOW)
    assert [{s.source for s in p.shares} for p in found.purchases] == [{SOURCE}, {"slurm"}]


def test_a_purchase_says_which_rivals_it_beat_and_by_which_number() -> None:
    offers = {EAST: described(template("a", 1.0), template("b", 1.5)), WEST: described(template("c", 0.5))}
    preferred = settings(providers={EAST: provider(EAST, priority=1), WEST: provider(WEST)})
    [purchase] = plan(world(demand(line(count=4)), offers=offers), preferred, NOW).purchases
    beaten = {(r.template, r.reason, r.number) for r in purchase.rejected}
    assert ("b", "dearer", "0.375 > 0.25") in beaten
    assert ("c", "lower_priority", "0, 0 < 1, 0") in beaten


def test_a_price_for_a_whole_grant_is_paid_once_however_many_units() -> None:
    whole = grant_template("abaqus", price=None)
    whole = evolve(whole, price=usd(3.0))
    found = plan(world(demand(grant_line(count=12)), offers={EAST: described(whole)}), settings(), NOW)
    assert found.purchases[0].reserve_nanos == 3 * NANOS * 3780 // 3600


def test_what_a_description_says_is_used_or_available_is_corrected_by_what_was_ours_then_and_is_ours_now() -> None:
    said = described(
        template(capacity_available=1, draws=(Draw("m", 1),)), limits=(SharedLimit("m", "machines", 6, used=5),)
    )
    ours = evolve(said, held=(("small", 3),))
    gone_since = plan(world(demand(line(count=100)), offers={EAST: ours}), settings(), NOW)
    assert bought(gone_since) == [(EAST, "small", 4)], "two are in use by others"
    still_there = world(
        demand(line(count=100)), *(instance(f"in-{n}", after_s=-3000) for n in range(3)), offers={EAST: ours}
    )
    assert bought(plan(still_there, settings(), NOW)) == [(EAST, "small", 1)]
