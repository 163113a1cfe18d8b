"""Frames that were open when a provider's process ended by itself: counted, parked, spaced out, shown, and released.

Over 400 lines because every kind of frame is told by the same few steps, which stand here once.
"""

from typing import Any

import pytest
from attrs import evolve

from provisioner.core.crashes import SPACED_FIRST_S
from provisioner.core.effects import (
    AskRequest,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
)
from provisioner.core.events import (
    Described,
    Listed,
    Lost,
    NotWritten,
    ProcessEnded,
    ProcessSpawned,
    ProviderHinted,
    ProviderOpened,
    ReadFailed,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    ReturnWords,
)
from provisioner.core.evolve import Ordered
from provisioner.core.facts import ReturnFact
from provisioner.core.model import Template
from provisioner.core.orders import ProviderResumed
from provisioner.core.process import ProcessState
from provisioner.core.reasons import Why
from provisioner.core.request import RequestState
from provisioner.core.world import ProcessView
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for

CRASH = Lost("the process ended by itself: exit status 1", at_crash=True)


def view(play: Play) -> ProcessView:
    """The provider's process as it is seen."""
    return play.world.seen.processes["east"]


def opened(play: Play, promises: Any = TRUSTED) -> int:
    """Start and handshake, and no more; the process number."""
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    said = ("p", "1", ("host", "grant"), (), promises, "0123456789abcdef")
    play.event(ProviderOpened(opening.key, "east", start.number, *said))
    return start.number


def ends(play: Play, *outcomes: Any, words: str = "Segmentation fault") -> None:
    """The outcomes of what was open are told, then the end of the process; then its pause passes."""
    number = view(play).number
    for outcome in outcomes:
        play.event(outcome)
    play.effects = {k: e for k, e in play.effects.items() if k.process != number}
    play.event(ProcessEnded("east", number, 1, "the process ended by itself: exit status 1", words))


def back(play: Play) -> None:
    """Time passes until it is started again."""
    play.pass_s(max(0.0, view(play).wait_until_boot_s - play.now_s) + 0.1)


def sent(play: Play) -> SendRequest:
    """A purchase is on its way at a ready provider."""
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    return play.take(SendRequest)


def crashed_with_the_purchase(play: Play, send: SendRequest) -> None:
    """The process ends with this request frame open and is back."""
    ends(play, RequestAnswered(send.key, "east", send.number, send.request, CRASH))
    back(play)


def asked_without_an_answer(play: Play) -> None:
    """A status answer that leaves the purchase open, so that it is said again where that is allowed."""
    ask = play.take(AskRequest)
    unknown = report(play.world.requests[ask.request], "unknown")
    play.event(RequestAsked(ask.key, "east", ask.number, ask.request, play.now_s, unknown))


def test_a_purchase_open_at_two_ends_is_asked_about_and_never_sent_again() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    crashed_with_the_purchase(play, send)
    play.provider_ready("east")
    asked_without_an_answer(play)
    again = play.take(SendRequest)
    assert again.request == send.request
    crashed_with_the_purchase(play, again)
    play.provider_ready("east")
    asked_without_an_answer(play)
    play.pass_s(20)
    request = play.world.requests[send.request]
    assert (request.crashes, request.state, request.frames) == (2, RequestState.UNKNOWN, 2)
    assert request.reserve_nanos > 0
    assert not play.in_flight(SendRequest)
    assert play.in_flight(AskRequest)


def test_a_purchase_that_is_parked_stays_so_when_the_daemon_starts_again() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    crashed_with_the_purchase(play, send)
    play.provider_ready("east")
    asked_without_an_answer(play)
    crashed_with_the_purchase(play, play.take(SendRequest))
    later = play.restarted()
    later.provider_ready("east")
    asked_without_an_answer(later)
    later.pass_s(20)
    assert not later.in_flight(SendRequest)


def test_resume_releases_a_parked_purchase_and_names_it() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    crashed_with_the_purchase(play, send)
    play.provider_ready("east")
    asked_without_an_answer(play)
    crashed_with_the_purchase(play, play.take(SendRequest))
    play.provider_ready("east")
    asked_without_an_answer(play)
    assert not play.in_flight(SendRequest)
    play.event(ProviderResumed("east", "", "alice"))
    reply = play.replies[-1]
    assert isinstance(reply, Ordered)
    assert any(send.request in sentence for sentence in reply.did)
    play.pass_s(20)
    assert play.in_flight(SendRequest)


