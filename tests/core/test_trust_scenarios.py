"""A provider that breaks what it promised, or has lost its records, is believed no more until an operator says so."""

from attrs import evolve

from provisioner.core.effects import (
    AskRequest,
    AskReturn,
    OpenProvider,
    ReadDescription,
    ReadList,
    SendRequest,
    SendReturn,
    StartProcess,
)
from provisioner.core.events import (
    Described,
    ItemWord,
    Listed,
    Moment,
    ProcessSpawned,
    ProviderOpened,
    Refusal,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    ReturnWords,
    SeenInstance,
)
from provisioner.core.model import Kind, Problem, Promises
from provisioner.core.orders import ProviderResumed
from provisioner.core.reasons import Why
from provisioner.core.request import RequestState
from provisioner.core.trust import WEAKEST, has_lost_memory, weakened
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for

IN_ITS_FOLDER = evolve(TRUSTED, token_replay="at_most_once", memory_where="state_dir", mark_kept="own_records")


def bought(promises: Promises = TRUSTED) -> tuple[Play, SendRequest]:
    """A daemon that has just begun to send one purchase of one host."""
    play = Play(settings_for("east", idle_time_s=0.0))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    return play, play.take(SendRequest)


def answered(play: Play, sent: SendRequest, outcome: object) -> None:
    """Gives the outcome of a request frame."""
    play.event(RequestAnswered(sent.key, "east", sent.number, sent.request, outcome))  # type: ignore[arg-type]


def broken(play: Play) -> list[str]:
    """The promises that count as broken."""
    return [b.promise for b in play.world.descriptions["east"].broken]


def listed_later(play: Play, *seen: SeenInstance) -> None:
    """The next list, well after the list delay, shows these."""
    play.pass_s(61)
    play.listed("east", *seen)


def test_a_thing_that_turns_up_after_a_final_no_ends_the_trust_in_tokens() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, Refusal(Problem("no_capacity"), not_made=True))
    assert play.only_request().state is RequestState.REFUSED
    listed_later(play, machine("i-1", request=request))
    assert broken(play) == ["token.replay"]
    assert play.world.descriptions["east"].promises.token_replay == "none"
    assert "i-1 turned up" in play.world.descriptions["east"].broken[0].why


def test_more_than_was_asked_for_under_one_token_ends_the_trust_in_tokens() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, report(request, "made", machine("i-1", request=request)))
    listed_later(play, machine("i-1", request=request), machine("i-2", request=request))
    assert broken(play) == ["token.replay"]


def test_a_thing_that_two_lists_had_lacked_ends_the_trust_in_lists() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, Refusal(Problem("transient"), not_made=False))
    listed_later(play)
    listed_later(play)
    assert play.world.requests[request.id].state is RequestState.NOT_MADE
    listed_later(play, machine("i-1", request=request))
    assert broken(play) == ["list.covers"]
    assert play.world.descriptions["east"].promises.list_covers == "own_records"


def test_what_was_returned_and_is_listed_again_ends_the_trust_in_that_word() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, report(request, "made", machine("i-1", "failed", request=request)))
    giving = play.take(SendReturn)
    words = ReturnWords((ItemWord("i-1", "returned", 0),))
    play.event(ReturnAnswered(giving.key, "east", giving.number, giving.return_id, asked=False, outcome=words))
    assert not play.world.live
    listed_later(play, machine("i-1", "running", request=request))
    assert broken(play) == ["return.observed"]
    assert not play.in_flight(AskReturn)


def test_an_honest_provider_is_accused_of_nothing() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, report(request, "made", machine("i-1", request=request)))
    listed_later(play, machine("i-1", "running", request=request))
    assert broken(play) == []


def test_what_outlives_a_host_breaks_no_promise_unless_nothing_was_said_to_be_made() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, report(request, "made", machine("i-1", "running")))
    listed_later(
        play, machine("i-1", "running", request), evolve(machine("vol-1", "running", request), kind=Kind.REMNANT)
    )
    assert len(play.instances()) == 2
    assert broken(play) == []
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, Refusal(Problem("no_capacity"), not_made=True))
    listed_later(play, evolve(machine("vol-1", "running", request), kind=Kind.REMNANT))
    assert broken(play) == ["token.replay"]


