"""What random histories found in the core, each as the smallest scenario that shows it."""

from attrs import evolve

from provisioner.core.effects import AskRequest, AskReturn, ReadList, ReadSome, SendRequest, SendReturn
from provisioner.core.events import (
    ItemWord,
    Listed,
    Lost,
    PushedEntry,
    ReadFailed,
    Refusal,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    ReturnWords,
    SeenInstance,
)
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Kind, Problem, Promises
from provisioner.core.request import RequestState
from tests.core.play import TRUSTED, cores, machine, report, settings_for
from tests.sim_chaos.sleeping_play import SleepingPlay

NAMELESS = evolve(TRUSTED, token_replay="none", mark_kept="none", late_effect_s=0)
"""The promises of a provider that has neither tokens nor marks, and whose lists cover its far side."""


def with_a_request(promises: Promises = TRUSTED, count: int = 3) -> tuple[SleepingPlay, SendRequest]:
    """A daemon that has just begun to send one purchase."""
    play = SleepingPlay(settings_for("east", idle_time_s=60.0))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(count), revision=2)
    return play, play.take(SendRequest)


def answer(play: SleepingPlay, effect: SendRequest, outcome: object) -> None:
    """Gives the outcome of a request frame."""
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, outcome))  # type: ignore[arg-type]


def asked(play: SleepingPlay, outcome: object) -> None:
    """Answers the question about a purchase that is in flight."""
    ask = play.take(AskRequest)
    play.event(RequestAsked(ask.key, "east", ask.number, ask.request, play.now_s, outcome))  # type: ignore[arg-type]


def lost(play: SleepingPlay, effect: SendRequest, promises: Promises) -> None:
    """The answer is cut, the process ends, and the next one is ready."""
    answer(play, effect, Lost("cut"))
    play.process_ends("east")
    play.pass_s(5)
    play.provider_ready("east", promises=promises)


def wall_clock_jumps(play: SleepingPlay, by_s: float) -> None:
    """The wall clock is set while the boot clock goes on."""
    play.started_at += by_s


def with_a_host() -> tuple[SleepingPlay, str]:
    """A daemon whose one host is booting, at a provider that proves by "not found" after a minute."""
    play, effect = with_a_request(evolve(TRUSTED, not_found_gone_after_s=60))
    answer(play, effect, report(play.only_request(), "made", machine("i-1")))
    (host,) = play.instances()
    return play, host.id


def with_a_return_taken() -> SleepingPlay:
    """A daemon whose give-back of its one host was taken and is not proven yet."""
    play, effect = with_a_request()
    answer(play, effect, report(play.only_request(), "made", machine("i-1", "running")))
    (host,) = play.instances()
    for n, state in enumerate((EntryState.IDLE, EntryState.IDLE, EntryState.DRAINED)):
        drain = play.world.instances[host.id].drain
        entry = PushedEntry(state=state, instance=host.id, name="n1", drain=drain.id if drain is not None else None)
        play.supply(entry, revision=3 + 2 * n)
        play.demand(revision=4 + 2 * n, supply_revision=3 + 2 * n)
        play.pass_s(61 if n == 1 else 1)
    sent = play.take(SendReturn)
    words = ReturnWords((ItemWord("i-1", "returning"),))
    play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=words))
    return play


def test_a_give_back_whose_question_was_refused_is_asked_for_again() -> None:
    play = with_a_return_taken()
    play.pass_s(5)
    ask = play.take(AskReturn)
    slow = Refusal(Problem("throttled", retry_after_s=5), not_made=False)
    play.event(ReturnAnswered(ask.key, "east", ask.number, ask.return_id, asked=True, outcome=slow))
    play.pass_s(120)
    assert play.in_flight(AskReturn)


def nameless(provider_id: str) -> SeenInstance:
    """A machine on a list that bears no mark."""
    return SeenInstance(provider_id, Kind.HOST, 1, "running", template="small")


def test_lists_of_a_provider_without_marks_disprove_nothing_while_they_show_something_nameless() -> None:
    play, effect = with_a_request(NAMELESS)
    lost(play, effect, NAMELESS)
    for _ in range(3):
        play.pass_s(61)
        play.listed("east", nameless("i-lost"))
    assert play.only_request().state is RequestState.UNKNOWN
    for _ in range(2):
        play.pass_s(61)
        play.listed("east")
    assert play.world.requests[effect.request].state is RequestState.NOT_MADE


