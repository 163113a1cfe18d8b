"""From joined to gone: idle hosts are asked to drain, consent is needed, and a give-back is said until it is proven."""

import pytest
from attrs import evolve

from provisioner.core.effects import AskReturn, ReadList, ReadSome, SendRequest, SendReturn
from provisioner.core.events import (
    ItemWord,
    Listed,
    Lost,
    NotWritten,
    PushedEntry,
    RequestAnswered,
    ReturnAnswered,
    ReturnWords,
)
from provisioner.core.giveback import ReturnState
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Problem, Promises
from tests.core.play import TRUSTED, Play, cores, machine, report, settings_for


def joined(promises: Promises = TRUSTED) -> tuple[Play, str]:
    """A daemon with one running host that has joined and is busy, and no demand left."""
    play = Play(settings_for("east", idle_time_s=60.0))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    effect = play.take(SendRequest)
    made = report(play.only_request(), "made", machine("i-1", "running"))
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, made))
    (host,) = play.instances()
    say(play, host.id, EntryState.BUSY, 3)
    return play, host.id


@pytest.mark.parametrize("first", [EntryState.DRAINED, EntryState.BUSY])
def test_a_host_named_twice_in_one_snapshot_is_busy_if_either_word_says_so(first: EntryState) -> None:
    play, host = joined()
    drain = idle_until_drained(play, host)
    second = EntryState.BUSY if first is EntryState.DRAINED else EntryState.DRAINED
    by_id = PushedEntry(state=first, instance=host, name="n1", drain=drain)
    by_name = PushedEntry(state=second, provider="east", provider_id=play.instances()[0].provider_id, drain=drain)
    play.supply(by_id, by_name, revision=7)
    play.pass_s(60)
    assert not play.world.returns
    assert [e.state for e in play.world.supplies["lsf"].entries] == [EntryState.BUSY]


def say(play: Play, host: str, state: EntryState, revision: int, drain: str | None = None) -> None:
    """The source reports its one host, and that it lacks nothing."""
    entry = PushedEntry(state=state, instance=host, name="n1", since=play.moment().at, drain=drain)
    play.supply(entry, revision=revision)
    play.demand(revision=revision + 1, supply_revision=revision)


def idle_until_drained(play: Play, host: str) -> str:
    """The host goes idle and stays so past the idle time; returns the drain's id."""
    say(play, host, EntryState.IDLE, 5)
    play.pass_s(61)
    drain = play.world.instances[host].drain
    assert drain is not None
    return drain.id


def test_an_idle_host_is_asked_to_drain_and_returned_only_on_the_sources_word() -> None:
    play, host = joined()
    drain = idle_until_drained(play, host)
    assert not play.world.returns
    say(play, host, EntryState.DRAINED, 7, drain)
    sent = play.take(SendReturn)
    assert play.world.instances[host].state is InstanceState.RETURNING
    assert play.world.returns[sent.return_id].items[0].instance == host


def test_work_that_comes_between_idle_and_return_keeps_the_host() -> None:
    play, host = joined()
    drain = idle_until_drained(play, host)
    say(play, host, EntryState.BUSY, 7, drain)
    assert play.world.instances[host].drain is None
    assert not play.world.returns
    play.pass_s(600)
    assert not play.world.returns


def test_an_answer_to_another_drain_is_no_consent() -> None:
    play, host = joined()
    idle_until_drained(play, host)
    say(play, host, EntryState.DRAINED, 7, "dr-of-last-week")
    assert not play.in_flight(SendReturn)


def test_a_silent_source_loses_no_host() -> None:
    play, host = joined()
    say(play, host, EntryState.IDLE, 5)
    play.pass_s(3_600)
    assert play.world.instances[host].drain is None
    assert not play.world.returns


def returning(promises: Promises = TRUSTED) -> tuple[Play, str, SendReturn]:
    """A daemon that has just sent one host back."""
    play, host = joined(promises)
    say(play, host, EntryState.DRAINED, 7, idle_until_drained(play, host))
    return play, host, play.take(SendReturn)


