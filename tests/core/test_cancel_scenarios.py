"""A purchase that was sent and is not wanted any more, to its end; and final answers a provider need not keep."""

import pytest
from attrs import evolve

from provisioner.core.effects import AskRequest, CancelRequest, Forget, SendRequest
from provisioner.core.events import (
    CancelAnswered,
    Event,
    ForgetAnswered,
    LateAnswer,
    Lost,
    NotWritten,
    ProviderOpened,
    Refusal,
    Report,
    RequestAnswered,
    RequestAsked,
)
from provisioner.core.forgetting import KEPT_FOR_S
from provisioner.core.model import Problem, Promises
from provisioner.core.request import RequestState
from provisioner.core.settings import Settings
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for

SHRINK_S = settings_for().policy.shrink_delay_s


class CancelPlay(Play):
    """A daemon whose provider declared what a test names."""

    capabilities: tuple[str, ...] = ("cancel", "forget")

    def event(self, event: Event, *, plan: bool = True) -> None:
        if isinstance(event, ProviderOpened):
            event = evolve(event, capabilities=self.capabilities)
        super().event(event, plan=plan)


def taken(
    capabilities: tuple[str, ...] = ("cancel", "forget"), promises: Promises = TRUSTED, settings: Settings | None = None
) -> CancelPlay:
    """A daemon one of whose purchases is worked on by its provider."""
    CancelPlay.capabilities = capabilities
    play = CancelPlay(settings or settings_for("east"))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    sent = play.take(SendRequest)
    pending = report(play.only_request(), "pending", poll_after_s=1000)
    play.event(RequestAnswered(sent.key, "east", sent.number, sent.request, pending))
    assert play.only_request().state is RequestState.TAKEN
    return play


def unwanted(play: CancelPlay) -> CancelPlay:
    """Its line goes away, and the delay passes."""
    play.demand(revision=3)
    play.pass_s(SHRINK_S + 1)
    return play


def told(play: CancelPlay, outcome: Report | Refusal | Lost | NotWritten) -> None:
    """Answers the asking for its end."""
    asking = play.take(CancelRequest)
    play.event(CancelAnswered(asking.key, "east", asking.number, asking.request, play.now_s, outcome))


def test_a_sent_purchase_that_serves_no_line_is_ended_after_the_delay_and_not_before() -> None:
    play = taken()
    play.demand(revision=3)
    play.pass_s(SHRINK_S - 1)
    assert not play.in_flight(CancelRequest)
    play.pass_s(2)
    assert play.take(CancelRequest).request == play.only_request().id
    assert play.only_request().state is RequestState.TAKEN
    assert [d.what for d in play.world.decisions.values()].count("cancel") == 1
    assert not play.world.wishes


def test_demand_that_is_back_within_the_delay_keeps_the_purchase() -> None:
    play = taken()
    play.demand(revision=3)
    play.pass_s(SHRINK_S - 1)
    play.demand(cores(8), revision=4)
    play.pass_s(SHRINK_S - 1)
    assert not play.in_flight(CancelRequest)
    assert play.only_request().cancel_at is None


def test_a_purchase_of_which_a_line_needs_a_part_is_not_ended() -> None:
    play = taken()
    play.demand(cores(1), revision=3)
    play.pass_s(SHRINK_S + 1)
    assert not play.in_flight(CancelRequest)


def test_an_overdue_purchase_is_ended_after_the_delay_too_once_its_lines_are_gone() -> None:
    play = taken()
    first = play.only_request().id
    play.now_s += play.settings.policy.cover_s + HOST.lead_worst_s + 1
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    play.pass_s(play.settings.policy.tick_s + 1)
    assert len(play.world.requests) == 2, "an overdue purchase is hedged"
    assert play.world.requests[first].deadline_at > play.started_at + play.now_s + 2 * SHRINK_S
    play.demand(revision=3)
    play.pass_s(SHRINK_S - 1)
    assert not play.in_flight(CancelRequest)
    play.pass_s(2)
    assert play.world.requests[first].cancel_at is not None