def test_a_purchase_that_stays_unknown_is_said_again_at_growing_pauses_only() -> None:
    play, effect = with_a_request()
    lost(play, effect, TRUSTED)
    asked(play, report(play.only_request(), "unknown"))
    said = 0
    for _ in range(30):
        for again in play.in_flight(SendRequest):
            assert isinstance(again, SendRequest)
            play.effects.pop(again.key)
            said += 1
            answer(play, again, report(play.world.requests[again.request], "unknown"))
        play.pass_s(1)
        if play.in_flight(AskRequest):
            asked(play, report(play.only_request(), "unknown"))
    assert 2 <= said <= 5


def test_two_complete_lists_settle_the_rest_of_a_purchase_of_which_a_part_was_seen() -> None:
    promises = evolve(TRUSTED, token_replay="none", late_effect_s=0)
    play, effect = with_a_request(promises, count=12)
    lost(play, effect, promises)
    request = play.only_request()
    assert request.units > 1
    for _ in range(3):
        play.pass_s(61)
        play.listed("east", machine("i-1", "running", request))
    settled = play.world.requests[request.id]
    assert (settled.state, settled.made_units) == (RequestState.SHORT, 1)


def test_a_part_that_turns_up_between_two_lists_puts_the_no_to_the_rest_off() -> None:
    promises = evolve(TRUSTED, token_replay="none", late_effect_s=0, list_delay_s=100)
    play, effect = with_a_request(promises, count=12)
    lost(play, effect, promises)
    request = play.only_request()
    play.pass_s(61)
    play.listed("east")
    play.pass_s(61)
    play.listed("east", machine("i-1", "running", request))
    assert play.world.requests[request.id].state is RequestState.UNKNOWN


def test_not_found_proves_nothing_of_a_host_that_only_a_jump_of_the_wall_clock_has_made_old() -> None:
    play, host = with_a_host()
    wall_clock_jumps(play, 3_600)
    play.pass_s(31)
    play.settle([])
    missing(play)
    assert play.world.live[host].state is InstanceState.BOOTING
    play.pass_s(61)
    missing(play)
    assert play.world.instances[host].state is InstanceState.GONE


def missing(play: SleepingPlay) -> None:
    """The read of the one host that is in flight does not find it."""
    read = play.take(ReadSome)
    play.event(
        Listed(read.key, "east", read.number, play.now_s, False, 0, (), named=read.refs, not_found=read.refs),
    )


def test_a_jump_of_the_wall_clock_does_not_end_what_ends_by_itself_after_a_while() -> None:
    promises = evolve(NAMELESS, unknown_ends_s=600, list_covers="own_records")
    play, effect = with_a_request(promises)
    lost(play, effect, promises)
    wall_clock_jumps(play, 3_600)
    asked(play, report(play.only_request(), "unknown"))
    play.pass_s(60)
    assert play.only_request().state is RequestState.UNKNOWN
    for _ in range(12):
        if play.in_flight(AskRequest):
            asked(play, report(play.world.requests[effect.request], "unknown"))
        play.pass_s(60)
    assert play.world.requests[effect.request].state is RequestState.NOT_MADE


def test_a_token_is_not_used_again_after_the_wall_clock_has_jumped_back_over_its_lifetime() -> None:
    promises = evolve(TRUSTED, token_lifetime_s=300)
    play, effect = with_a_request(promises)
    answer(play, effect, Lost("cut"))
    play.pass_s(200)
    wall_clock_jumps(play, -260)
    play.process_ends("east")
    play.pass_s(160)
    play.provider_ready("east", promises=promises)
    asked(play, report(play.only_request(), "unknown"))
    play.pass_s(1)
    assert not play.in_flight(SendRequest)


def test_a_no_by_sight_counts_only_once_what_took_effect_last_can_be_seen() -> None:
    promises = evolve(TRUSTED, token_lifetime_s=0, late_effect_s=2, list_delay_s=20)
    play, effect = with_a_request(promises)
    lost(play, effect, promises)
    request = play.only_request()
    play.pass_s(3)
    asked(play, report(request, "not_made", poll_after_s=30))
    assert play.only_request().state is RequestState.UNKNOWN
    play.pass_s(31)
    asked(play, report(request, "not_made"))
    assert play.world.requests[request.id].state is RequestState.NOT_MADE


def test_a_read_of_named_hosts_that_fails_is_not_repeated_without_a_pause() -> None:
    play, _host = with_a_host()
    play.pass_s(31)
    read = play.take(ReadSome)
    slow = Refusal(Problem("throttled", retry_after_s=5), not_made=False)
    play.event(ReadFailed(read.key, "east", read.number, "named", slow))
    assert not play.in_flight(ReadSome)
    play.pass_s(20)
    assert play.in_flight(ReadList)
