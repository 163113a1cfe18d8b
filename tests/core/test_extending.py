"""Ends that a provider named are put off while the thing is ours to use, in time and again and again; what is on its
way out is let go."""

import pytest
from attrs import evolve

from provisioner.core.capabilities import EXTEND
from provisioner.core.decide import decide
from provisioner.core.effects import (
    ExtendInstances,
    OpenProvider,
    ReadDescription,
    SendRequest,
    SendReturn,
    StartProcess,
)
from provisioner.core.events import (
    CameDue,
    Described,
    ExtendAnswered,
    ExtendWord,
    Lost,
    NoticeGiven,
    NotWritten,
    ProcessSpawned,
    ProviderOpened,
    PushedEntry,
    Refusal,
    RequestAnswered,
)
from provisioner.core.evolve import fold
from provisioner.core.extending import ITEMS_MOST
from provisioner.core.facts import Change, FactKind, InstanceFact, Key, ReturnFact
from provisioner.core.model import Drain, DrainKind, EntryState, Notice, Problem, ReturnItem
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for

LEASE_S = 3_000.0
AHEAD_S = 600.0
"""The default of policy.extend.ahead."""
STAY_S = 3_600.0


def leased(*capabilities: str) -> Play:
    """Two hosts of east that end in LEASE_S."""
    play = Play(settings_for("east", idle_time_s=1e6))
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    said = ("p", "1", ("host",), capabilities, TRUSTED, "0123456789abcdef")
    play.event(ProviderOpened(opening.key, "east", start.number, *said))
    reading = play.take(ReadDescription)
    play.event(Described(reading.key, "east", start.number, "r1", "d1", (HOST,), ()))
    play.listed("east")
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    send = play.take(SendRequest)
    ends_at = play.started_at + play.now_s + LEASE_S
    things = [machine(f"i-{n}", "running", expires_at=ends_at) for n in (1, 2)]
    play.event(
        RequestAnswered(send.key, "east", send.number, send.request, report(play.only_request(), "made", *things))
    )
    busy = [PushedEntry(EntryState.BUSY, instance=i.id, name=i.provider_id) for i in play.instances()]
    play.supply(*busy, revision=3)
    play.demand(revision=4, supply_revision=3)
    return play


def first(play: Play) -> InstanceFact:
    """The first of the two hosts."""
    return next(i for i in play.instances() if i.provider_id == "i-1")


def put(play: Play, host: InstanceFact, *more: ReturnFact) -> None:
    """These records stand as they are given."""
    changes = [Change(Key(FactKind.INSTANCE, host.id), host), *(Change(Key(FactKind.RETURN, r.id), r) for r in more)]
    play.world = fold(play.world, changes)


def near_its_end(*capabilities: str) -> Play:
    """The same, as much before the end as is left for asking."""
    play = leased(*capabilities)
    play.pass_s(LEASE_S - AHEAD_S + 1)
    return play


def answer(play: Play, effect: ExtendInstances, *words: ExtendWord) -> None:
    """The provider's words on each item."""
    play.event(ExtendAnswered(effect.key, "east", effect.number, effect.items, tuple(words)))


def granted(effect: ExtendInstances) -> list[ExtendWord]:
    """Every item as asked."""
    return [ExtendWord(item.provider_id, item.until_at) for item in effect.items]


def test_a_later_end_is_asked_for_in_time_in_one_frame_and_the_answer_is_what_stands() -> None:
    play = leased(EXTEND)
    play.pass_s(LEASE_S - AHEAD_S - 1)
    assert not play.in_flight(ExtendInstances)
    play.pass_s(2)
    effect = play.take(ExtendInstances)
    assert sorted(item.provider_id for item in effect.items) == ["i-1", "i-2"]
    until_at = float(int(play.started_at + play.now_s + STAY_S))
    assert {item.until_at for item in effect.items} == {until_at}
    answer(play, effect, *granted(effect))
    assert {i.expires_at for i in play.instances()} == {until_at}
    play.pass_s(STAY_S - AHEAD_S - 5)
    assert not play.in_flight(ExtendInstances)
    play.pass_s(10)
    assert play.in_flight(ExtendInstances)


def test_gr_3_a_provider_that_did_not_declare_it_is_never_asked() -> None:
    play = near_its_end()
    play.pass_s(AHEAD_S)
    assert not play.in_flight(ExtendInstances)


def test_an_end_is_never_asked_for_earlier_than_it_is() -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    answer(play, effect, *granted(effect))
    far = evolve(first(play), expires_at=play.started_at + play.now_s + 2 * STAY_S)
    slow = evolve(play.settings.policy, extend=evolve(play.settings.policy.extend, ahead_s=3 * STAY_S))
    play.settings = evolve(play.settings, policy=slow)
    put(play, far)
    play.pass_s(STAY_S / 2)
    asked = {item.provider_id: item.until_at for item in play.take(ExtendInstances).items}
    assert asked["i-1"] == far.expires_at


@pytest.mark.parametrize(
    "change",
    [
        {"return_id": "rt-1"},
        {"notice": Notice("reclaim", 1.0)},
        {"surplus": True},
        {"expires_at": None},
    ],
)
def test_what_is_on_its_way_out_is_let_go(change: dict[str, object]) -> None:
    play = leased(EXTEND)
    put(play, evolve(first(play), **change))  # type: ignore[arg-type]
    play.pass_s(LEASE_S - AHEAD_S + 1)
    assert [item.provider_id for item in play.take(ExtendInstances).items] == ["i-2"]