def said(play: Play, effect: SendReturn | AskReturn, outcome: object) -> None:
    """What the provider says of the give-back."""
    asked = isinstance(effect, AskReturn)
    play.event(ReturnAnswered(effect.key, "east", effect.number, effect.return_id, asked=asked, outcome=outcome))  # type: ignore[arg-type]


def test_a_proven_return_ends_the_instance_and_its_charge() -> None:
    play, host, effect = returning()
    said(play, effect, ReturnWords((ItemWord("i-1", "returned", units=0),)))
    play.settle([])
    assert play.world.instances[host].state is InstanceState.GONE
    assert play.world.returns[effect.return_id].state is ReturnState.RETURNED


def test_a_return_that_was_taken_is_asked_for_until_it_is_proven() -> None:
    play, host, effect = returning()
    said(play, effect, ReturnWords((ItemWord("i-1", "returning"),)))
    play.pass_s(2)
    said(play, play.take(AskReturn), ReturnWords((ItemWord("i-1", "returned"),)))
    assert play.world.instances[host].state is InstanceState.GONE


def test_a_lost_answer_to_a_return_is_said_again_for_ever_and_slower() -> None:
    play, host, effect = returning()
    pauses = []
    for _ in range(5):
        said(play, effect, Lost("cut"))
        giveback = play.world.returns[effect.return_id]
        pauses.append(giveback.after_at - play.moment().at)
        play.pass_s(giveback.after_at - play.moment().at + 0.1)
        effect = play.take(SendReturn)
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]
    assert play.world.instances[host].state is InstanceState.RETURNING


def test_not_found_is_no_proof_without_a_promise() -> None:
    play, host, effect = returning()
    said(play, effect, ReturnWords((ItemWord("i-1", "not_found", problem=Problem("not_found")),)))
    assert play.world.instances[host].state is InstanceState.RETURNING


def test_not_found_is_gone_where_the_provider_promised_so_for_a_thing_of_that_age() -> None:
    play, host, effect = returning(evolve(TRUSTED, not_found_gone_after_s=10))
    said(play, effect, ReturnWords((ItemWord("i-1", "not_found", problem=Problem("not_found")),)))
    assert play.world.instances[host].state is InstanceState.GONE


def test_a_return_the_provider_forgot_is_said_again() -> None:
    play, _host, effect = returning()
    said(play, effect, ReturnWords((ItemWord("i-1", "returning"),)))
    play.pass_s(2)
    said(play, play.take(AskReturn), ReturnWords((), known=False))
    assert play.world.returns[effect.return_id].state is ReturnState.SENDING


@pytest.mark.parametrize("covers", ["far_side", "own_records"])
def test_returned_is_confirmed_by_a_later_complete_list_where_it_is_not_observed(covers: str) -> None:
    play, host, effect = returning(evolve(TRUSTED, return_observed=False, list_covers=covers))
    said(play, effect, ReturnWords((ItemWord("i-1", "returned"),)))
    assert play.world.instances[host].state is InstanceState.RETURNING
    play.pass_s(75)
    play.listed("east")
    assert play.world.instances[host].state is InstanceState.GONE


def test_a_return_is_carried_on_by_the_next_daemon() -> None:
    play, host, effect = returning()
    later = play.restarted()
    later.provider_ready("east")
    again = later.take(SendReturn)
    assert again.return_id == effect.return_id
    assert later.world.instances[host].state is InstanceState.RETURNING


def test_a_snapshot_that_loses_all_hosts_counts_only_when_said_again_a_minute_later() -> None:
    play, host = joined()
    play.supply(revision=9)
    assert [e.instance for e in play.world.supplies["lsf"].entries] == [host]
    play.now_s += 61
    play.supply(revision=10)
    assert play.world.supplies["lsf"].entries == ()


def test_a_source_that_only_sends_heartbeats_after_a_restart_still_has_idle_hosts_reclaimed() -> None:
    play, host = joined()
    say(play, host, EntryState.IDLE, 5)
    entry = PushedEntry(state=EntryState.IDLE, instance=host, name="n1", since=play.moment().at)
    later = play.restarted()
    later.provider_ready("east")
    later.supply(entry, revision=5)
    later.demand(revision=6, supply_revision=5)
    later.pass_s(61)
    assert later.world.instances[host].drain is not None