def test_what_is_broken_stays_so_in_the_next_process_and_until_an_operator_believes_it_again() -> None:
    play, sent = bought()
    request = play.only_request()
    answered(play, sent, Refusal(Problem("no_capacity"), not_made=True))
    listed_later(play, machine("i-1", request=request))
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east")
    assert play.world.descriptions["east"].promises.token_replay == "none"
    again = play.restarted()
    again.provider_ready("east")
    assert again.world.descriptions["east"].promises.token_replay == "none"
    again.event(ProviderResumed("east", "me", ""))
    assert again.world.descriptions["east"].promises == TRUSTED
    assert broken(again) == []


def test_a_promise_that_was_never_made_can_not_be_broken() -> None:
    play, sent = bought(evolve(TRUSTED, token_replay="none", token_lifetime_s=0))
    request = play.only_request()
    answered(play, sent, Refusal(Problem("no_capacity"), not_made=True))
    listed_later(play, machine("i-1", request=request))
    assert broken(play) == []


def test_every_promise_that_can_be_broken_has_a_weaker_reading() -> None:
    strong = evolve(TRUSTED, unknown_ends_s=60, not_found_gone_after_s=60)
    for read in WEAKEST.values():
        assert read(strong) != strong
    assert weakened(strong, ()) == strong


# --- memory


def opened_with(play: Play, state_id: str, promises: Promises) -> None:
    """The next process comes up with this folder."""
    play.process_ends("east")
    play.pass_s(2)
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    play.event(
        ProviderOpened(opening.key, "east", start.number, "p", "1", ("host",), (), promises, state_id, contract="2.0")
    )
    reading = play.take(ReadDescription)
    play.event(Described(reading.key, "east", start.number, "r1", "other", (HOST,), ()))


def with_lost_memory() -> tuple[Play, str]:
    """A purchase whose answer was lost, at a provider that comes back with another folder."""
    play, sent = bought(IN_ITS_FOLDER)
    answered(play, sent, Refusal(Problem("transient"), not_made=False))
    opened_with(play, "another-folder-0", IN_ITS_FOLDER)
    return play, sent.request


def test_a_provider_with_other_records_than_it_had_is_bought_from_no_more() -> None:
    play, _ = with_lost_memory()
    assert has_lost_memory(play.world, "east")
    play.demand(cores(3), cores(5, id="more"), revision=3)
    play.pass_s(30)
    assert not play.in_flight(SendRequest)
    statuses = {s.line: s for s in play.world.seen.plan.lines}
    assert Why.MEMORY_LOST.value in {r.reason for r in statuses["more"].rejected}


def test_neither_its_word_nor_its_lists_prove_that_nothing_was_made() -> None:
    play, request = with_lost_memory()
    asked = play.take(AskRequest)
    no = report(play.world.requests[request], "not_made")
    play.event(RequestAsked(asked.key, "east", asked.number, request, play.now_s + 500, no))
    for _ in range(3):
        if play.in_flight(ReadList):
            play.listed("east")
        play.pass_s(61)
    assert play.world.requests[request].state is RequestState.UNKNOWN


def test_an_operators_word_ends_it_and_a_yes_counts_before() -> None:
    play, request = with_lost_memory()
    reading = play.take(ReadList)
    fact = play.world.requests[request]
    seen = (machine("i-1", request=fact),)
    play.event(Listed(reading.key, "east", reading.number, play.now_s, True, 0, seen))
    assert play.world.requests[request].state is RequestState.FULFILLED
    play.event(ProviderResumed("east", "me", ""))
    assert not has_lost_memory(play.world, "east")


def test_another_folder_means_nothing_where_the_memory_is_at_the_far_side() -> None:
    play, _ = bought(TRUSTED)
    opened_with(play, "another-folder-0", TRUSTED)
    assert not has_lost_memory(play.world, "east")
    assert isinstance(play.moment(), Moment)