@pytest.mark.parametrize("outcome", [Lost("the daemon stops it"), NotWritten("no slot"), Lost("no", at_crash=False)])
def test_what_was_open_at_an_ordered_end_or_never_written_is_not_counted(outcome: Any) -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    play.event(RequestAnswered(send.key, "east", send.number, send.request, outcome))
    assert play.world.requests[send.request].crashes == 0


def given_back(play: Play) -> SendReturn:
    """A host is there, not wanted any more, and its give-back is on its way."""
    number = play.provider_ready("east")
    send = sent(play)
    made = report(play.only_request(), "made", machine("i-1", "running"))
    play.event(RequestAnswered(send.key, "east", number, send.request, made))
    for revision in range(3, 12):
        play.demand(revision=revision)
        play.supply(revision=revision)
        play.pass_s(200)
        for read in play.in_flight(ReadList):
            del play.effects[read.key]
            play.event(Listed(read.key, "east", number, play.now_s, True, 0, (machine("i-1", "running"),)))
        for said in play.in_flight(ReadDescription):
            del play.effects[said.key]
            play.event(Described(said.key, "east", number, "r1", repr((HOST,))[:20], (HOST,), ()))
    return play.take(SendReturn)


def only_return(play: Play) -> ReturnFact:
    """The one give-back there is."""
    (giveback,) = play.world.returns.values()
    return giveback


def crashed_with_the_give_back(play: Play, send: SendReturn, template: Template = HOST) -> None:
    """The process ends with this return frame open and is back."""
    ends(play, ReturnAnswered(send.key, "east", send.number, send.return_id, asked=False, outcome=CRASH))
    back(play)
    play.provider_ready("east", (template,))


def test_a_give_back_open_at_two_ends_is_still_said_again_at_the_slowest_pace() -> None:
    play = Play(settings_for("east"))
    crashed_with_the_give_back(play, given_back(play))
    play.pass_s(60)
    crashed_with_the_give_back(play, play.take(SendReturn))
    assert only_return(play).crashes == 2
    play.pass_s(play.settings.return_retry.most_s - 10)
    assert not play.in_flight(SendReturn)
    play.pass_s(20)
    play.take(SendReturn)


def test_a_parked_give_back_is_said_only_when_nothing_else_that_changes_something_is_in_flight() -> None:
    play = Play(settings_for("east"))
    crashed_with_the_give_back(play, given_back(play))
    play.pass_s(60)
    crashed_with_the_give_back(play, play.take(SendReturn))
    play.demand(cores(40), revision=20)
    play.supply(revision=20)
    buying = play.take(SendRequest)
    play.pass_s(play.settings.return_retry.most_s + 20)
    assert not play.in_flight(SendReturn)
    not_made = report(play.world.requests[buying.request], "not_made")
    play.event(RequestAnswered(buying.key, "east", buying.number, buying.request, not_made))
    play.pass_s(2)
    assert play.in_flight(SendReturn)


def test_a_parked_give_back_has_its_turn_though_one_purchase_would_follow_upon_the_other() -> None:
    play = Play(settings_for("east"))
    one_by_one = evolve(HOST, max_units=1)
    crashed_with_the_give_back(play, given_back(play))
    play.pass_s(60)
    crashed_with_the_give_back(play, play.take(SendReturn), one_by_one)
    play.pass_s(play.settings.return_retry.most_s - 30)
    play.demand(cores(80), revision=20)
    play.supply(revision=20)
    play.pass_s(60)
    for n in range(40):
        if play.in_flight(SendReturn):
            break
        buying = play.in_flight(SendRequest)[0]
        assert isinstance(buying, SendRequest)
        del play.effects[buying.key]
        made = report(play.world.requests[buying.request], "made", machine(f"i-more-{n}", "running"))
        play.event(RequestAnswered(buying.key, "east", buying.number, buying.request, made))
        play.pass_s(2)
    assert play.in_flight(SendReturn)
    assert not play.in_flight(SendRequest)
    assert any(r.state is RequestState.PLANNED for r in play.world.requests.values())