def test_a_final_sum_that_was_not_told_with_the_proof_is_asked_for_at_once() -> None:
    play, _, effect = returning(evolve(TRUSTED, gone_visible_s=60))
    said(play, effect, ReturnWords((ItemWord("i-1", "returned", units=0),)))
    asked = play.take(ReadSome)
    assert asked.refs == ("i-1",)
    told = machine("i-1", "gone", charged_nanos=4_321)
    play.event(Listed(asked.key, "east", asked.number, play.now_s, False, 0, (told,), named=("i-1",)))
    assert [i.charged_nanos for i in play.instances()] == [4_321]
    assert not play.in_flight(ReadSome)


def test_a_host_that_left_the_cluster_is_seen_idle_anew_when_it_is_back() -> None:
    play, host = joined()
    undated = PushedEntry(state=EntryState.IDLE, instance=host, name="n1")
    play.supply(undated, revision=5)
    play.supply(revision=7)
    play.now_s += 60
    play.supply(revision=9)
    assert play.world.supplies["lsf"].entries == ()
    play.now_s += 3_000
    play.supply(undated, revision=11)
    play.demand(revision=12, supply_revision=11)
    assert play.world.instances[host].drain is None
    play.pass_s(61)
    assert play.world.instances[host].drain is not None


def test_a_return_that_can_not_be_written_is_tried_at_pauses_and_is_no_failure_of_the_provider() -> None:
    play, host = joined()
    say(play, host, EntryState.DRAINED, 7, idle_until_drained(play, host))
    for _ in range(20):
        sent = play.take(SendReturn)
        unwritten = NotWritten("no new calls: the provider closed its stdout")
        play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=unwritten))
        assert not play.in_flight(SendReturn)
        play.pass_s(1)
    sent = play.take(SendReturn)
    play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=Lost("cut")))
    play.pass_s(10)
    assert play.in_flight(SendReturn), "the first real failure costs the first pause"


def test_a_question_about_a_return_that_can_not_be_written_is_asked_at_pauses() -> None:
    play, host = joined()
    say(play, host, EntryState.DRAINED, 7, idle_until_drained(play, host))
    sent = play.take(SendReturn)
    taken = ReturnWords((ItemWord("i-1", "returning"),))
    play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=taken))
    play.pass_s(1)
    ask = play.take(AskReturn)
    unwritten = NotWritten("no new calls: the provider closed its stdout")
    play.event(ReturnAnswered(ask.key, "east", ask.number, ask.return_id, asked=True, outcome=unwritten))
    assert not play.in_flight(AskReturn)
    play.pass_s(1)
    assert play.in_flight(AskReturn)


def test_not_found_is_gone_once_two_lists_of_the_far_side_further_apart_than_their_delay_lack_it_too() -> None:
    play, host = joined()
    say(play, host, EntryState.DRAINED, 7, idle_until_drained(play, host))
    for _ in play.in_flight(ReadList):
        play.listed("east", machine("i-1", "running"))
    sent = play.take(SendReturn)
    missed = ReturnWords((ItemWord("i-1", "not_found"),))
    play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=missed))
    play.pass_s(60)
    play.listed("east")
    assert play.world.instances[host].state is InstanceState.RETURNING
    play.pass_s(60)
    play.listed("east")
    assert play.world.instances[host].state is InstanceState.GONE
    assert play.world.returns[sent.return_id].state is ReturnState.RETURNED


def test_lists_of_the_providers_own_records_prove_nothing_about_what_it_does_not_find() -> None:
    play, host = joined(evolve(TRUSTED, list_covers="own_records"))
    say(play, host, EntryState.DRAINED, 7, idle_until_drained(play, host))
    sent = play.take(SendReturn)
    missed = ReturnWords((ItemWord("i-1", "not_found"),))
    play.event(ReturnAnswered(sent.key, "east", sent.number, sent.return_id, asked=False, outcome=missed))
    for _ in range(4):
        for _ in play.in_flight(ReadList):
            play.listed("east")
        play.pass_s(60)
    assert play.world.instances[host].state is InstanceState.RETURNING
