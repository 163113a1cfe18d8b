"""A provider's process: started once, its end closes its frames, and it is started again ever more slowly."""

import pytest

from provisioner.core.effects import (
    EffectKey,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    StartProcess,
    StopProcess,
)
from provisioner.core.events import (
    Described,
    Listed,
    Lost,
    ProcessEnded,
    ProcessSpawned,
    ProviderHinted,
    ProviderNotOpened,
    ProviderOpened,
    ReadFailed,
    Refusal,
    RequestAnswered,
)
from provisioner.core.model import Place, Problem
from provisioner.core.process import ProcessState
from provisioner.core.providers import WANTED_MOST
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for


def state(play: Play) -> ProcessState:
    """Where the provider's process stands."""
    return play.world.seen.processes["east"].state


def spawn(play: Play) -> StartProcess:
    """The process that is owed is started."""
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    return start


def opened(play: Play) -> None:
    """The handshake of the process that was just started succeeds."""
    opening = play.take(OpenProvider)
    said = ("p", "1", ("host",), (), TRUSTED, "0123456789abcdef")
    play.event(ProviderOpened(opening.key, "east", opening.number, *said))


def test_who_the_process_is_is_a_fact_before_initialize_is_owed() -> None:
    play = Play(settings_for("east"))
    start = spawn(play)
    fact = play.world.processes["east"]
    assert (fact.pid, fact.number, fact.epoch) == (4_242, start.number, 1)
    assert play.in_flight(OpenProvider)


def test_each_start_of_the_daemon_takes_a_new_epoch_and_a_new_process_number() -> None:
    play = Play(settings_for("east"))
    first = spawn(play)
    later = play.restarted()
    start = later.take(StartProcess)
    assert (start.number, start.epoch) == (first.number + 1, 2)


def test_a_crash_is_followed_by_a_start_after_ever_longer_pauses() -> None:
    play = Play(settings_for("east"))
    pauses = []
    for _ in range(4):
        spawn(play)
        play.process_ends("east")
        assert state(play) is ProcessState.BACKING_OFF
        pauses.append(play.world.seen.processes["east"].wait_until_boot_s - play.now_s)
        play.pass_s(pauses[-1] + 0.1)
    assert pauses == sorted(pauses)
    assert pauses[0] < 2


def test_five_ends_within_the_window_put_it_in_quarantine_until_time_frees_it() -> None:
    play = Play(settings_for("east"))
    for _ in range(5):
        play.pass_s(60)
        spawn(play)
        play.process_ends("east")
    assert state(play) is ProcessState.QUARANTINED
    play.pass_s(899)
    assert not play.in_flight(StartProcess)
    play.pass_s(2)
    assert play.in_flight(StartProcess)


def test_faulty_configuration_parks_it_and_does_not_loop() -> None:
    play = Play(settings_for("east"))
    spawn(play)
    play.process_ends("east", status=78)
    assert state(play) is ProcessState.PARKED
    play.pass_s(100_000)
    assert not play.in_flight(StartProcess)
    assert not play.in_flight(StopProcess)


def test_a_version_nobody_shares_ends_the_process_and_parks_it() -> None:
    play = Play(settings_for("east"))
    spawn(play)
    opening = play.take(OpenProvider)
    play.event(ProviderNotOpened(opening.key, "east", opening.number, "version", "it speaks 3.0"))
    assert state(play) is ProcessState.PARKED
    assert play.in_flight(StopProcess)
    play.process_ends("east", status=0)
    play.pass_s(100_000)
    assert not play.in_flight(StopProcess)
    assert not play.in_flight(StartProcess)
    assert "3.0" in play.world.seen.processes["east"].last_end


def test_a_provider_that_leaves_before_it_is_stopped_still_shows_what_it_refused() -> None:
    play = Play(settings_for("east"))
    spawn(play)
    opening = play.take(OpenProvider)
    play.event(ProviderNotOpened(opening.key, "east", opening.number, "config", "/region: is missing"))
    play.event(ProcessEnded("east", opening.number, 78, "the process ended by itself: exit status 78"))
    assert "/region: is missing" in play.world.seen.processes["east"].last_end