def test_nothing_is_bought_beside_a_parked_give_back_and_what_waited_is_bought_right_after_it() -> None:
    play = Play(settings_for("east"))
    crashed_with_the_give_back(play, given_back(play))
    play.pass_s(60)
    crashed_with_the_give_back(play, play.take(SendReturn))
    play.pass_s(play.settings.return_retry.most_s + 20)
    alone = play.take(SendReturn)
    play.demand(cores(40), revision=20)
    play.supply(revision=20)
    play.pass_s(1)
    assert not play.in_flight(SendRequest)
    play.event(ReturnAnswered(alone.key, "east", alone.number, alone.return_id, asked=False, outcome=ReturnWords(())))
    assert play.in_flight(SendRequest)


def test_a_good_answer_forgets_the_ends_a_give_back_was_open_at() -> None:
    play = Play(settings_for("east"))
    crashed_with_the_give_back(play, given_back(play))
    play.pass_s(60)
    send = play.take(SendReturn)
    play.event(ReturnAnswered(send.key, "east", send.number, send.return_id, asked=False, outcome=ReturnWords(())))
    assert only_return(play).crashes == 0


# --- questions


def test_a_status_question_open_at_two_ends_is_spaced_out_asked_alone_and_holds_up_nothing() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    play.event(RequestAnswered(send.key, "east", send.number, send.request, report(play.only_request(), "pending")))
    play.pass_s(10)
    for _ in range(2):
        ask = play.take(AskRequest)
        assert not ask.alone
        ends(play, RequestAsked(ask.key, "east", ask.number, ask.request, play.now_s, CRASH))
        back(play)
        play.provider_ready("east")
    assert not play.in_flight(AskRequest)
    play.demand(cores(4), cores(4, id="other"), revision=3)
    play.take(SendRequest)
    play.pass_s(SPACED_FIRST_S + 1)
    ask = play.take(AskRequest)
    assert (ask.request, ask.alone) == (send.request, True)
    answer = report(play.world.requests[ask.request], "pending")
    play.event(RequestAsked(ask.key, "east", ask.number, ask.request, play.now_s, answer))
    assert play.world.seen.asks[send.request].crashes == 0


def test_a_list_open_at_two_ends_is_spaced_out_and_nothing_is_bought_until_one_is_read() -> None:
    play = Play(settings_for("east"))
    for _ in range(2):
        number = opened(play)
        read = play.take(ReadList)
        ends(play, ReadFailed(read.key, "east", number, "list", CRASH))
        back(play)
    number = opened(play)
    described = play.take(ReadDescription)
    play.event(Described(described.key, "east", number, "r1", "d1", (HOST,), ()))
    assert not play.in_flight(ReadList)
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    assert not play.in_flight(SendRequest)
    (line,) = play.world.seen.plan.lines
    assert line.reason.why is Why.PROVIDER_NOT_READY
    assert "its list is read" in line.reason.sentence()
    play.pass_s(SPACED_FIRST_S + 1)
    play.listed("east")
    play.pass_s(0)
    play.supply(revision=3)
    play.pass_s(0)
    assert play.in_flight(SendRequest)


def test_names_that_are_read_no_more_since_that_ends_the_process_don_t_pile_up() -> None:
    play = Play(settings_for("east"))
    for _ in range(2):
        number = play.provider_ready("east")
        play.event(ProviderHinted("east", number, ("instances",), instances=("i-1",)))
        read = play.take(ReadSome)
        ends(play, ReadFailed(read.key, "east", number, "named", CRASH))
        back(play)
    number = play.provider_ready("east")
    play.event(ProviderHinted("east", number, ("instances",), instances=("i-1", "i-2")))
    assert not play.in_flight(ReadSome)
    play.pass_s(61)
    play.listed("east")
    assert "east" not in play.world.seen.wanted


def test_what_was_planned_before_the_list_became_suspect_is_not_sent_either() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    busy = evolve(view(play), throttled_until_boot_s=play.now_s + 5)
    seen = play.world.seen
    play.world = evolve(play.world, seen=evolve(seen, processes=seen.processes.set("east", busy)))
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    assert play.only_request().state is RequestState.PLANNED
    seen = play.world.seen
    suspect = evolve(seen.lists["east"], crashes=2)
    play.world = evolve(play.world, seen=evolve(seen, lists=seen.lists.set("east", suspect)))
    play.pass_s(10)
    assert not play.in_flight(SendRequest)
    play.pass_s(100)
    play.listed("east")
    assert play.in_flight(SendRequest), "the list that was read is news to it"