def test_an_overdue_purchase_whose_line_stands_is_left_to_its_deadline() -> None:
    play = taken()
    first = play.only_request().id
    play.now_s += play.settings.policy.cover_s + HOST.lead_worst_s + 1
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    play.pass_s(play.settings.policy.tick_s + 1)
    play.pass_s(2 * SHRINK_S)
    assert len(play.world.requests) == 2
    assert play.world.requests[first].cancel_at is None


def test_a_provider_that_did_not_declare_it_is_never_asked() -> None:
    play = unwanted(taken(capabilities=("forget",)))
    play.now_s += 5_000
    play.pass_s(1)
    assert not play.in_flight(CancelRequest)
    assert play.only_request().cancel_at is None


def test_nothing_is_concluded_of_a_source_that_went_silent() -> None:
    play = taken()
    play.demand(revision=3)
    fresh_for_s = play.settings.source("lsf").fresh_for_s
    assert fresh_for_s is not None
    play.settings = evolve(play.settings, policy=evolve(play.settings.policy, shrink_delay_s=fresh_for_s + 60))
    play.pass_s(fresh_for_s + 120)
    assert play.only_request().cancel_at is None


def test_cancelled_is_a_no_once_asked_after_the_last_frame_and_its_late_effect() -> None:
    play = unwanted(taken())
    told(play, report(play.only_request(), "not_made"))
    assert play.only_request().state is RequestState.NOT_MADE


def test_a_no_that_comes_too_early_to_count_leaves_it_open_and_is_asked_for_again() -> None:
    play = unwanted(taken(promises=evolve(TRUSTED, late_effect_s=10_000)))
    told(play, report(play.only_request(), "not_made"))
    assert play.only_request().state is RequestState.TAKEN
    play.pass_s(31)
    assert play.in_flight(AskRequest)


def test_what_was_made_before_the_end_is_taken_up_and_the_rest_is_free() -> None:
    play = unwanted(taken())
    request = play.only_request()
    told(play, report(request, "made", machine("i-1", request=request)))
    assert play.only_request().state is RequestState.SHORT
    assert [i.provider_id for i in play.instances()] == ["i-1"]


def test_a_pending_end_is_asked_for_again_later_and_settled_by_an_ordinary_question() -> None:
    play = unwanted(taken())
    told(play, report(play.only_request(), "pending", poll_after_s=5))
    assert not play.in_flight(CancelRequest)
    play.pass_s(6)
    asked = play.take(AskRequest)
    no = report(play.only_request(), "not_made")
    play.event(RequestAsked(asked.key, "east", asked.number, asked.request, play.now_s, no))
    assert play.only_request().state is RequestState.NOT_MADE
    play.pass_s(100)
    assert not play.in_flight(CancelRequest)


@pytest.mark.parametrize(
    "outcome",
    [
        Lost("cut"),
        NotWritten("full"),
        Refusal(Problem("unsupported"), not_made=True),
        Refusal(Problem("transient"), False),
    ],
)
def test_an_end_that_was_not_taken_proves_nothing_and_is_asked_for_again(outcome: Lost | NotWritten | Refusal) -> None:
    play = unwanted(taken())
    told(play, outcome)
    assert play.only_request().state is RequestState.TAKEN
    play.pass_s(31)
    assert play.in_flight(CancelRequest)


def test_a_purchase_being_ended_answers_no_new_demand_and_is_never_sent_again() -> None:
    play = unwanted(taken())
    told(play, Lost("cut"))
    play.demand(cores(8), revision=4)
    play.pass_s(1)
    first, second = sorted(play.world.requests.values(), key=lambda r: r.planned_at)
    assert (first.frames, second.state) == (1, RequestState.SENDING)


def test_an_end_asked_for_survives_the_process_and_the_daemon() -> None:
    play = unwanted(taken())
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east")
    assert play.in_flight(CancelRequest)
    again = play.restarted()
    again.provider_ready("east")
    assert again.in_flight(CancelRequest)