@pytest.mark.parametrize(("state", "is_asked"), [(EntryState.BUSY, True), (EntryState.DRAINED, False)])
def test_a_host_that_is_drained_is_kept_only_while_work_runs_on_it(state: EntryState, *, is_asked: bool) -> None:
    play = leased(EXTEND)
    drain = Drain("dr-1", DrainKind.FIRM, "operator", 0.0)
    for host in play.instances():
        put(play, evolve(host, drain=drain))
    entries = [PushedEntry(state, instance=i.id, name=i.provider_id) for i in play.instances()]
    play.supply(*entries, revision=5)
    play.pass_s(LEASE_S - AHEAD_S + 1)
    assert bool(play.in_flight(ExtendInstances)) is is_asked


def test_a_refusal_is_told_and_asked_again_after_ever_longer_pauses_while_the_other_one_is_fine() -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    [one, two] = effect.items
    pauses = []
    answer(play, effect, ExtendWord(one.provider_id, problem=Problem("held", detail="no")), *granted(effect)[1:])
    for _ in range(6):
        told = play.world.seen.extensions[one.instance]
        assert told.problem == Problem("held", detail="no")
        pauses.append(told.next_boot_s - play.now_s)
        play.pass_s(pauses[-1] + 0.1)
        again = play.take(ExtendInstances)
        assert [item.instance for item in again.items] == [one.instance]
        answer(play, again, ExtendWord(one.provider_id, problem=Problem("held", detail="no")))
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (10.0, 300.0)
    assert two.instance not in play.world.seen.extensions


@pytest.mark.parametrize(
    "outcome",
    [Lost("cut"), Refusal(Problem("throttled", retry_after_s=45), not_made=True), ()],
)
def test_no_answer_an_error_and_an_answer_that_leaves_one_out_are_all_asked_again(outcome: object) -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    play.event(ExtendAnswered(effect.key, "east", effect.number, effect.items, outcome))  # type: ignore[arg-type]
    assert play.world.seen.extensions[first(play).id].tries == 1
    play.pass_s(46)
    assert len(play.take(ExtendInstances).items) == 2


def test_a_frame_that_was_not_written_is_written_soon_and_counts_as_no_refusal() -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    play.event(ExtendAnswered(effect.key, "east", effect.number, effect.items, NotWritten("its process is ending")))
    assert play.world.seen.extensions[first(play).id].problem is None
    play.pass_s(1.1)
    assert play.in_flight(ExtendInstances)


def test_who_grants_less_than_the_usual_lead_is_asked_again_half_way_and_not_in_a_loop() -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    soon_at = play.started_at + play.now_s + 100
    answer(play, effect, *(ExtendWord(item.provider_id, soon_at) for item in effect.items))
    assert {i.expires_at for i in play.instances()} == {soon_at}
    play.pass_s(49)
    assert not play.in_flight(ExtendInstances)
    play.pass_s(2)
    assert play.in_flight(ExtendInstances)


def test_who_grants_no_more_is_asked_no_faster_near_the_end_or_after_it() -> None:
    play = near_its_end(EXTEND)
    past_at = play.started_at + play.now_s - 5
    asked = 0
    for _ in range(100):
        if play.in_flight(ExtendInstances):
            asked += 1
            effect = play.take(ExtendInstances)
            answer(play, effect, *(ExtendWord(item.provider_id, past_at) for item in effect.items))
        play.pass_s(1)
    assert 5 <= asked <= 10


def test_nothing_is_forgotten_by_a_restart() -> None:
    play = near_its_end(EXTEND)
    again = play.restarted()
    start = again.take(StartProcess)
    again.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = again.take(OpenProvider)
    said = ("p", "1", ("host",), (EXTEND,), TRUSTED, "0123456789abcdef")
    again.event(ProviderOpened(opening.key, "east", start.number, *said))
    again.pass_s(1)
    assert len(again.take(ExtendInstances).items) == 2


def test_cc_2_a_give_back_waits_while_the_same_thing_is_being_extended_and_then_goes() -> None:
    play = near_its_end(EXTEND)
    effect = play.take(ExtendInstances)
    host = first(play)
    back = ReturnFact("rt-1", "east", (ReturnItem(host.id, host.provider_id),), "operator", play.started_at)
    put(play, evolve(host, return_id=back.id), back)
    play.pass_s(1)
    assert not play.in_flight(SendReturn)
    answer(play, effect, *granted(effect))
    assert play.in_flight(SendReturn)


def test_a_warning_ends_the_asking() -> None:
    play = leased(EXTEND)
    number = play.world.seen.processes["east"].number
    for ref in ("i-1", "i-2"):
        play.event(NoticeGiven("east", number, ref, Notice("expiry", play.started_at + play.now_s + LEASE_S)))
    play.pass_s(LEASE_S - AHEAD_S + 1)
    assert not play.in_flight(ExtendInstances)


def test_thousands_with_one_end_are_put_off_frame_by_frame_and_a_crowd_costs_no_more_than_its_members() -> None:
    play = leased(EXTEND)
    host = first(play)
    for n in range(2_500):
        put(play, evolve(host, id=f"in-many-{n}", provider_id=f"i-many-{n}"))
    play.pass_s(LEASE_S - AHEAD_S + 1)
    asked: list[str] = []
    while play.in_flight(ExtendInstances):
        effect = play.take(ExtendInstances)
        assert len(effect.items) <= ITEMS_MOST
        asked += [item.instance for item in effect.items]
        answer(play, effect, *granted(effect))
    assert len(asked) == len(set(asked)) == 2_502
    waiting = CameDue(tuple(Key(FactKind.INSTANCE, id) for id in play.world.live))
    play.now_s += 2 * STAY_S
    assert len(decide(play.world, waiting, play.moment(), play.settings).touched) == 1