def test_a_description_open_at_two_ends_is_spaced_out() -> None:
    play = Play(settings_for("east"))
    for _ in range(2):
        number = opened(play)
        read = play.take(ReadDescription)
        ends(play, ReadFailed(read.key, "east", number, "description", CRASH))
        back(play)
    opened(play)
    assert not play.in_flight(ReadDescription)
    play.pass_s(SPACED_FIRST_S + 1)
    assert play.in_flight(ReadDescription)


def test_a_question_that_ends_every_process_leads_to_no_quarantine() -> None:
    play = Play(settings_for("east"))
    for _ in range(12):
        number = opened(play)
        for _ in range(100):
            if play.in_flight(ReadList):
                break
            play.pass_s(10)
        read = play.take(ReadList)
        ends(play, ReadFailed(read.key, "east", number, "list", CRASH))
        assert view(play).state is ProcessState.BACKING_OFF
        back(play)


@pytest.mark.parametrize(("what", "kind"), [("instances", ReadList), ("description", ReadDescription)])
def test_a_hint_given_at_each_start_brings_no_question_forward_that_is_spaced_out(what: str, kind: Any) -> None:
    play = Play(settings_for("east"))
    for _ in range(2):
        number = opened(play)
        read = play.take(kind)
        ends(play, ReadFailed(read.key, "east", number, "list" if kind is ReadList else "description", CRASH))
        back(play)
    number = opened(play)
    play.event(ProviderHinted("east", number, (what,)))
    assert not play.in_flight(kind)
    play.pass_s(SPACED_FIRST_S + 1)
    assert play.in_flight(kind)


def test_a_hint_about_a_purchase_brings_no_question_forward_that_is_spaced_out() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    play.event(RequestAnswered(send.key, "east", send.number, send.request, report(play.only_request(), "pending")))
    play.pass_s(6)
    for _ in range(2):
        ask = play.take(AskRequest)
        ends(play, RequestAsked(ask.key, "east", ask.number, ask.request, play.now_s, CRASH))
        back(play)
        play.provider_ready("east")
    number = view(play).number
    play.event(ProviderHinted("east", number, ("instances",), requests=(send.request,)))
    assert not play.in_flight(AskRequest)


# --- what is shown, and how long it is left alone


def test_each_end_is_kept_with_what_was_open_and_the_last_line_also_if_that_is_told_after_it() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    send = sent(play)
    answer = RequestAnswered(send.key, "east", send.number, send.request, CRASH)
    ends(play, words="Traceback: no such key")
    play.event(answer)
    (end,) = view(play).ends
    assert (end.open, end.open_count) == ((f"request {send.request}",), 1)
    assert end.last_words == "Traceback: no such key"
    assert "exit status 1" in end.reason


def crash_loop(play: Play, times: int) -> None:
    """So many starts that each end at once."""
    for _ in range(times):
        opened(play)
        ends(play)
        if view(play).state is not ProcessState.QUARANTINED:
            back(play)


def test_a_quarantine_is_short_while_a_give_back_is_open_and_each_further_try_is_one_start() -> None:
    play = Play(settings_for("east"))
    send = given_back(play)
    ends(play, ReturnAnswered(send.key, "east", send.number, send.return_id, asked=False, outcome=CRASH))
    back(play)
    crash_loop(play, 4)
    waits = []
    for _ in range(5):
        assert view(play).state is ProcessState.QUARANTINED
        begun = play.now_s
        while not play.in_flight(StartProcess):
            play.pass_s(5)
        waits.append(play.now_s - begun)
        crash_loop(play, 1)
    assert waits == [60, 120, 240, 480, 900]


def test_a_quarantine_without_anything_open_lasts_its_time() -> None:
    play = Play(settings_for("east"))
    crash_loop(play, 5)
    play.pass_s(890)
    assert not play.in_flight(StartProcess)
    play.pass_s(20)
    assert play.in_flight(StartProcess)
