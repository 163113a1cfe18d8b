"""A purchase from demand to its end, and every way its answer can be lost."""

import pytest
from attrs import evolve

from provisioner.core.effects import AskRequest, ReadList, SendRequest
from provisioner.core.events import (
    LateAnswer,
    Lost,
    NotWritten,
    ReadFailed,
    Refusal,
    RequestAnswered,
    RequestAsked,
)
from provisioner.core.evolve import Accepted
from provisioner.core.invariants import violations
from provisioner.core.model import Kind, Per, Price, Problem, Promises
from provisioner.core.request import RequestState
from provisioner.core.world import Ask
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for


def bought(promises: Promises = TRUSTED, count: int = 3) -> tuple[Play, SendRequest]:
    """A daemon that has just begun to send one purchase."""
    play = Play(settings_for("east"))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(count), revision=2)
    return play, play.take(SendRequest)


def answer(play: Play, effect: SendRequest, outcome: object) -> None:
    """Gives the outcome of a request frame."""
    play.event(RequestAnswered(effect.key, effect.provider, effect.number, effect.request, outcome))  # type: ignore[arg-type]


def asked(play: Play, outcome: object) -> None:
    """Answers the question about a purchase that is in flight."""
    ask = play.take(AskRequest)
    play.event(RequestAsked(ask.key, ask.provider, ask.number, ask.request, play.now_s, outcome))  # type: ignore[arg-type]


def test_a_purchase_is_bound_to_its_carrier_in_a_commit_before_its_frame_is_owed() -> None:
    play, effect = bought()
    request = play.only_request()
    assert request.state is RequestState.SENDING
    assert request.carrier is not None
    assert request.carrier.process == effect.number
    assert request.mark_epoch == request.carrier.epoch == 1
    assert request.frames == effect.key.n == 1


def test_demand_that_vanishes_before_the_sending_costs_nothing() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    play.world = evolve(
        play.world,
        seen=evolve(
            play.world.seen,
            processes=play.world.seen.processes.set(
                "east", evolve(play.world.seen.processes["east"], throttled_until_boot_s=play.now_s + 50)
            ),
        ),
    )
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    assert play.only_request().state is RequestState.PLANNED
    play.now_s += 2
    play.demand(revision=3)
    assert play.only_request().state is RequestState.CANCELLED
    assert not play.in_flight(SendRequest)


def test_a_made_report_takes_up_its_instances_and_fulfils_the_purchase() -> None:
    play, effect = bought()
    answer(play, effect, report(play.only_request(), "made", machine("i-1")))
    assert play.only_request().state is RequestState.FULFILLED
    assert [i.provider_id for i in play.instances()] == ["i-1"]
    assert play.instances()[0].shares[0].line == "queue"


def test_a_definite_refusal_of_the_only_frame_settles_and_backs_the_offer_off() -> None:
    play, effect = bought()
    answer(play, effect, Refusal(Problem("no_capacity"), not_made=True))
    assert play.only_request().state is RequestState.REFUSED
    assert "east/small" in play.world.health


@pytest.mark.parametrize("outcome", ["made", "not_made"])
def test_an_answer_by_which_nothing_was_made_for_no_reason_backs_the_offer_off(outcome: str) -> None:
    play, effect = bought()
    answer(play, effect, report(play.only_request(), outcome))
    assert play.only_request().state in (RequestState.SHORT, RequestState.NOT_MADE)
    assert play.world.health["east/small"].error_class == "transient"
    play.pass_s(5)
    assert not play.in_flight(SendRequest)
    assert len(play.world.requests) == 1


def test_a_purchase_that_never_arrived_is_held_against_no_offer() -> None:
    play, _effect = bought()
    play.process_ends("east")
    play.pass_s(120)
    play.provider_ready("east")
    play.pass_s(120)
    asked(play, report(play.only_request(), "not_made"))
    assert "east/small" not in play.world.health


def test_the_next_offer_is_asked_in_the_same_pass_after_no_capacity() -> None:
    play = Play(settings_for("dry", "wet"))
    play.provider_ready("dry")
    play.provider_ready("wet")
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    first = play.take(SendRequest)
    other = "wet" if first.provider == "dry" else "dry"
    answer(play, first, Refusal(Problem("no_capacity"), not_made=True))
    assert play.take(SendRequest).provider == other


def test_an_error_that_does_not_say_not_made_leaves_the_outcome_unknown() -> None:
    play, effect = bought()
    answer(play, effect, Refusal(Problem("no_capacity"), not_made=False))
    assert play.only_request().state is RequestState.UNKNOWN
    assert play.only_request().reserve_nanos > 0


@pytest.mark.parametrize("how", ["lost", "ended"])
def test_a_lost_answer_is_unknown_and_is_asked_for_before_anything_is_said_again(how: str) -> None:
    play, effect = bought()
    if how == "lost":
        answer(play, effect, Lost("timed out"))
    else:
        play.process_ends("east")
        play.pass_s(120)
        play.provider_ready("east")
    assert play.only_request().state is RequestState.UNKNOWN
    assert play.in_flight(AskRequest)
    assert not play.in_flight(SendRequest)


