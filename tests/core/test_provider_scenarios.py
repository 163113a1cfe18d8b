"""A provider's process: started once, its end closes its frames, and it is started again ever more slowly."""

from provisioner.core.effects import EffectKey, OpenProvider, SendRequest, StartProcess, StopProcess
from provisioner.core.events import Lost, ProcessSpawned, ProviderNotOpened, ReadFailed
from provisioner.core.process import ProcessState
from tests.core.play import Play, cores, settings_for


def state(play: Play) -> ProcessState:
    """Where the provider's process stands."""
    return play.world.seen.processes["east"].state


def spawn(play: Play) -> StartProcess:
    """The process that is owed is started."""
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    return start


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