@pytest.mark.parametrize("end_comes_first", [True, False])
def test_a_handshake_cut_by_the_end_of_its_process_does_not_hide_why_that_ended(*, end_comes_first: bool) -> None:
    play = Play(settings_for("east"))
    spawn(play)
    opening = play.take(OpenProvider)
    news = (
        ProcessEnded("east", opening.number, 3, "the process ended by itself: exit status 3"),
        ProviderNotOpened(opening.key, "east", opening.number, "lost", "its process is not there any more"),
    )
    for event in news if end_comes_first else news[::-1]:
        play.event(event)
    assert play.world.seen.processes["east"].last_end == "the process ended by itself: exit status 3"


def test_what_a_provider_refused_is_shown_also_if_it_had_ended_before_that_was_told() -> None:
    play = Play(settings_for("east"))
    spawn(play)
    opening = play.take(OpenProvider)
    play.event(ProcessEnded("east", opening.number, 78, "the process ended by itself: exit status 78"))
    play.event(ProviderNotOpened(opening.key, "east", opening.number, "config", "/region: is missing"))
    assert "/region: is missing" in play.world.seen.processes["east"].last_end


def test_what_can_not_be_read_by_name_is_left_to_the_next_list_and_the_pause_is_kept() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.event(ProviderHinted("east", number, ("instances",), ("i-1",)))
    read = play.take(ReadSome)
    throttled = Refusal(Problem("throttled", retry_after_s=90), not_made=False)
    play.event(ReadFailed(read.key, "east", number, "named", throttled))
    play.pass_s(1)
    assert not play.in_flight(ReadSome)
    play.pass_s(88)
    assert "read_list" not in {key.effect for key in play.effects}
    play.pass_s(2)
    play.listed("east")


def test_what_a_description_has_counted_of_ours_outlives_its_process_and_follows_each_reading() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(8), revision=2)
    send = play.take(SendRequest)
    made = report(play.only_request(), "made", machine("i-1"), machine("i-2"))
    play.event(RequestAnswered(send.key, "east", number, send.request, made))
    play.pass_s(301)
    read = play.take(ReadDescription)
    same = play.world.descriptions["east"].digest
    play.event(Described(read.key, "east", number, "r1", same, (HOST,), ()))
    assert play.world.descriptions["east"].held == (("small", 2),)
    play.process_ends("east")
    play.pass_s(5)
    spawn(play)
    opened(play)
    assert play.world.descriptions["east"].held == (("small", 2),)


def test_a_new_process_gives_a_parked_offer_another_chance() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    send = play.take(SendRequest)
    refused = Refusal(Problem("bad_request"), not_made=True)
    play.event(RequestAnswered(send.key, "east", number, send.request, refused))
    assert play.world.health["east/small"].parked
    play.process_ends("east")
    play.pass_s(5)
    spawn(play)
    opened(play)
    assert "east/small" not in play.world.health


def test_news_of_a_process_that_is_no_longer_the_present_one_changes_nothing() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    before = play.world.seen.processes["east"]
    late = play.world.processes["east"].number - 1
    play.event(ReadFailed(EffectKey("read_list", "east", "east", late, 0), "east", late, "list", Lost("cut")))
    assert play.world.seen.processes["east"] == before


def test_a_provider_that_is_not_ready_carries_nothing_and_the_line_says_why() -> None:
    play = Play(settings_for("east"))
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    (line,) = play.world.seen.plan.lines
    assert line.open == 3
    assert "not ready" in line.reason.sentence()
    assert not play.in_flight(SendRequest)


def test_hints_that_name_ever_new_things_pile_up_no_further_than_a_bound_and_have_the_whole_list_read() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    for n in range(12):
        named = tuple(f"i-{n}-{k}" for k in range(1000))
        play.event(ProviderHinted("east", number, ("instances",), named))
    assert len(play.world.seen.wanted["east"]) == WANTED_MOST
    assert play.in_flight(ReadList)


def test_what_a_list_could_not_read_is_kept_until_the_next_one_reads_it() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    play.pass_s(61)
    reading = play.take(ReadList)
    zone, throttled = Place(zone="b"), Problem("throttled")
    said = Listed(reading.key, "east", 1, play.now_s, False, 0, (), problems=(throttled,), missing=(zone,))
    play.event(said)
    seen = play.world.seen.lists["east"]
    assert (seen.is_complete, seen.problems, seen.missing) == (False, (throttled,), (zone,))
    play.pass_s(61)
    play.listed("east")
    seen = play.world.seen.lists["east"]
    assert (seen.is_complete, seen.problems, seen.missing) == (True, (), ())