def test_a_purchase_past_its_deadline_is_ended_though_it_is_wanted() -> None:
    play = taken()
    first = play.only_request().id
    deadline_at = play.only_request().deadline_at
    play.now_s += deadline_at - (play.started_at + play.now_s) - 30
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    assert not play.in_flight(CancelRequest)
    play.pass_s(31)
    assert play.take(CancelRequest).request == first
    assert "deadline" in play.world.requests[first].cancel_why


def test_it_is_not_ended_while_the_frame_that_buys_is_open() -> None:
    CancelPlay.capabilities = ("cancel",)
    play = CancelPlay(settings_for("east"))
    play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    play.demand(revision=3)
    play.pass_s(SHRINK_S + 1)
    assert play.only_request().cancel_at is not None
    assert not play.in_flight(CancelRequest)
    sent = play.take(SendRequest)
    pending = report(play.only_request(), "pending")
    play.event(RequestAnswered(sent.key, "east", sent.number, sent.request, pending))
    assert play.in_flight(CancelRequest)


def test_an_ended_purchase_of_which_nothing_came_is_no_failure_of_the_offer() -> None:
    play = unwanted(taken())
    told(play, report(play.only_request(), "not_made"))
    assert not play.world.health


def test_a_late_answer_to_a_cancel_is_examined_for_a_yes_and_closes_no_frame() -> None:
    play = unwanted(taken())
    request = play.only_request()
    frames = play.world.seen.frames_closed
    late = LateAnswer("east", 1, request.id, report(request, "made", machine("i-1")), closes_frame=False)
    play.event(late)
    assert [i.provider_id for i in play.instances()] == ["i-1"]
    assert play.world.seen.frames_closed == frames


# --- forgetting


def over(play: CancelPlay) -> CancelPlay:
    """The purchase is settled with nothing made."""
    told(unwanted(play), report(play.only_request(), "not_made"))
    return play


def test_final_answers_are_let_go_a_while_after_their_end_and_only_once() -> None:
    play = over(taken())
    play.pass_s(KEPT_FOR_S - 10)
    assert not play.in_flight(Forget)
    play.pass_s(400)
    telling = play.take(Forget)
    assert telling.requests == (play.only_request().id,)
    play.event(ForgetAnswered(telling.key, "east", telling.number, telling.requests, telling.returns))
    assert play.only_request().forgotten
    play.pass_s(1_000)
    assert not play.in_flight(Forget)


@pytest.mark.parametrize("refusal", [Lost("cut"), NotWritten("full"), Refusal(Problem("transient"), not_made=False)])
def test_what_was_not_let_go_is_told_again(refusal: Lost | NotWritten | Refusal) -> None:
    play = over(taken())
    play.pass_s(1_000)
    telling = play.take(Forget)
    play.event(ForgetAnswered(telling.key, "east", telling.number, telling.requests, telling.returns, refusal))
    assert not play.only_request().forgotten
    assert not play.in_flight(Forget)
    play.pass_s(61)
    assert play.in_flight(Forget)


def test_a_purchase_with_a_living_thing_is_not_let_go() -> None:
    play = unwanted(taken())
    request = play.only_request()
    told(play, report(request, "made", machine("i-1", request=request)))
    play.pass_s(5_000)
    assert not any(isinstance(f, Forget) and request.id in f.requests for f in play.in_flight(Forget))


def test_a_provider_that_did_not_declare_forget_is_never_told() -> None:
    play = over(taken(capabilities=("cancel",)))
    play.pass_s(5_000)
    assert not play.in_flight(Forget)


def test_no_lead_time_puts_a_deadline_off_for_more_than_a_month() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east", templates=(evolve(HOST, lead_worst_s=2**53 - 1),))
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    request = play.only_request()
    assert request.deadline_at - request.planned_at == 30 * 86_400