def test_the_same_frame_goes_again_only_after_the_frame_closed_and_the_provider_knew_nothing() -> None:
    play, _effect = bought()
    token = play.only_request().token
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east")
    asked(play, report(play.only_request(), "unknown"))
    again = play.take(SendRequest)
    request = play.only_request()
    assert (request.token, request.frames, again.key.n) == (token, 2, 2)
    assert request.mark_epoch == 1
    answer(play, again, report(request, "made", machine("i-1")))
    assert play.only_request().state is RequestState.FULFILLED


def test_a_no_asked_for_before_the_late_effect_is_over_does_not_count() -> None:
    play, _effect = bought(evolve(TRUSTED, token_replay="none"))
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east", promises=evolve(TRUSTED, token_replay="none", late_effect_s=100))
    request = play.only_request()
    asked(play, report(request, "not_made"))
    assert play.only_request().state is RequestState.UNKNOWN
    play.pass_s(101 + TRUSTED.list_delay_s)
    asked(play, report(request, "not_made"))
    assert play.world.requests[request.id].state is RequestState.NOT_MADE


def test_a_no_while_the_frame_is_still_open_does_not_count() -> None:
    play, effect = bought(evolve(TRUSTED, token_replay="none", late_effect_s=0))
    answer(play, effect, Lost("timed out"))
    asked(play, report(play.only_request(), "not_made"))
    assert play.only_request().state is RequestState.UNKNOWN


def test_two_complete_lists_further_apart_than_the_list_delay_are_a_no() -> None:
    play, _effect = bought(evolve(TRUSTED, token_replay="none", late_effect_s=0))
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east", promises=evolve(TRUSTED, token_replay="none", late_effect_s=0))
    request = play.only_request()
    assert request.state is RequestState.UNKNOWN
    play.pass_s(61)
    play.listed("east")
    assert play.world.requests[request.id].state is RequestState.NOT_MADE


def test_incomplete_lists_are_never_a_no() -> None:
    play, _effect = bought(evolve(TRUSTED, token_replay="none", late_effect_s=0))
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east", promises=evolve(TRUSTED, token_replay="none", late_effect_s=0))
    for _ in range(3):
        play.pass_s(61)
        play.listed("east", complete=False)
    assert play.only_request().state is RequestState.UNKNOWN


def test_a_yes_in_a_list_counts_in_any_state() -> None:
    play, effect = bought()
    request = play.only_request()
    answer(play, effect, Lost("timed out"))
    play.pass_s(61)
    play.listed("east", machine("i-9", "running", request))
    assert play.only_request().state is RequestState.FULFILLED


def test_a_late_yes_of_a_refused_purchase_is_surplus_and_is_never_lost() -> None:
    play, effect = bought()
    request = play.only_request()
    answer(play, effect, Refusal(Problem("no_capacity"), not_made=True))
    play.pass_s(61)
    play.listed("east", machine("i-9", "running", request))
    refused = play.world.requests[request.id]
    assert refused.state is RequestState.REFUSED
    assert refused.late
    (late,) = play.instances()
    assert late.surplus


def test_an_unwritten_frame_leaves_the_purchase_as_if_never_sent() -> None:
    play, effect = bought()
    answer(play, effect, NotWritten("the pipe was full"))
    assert not play.in_flight(SendRequest), "its process may be ending: it is not tried again and again meanwhile"
    play.pass_s(1)
    again = play.take(SendRequest)
    assert (again.request, again.key.n) == (effect.request, 1)


def test_a_restart_leaves_what_was_being_sent_unknown_and_asks() -> None:
    play, _effect = bought()
    later = play.restarted()
    assert later.only_request().state is RequestState.UNKNOWN
    later.provider_ready("east")
    asked(later, report(later.only_request(), "made", machine("i-1")))
    assert later.only_request().state is RequestState.FULFILLED
    assert later.world.epochs["provider.east"].epoch == 2


def test_after_a_restart_nothing_is_bought_before_the_first_answers_are_in() -> None:
    play, _effect = bought()
    later = play.restarted()
    later.provider_ready("east")
    later.supply(revision=3)
    later.demand(cores(30), revision=4, supply_revision=3)
    assert not later.in_flight(SendRequest)
    asked(later, report(play.only_request(), "made", machine("i-1")))
    assert later.in_flight(SendRequest)


def test_a_provider_without_tokens_is_used_one_purchase_at_a_time() -> None:
    play, _effect = bought(evolve(TRUSTED, token_replay="none"), count=900)
    assert not play.in_flight(SendRequest)
    open_states = sorted(r.state.value for r in play.world.open_requests.values())
    assert open_states.count("sending") == 1


