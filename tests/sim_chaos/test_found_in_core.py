"""What random histories found in the core, each as the smallest scenario that shows it."""

from attrs import evolve

from provisioner.core.effects import AskReturn, SendRequest, SendReturn
from provisioner.core.events import (
    ItemWord,
    Lost,
    PushedEntry,
    Refusal,
    RequestAnswered,
    ReturnAnswered,
    ReturnWords,
    SeenInstance,
)
from provisioner.core.model import EntryState, Kind, Problem, Promises
from provisioner.core.request import RequestState
from tests.core.play import TRUSTED, cores, machine, report, settings_for
from tests.sim_chaos.sleeping_play import SleepingPlay


def with_a_request(promises: Promises = TRUSTED) -> tuple[SleepingPlay, SendRequest]:
    """A daemon that has just begun to send one purchase of one host."""
    play = SleepingPlay(settings_for("east", idle_time_s=60.0))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    return play, play.take(SendRequest)


def with_a_return_taken() -> SleepingPlay:
    """A daemon whose give-back of its one host was taken and is not proven yet."""
    play, effect = with_a_request()
    made = report(play.only_request(), "made", machine("i-1", "running"))
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, made))
    (host,) = play.instances()
    for n, state in enumerate((EntryState.IDLE, EntryState.IDLE, EntryState.DRAINED)):
        drain = play.world.instances[host.id].drain
        entry = PushedEntry(state=state, instance=host.id, name="n1", drain=drain.id if drain is not None else None)
        play.supply(entry, revision=3 + 2 * n)
        play.demand(revision=4 + 2 * n, supply_revision=3 + 2 * n)
        play.pass_s(61 if n == 1 else 1)
    effect_ = play.take(SendReturn)
    words = ReturnWords((ItemWord("i-1", "returning"),))
    play.event(ReturnAnswered(effect_.key, "east", effect_.number, effect_.return_id, asked=False, outcome=words))
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
    promises = evolve(TRUSTED, token_replay="none", mark_kept="none", late_effect_s=0)
    play, effect = with_a_request(promises)
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, Lost("cut")))
    play.process_ends("east")
    play.pass_s(5)
    play.provider_ready("east", promises=promises)
    for _ in range(3):
        play.pass_s(61)
        play.listed("east", nameless("i-lost"))
    assert play.only_request().state is RequestState.UNKNOWN
    for _ in range(2):
        play.pass_s(61)
        play.listed("east")
    assert play.world.requests[effect.request].state is RequestState.NOT_MADE