def test_demand_and_supply_are_ordered_and_heartbeats_are_no_news() -> None:
    play = Play(settings_for("east"))
    play.demand(cores(1), revision=5)
    play.demand(cores(1), revision=5)
    play.demand(cores(2), revision=5)
    play.demand(cores(2), revision=4)
    assert [r.news if isinstance(r, Accepted) else getattr(r, "code", r) for r in play.replies] == [
        True,
        False,
        "revision_reused",
        "stale_revision",
    ]


def test_what_is_charged_once_a_purchase_is_borne_by_one_of_its_instances() -> None:
    once = evolve(HOST, price=Price(10, "USD", Per.HOUR, once_nanos=7))
    play = Play(settings_for("east"))
    play.provider_ready("east", templates=(once,))
    play.supply(revision=1)
    play.demand(cores(12), revision=2)
    effect = play.take(SendRequest)
    answer(play, effect, report(play.only_request(), "made", machine("i-1"), machine("i-2"), machine("i-3")))
    charged = [i.terms.price.once_nanos for i in play.instances() if i.terms.price is not None]
    assert sorted(charged) == [0, 0, 7]


@pytest.mark.parametrize("outcome", ["made", "not_made"])
def test_the_rest_of_a_part_is_not_given_up_while_a_frame_of_its_token_is_open(outcome: str) -> None:
    play, effect = bought(count=12)
    bought_once = play.only_request()
    answer(play, effect, Lost("no answer in time"))
    asked(play, report(bought_once, outcome, machine("i-1")))
    request = play.only_request()
    assert request.state in (RequestState.TAKEN, RequestState.UNKNOWN)
    assert request.made_units == 1
    play.event(LateAnswer("east", effect.number, request.id, report(request, "made", machine("i-1"))))
    assert play.world.requests[request.id].state is RequestState.SHORT


def test_what_is_asked_for_days_is_asked_on() -> None:
    play, effect = bought()
    request = play.only_request()
    answer(play, effect, report(request, "pending"))
    asks = play.world.seen.asks.set(request.id, Ask(100_000, play.now_s))
    play.world = evolve(play.world, seen=evolve(play.world.seen, asks=asks))
    play.pass_s(1)
    asked(play, Lost("cut"))
    assert play.world.seen.asks[request.id].next_boot_s == play.now_s + 60


def test_what_outlived_an_instance_does_not_cost_what_the_instance_did() -> None:
    play, effect = bought()
    request = play.only_request()
    volume = evolve(machine("vol-1", "running", request), kind=Kind.REMNANT)
    answer(play, effect, report(request, "made", machine("i-1"), volume))
    prices = {i.provider_id: i.terms.price for i in play.instances()}
    assert prices == {"i-1": HOST.price, "vol-1": None}


def test_a_complete_list_shows_that_credentials_are_taken_again() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.pass_s(60)
    read = play.take(ReadList)
    play.event(ReadFailed(read.key, "east", number, "list", Refusal(Problem("auth"), not_made=False)))
    assert play.world.seen.processes["east"].auth_failed
    play.pass_s(5)
    play.listed("east")
    assert not play.world.seen.processes["east"].auth_failed


def test_what_was_proven_gone_and_is_listed_later_all_the_same_is_a_stranger() -> None:
    play, effect = bought()
    request = play.only_request()
    answer(play, effect, report(request, "made", machine("i-1", "gone")))
    play.pass_s(60)
    play.listed("east", machine("i-1", "running", request))
    assert play.world.seen.lists["east"].strangers == ("i-1",)
    assert not play.world.live


def test_an_id_that_is_used_twice_hides_nothing_that_is_bought_later() -> None:
    play, effect = bought()
    first = play.only_request()
    answer(play, effect, report(first, "made", machine("node03", "gone")))
    second = play.take(SendRequest)
    answer(play, second, Lost("cut"))
    request = play.world.requests[second.request]
    play.pass_s(60)
    play.listed("east", machine("node03", "running", request))
    assert [i.token for i in play.world.live.values()] == [request.token]


def test_in_1_a_living_thing_that_is_said_to_come_of_a_second_purchase_too_has_one_record_all_the_same() -> None:
    play, effect = bought()
    answer(play, effect, report(play.only_request(), "made", machine("i-1", "running")))
    play.demand(cores(9), revision=3)
    second = play.take(SendRequest)
    request = play.world.requests[second.request]
    answer(play, second, report(request, "made", machine("i-1", "running")))
    assert [i.provider_id for i in play.instances()] == ["i-1"]
    assert play.world.requests[second.request].state is RequestState.SHORT
    assert not violations(play.world, play.moment(), play.settings)


def test_what_outlived_a_host_is_taken_up_and_is_none_of_the_hosts_that_were_bought() -> None:
    play, effect = bought(count=4)
    answer(play, effect, report(play.only_request(), "pending"))
    play.pass_s(61)
    play.listed("east", evolve(machine("vol-1", "running", play.only_request()), kind=Kind.REMNANT))
    request = play.only_request()
    assert (len(request.instances), request.made_units, request.state) == (1, 0, RequestState.TAKEN)
