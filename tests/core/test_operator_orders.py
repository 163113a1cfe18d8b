"""What operators order of a provider: a pause with its end, a new chance for what is left alone, another process."""

from attrs import evolve

from provisioner.core.effects import AskRequest, OpenProvider, SendRequest, SendReturn, StartProcess, StopProcess
from provisioner.core.events import Lost, ProcessEnded, ProcessSpawned, ProviderNotOpened, Refusal, RequestAnswered
from provisioner.core.evolve import Ordered
from provisioner.core.model import Per, Price, Problem
from provisioner.core.orders import ProviderPaused, ProviderRestarted, ProviderResumed
from provisioner.core.process import ProcessState
from provisioner.core.reasons import Why
from provisioner.core.request import RequestState
from tests.core.play import HOST, Play, cores, machine, report, settings_for

HOUR_S = 3_600.0
DEARER = evolve(HOST, price=Price(9_000_000_000, "USD", Per.HOUR))


def pause(play: Play, provider: str = "east", for_s: float = HOUR_S) -> tuple[str, ...]:
    """An operator pauses a provider; what that came to."""
    play.event(ProviderPaused(provider, play.started_at + play.now_s + for_s, "prices are wrong", "alice (uid 7)"))
    return said(play)


def resume(play: Play, provider: str = "east") -> tuple[str, ...]:
    """An operator resumes a provider; what that came to."""
    play.event(ProviderResumed(provider, "", "alice (uid 7)"))
    return said(play)


def restart(play: Play, provider: str = "east") -> tuple[str, ...]:
    """An operator restarts a provider; what that came to."""
    play.event(ProviderRestarted(provider, "stuck session", "alice (uid 7)"))
    return said(play)


def said(play: Play) -> tuple[str, ...]:
    """The sentences of the last reply."""
    last = play.replies[-1]
    assert isinstance(last, Ordered)
    return last.did


def state(play: Play, provider: str = "east") -> ProcessState:
    """Where the provider's process stands."""
    return play.world.seen.processes[provider].state


def crash(play: Play, times: int) -> None:
    """The process is started and ends by itself, so many times."""
    for _ in range(times):
        play.pass_s(61)
        start = play.take(StartProcess)
        play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
        play.process_ends("east", status=1)


def test_nothing_is_bought_from_a_paused_provider_and_its_demand_falls_through_to_the_next_offer() -> None:
    play = Play(settings_for("east", "west"))
    play.provider_ready("east")
    play.provider_ready("west", (DEARER,))
    pause(play)
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    assert play.only_request().provider == "west"


def test_a_line_that_only_a_paused_provider_could_serve_says_until_when_by_whom_and_why() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    pause(play)
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    (line,) = play.world.seen.plan.lines
    assert (line.open, line.reason.why) == (4, Why.PAUSED)
    assert "Z by alice (uid 7): prices are wrong" in line.reason.sentence()
    assert not play.in_flight(SendRequest)


def test_a_pause_cancels_what_was_planned_and_never_sent_and_other_offers_are_asked_instead() -> None:
    play = Play(settings_for("east", "west"))
    play.provider_ready("west", (DEARER,))
    number = play.provider_ready("east")
    play.supply(revision=1)
    view = play.world.seen.processes["east"]
    throttled = evolve(view, throttled_until_boot_s=play.now_s + 60)
    seen = evolve(play.world.seen, processes=play.world.seen.processes.set("east", throttled))
    play.world = evolve(play.world, seen=seen)
    play.demand(cores(4), revision=2)
    planned = play.only_request()
    assert (planned.provider, planned.state) == ("east", RequestState.PLANNED)
    did = pause(play)
    play.pass_s(0)
    assert "never sent, hence cancelled: 1 purchase" in did
    assert play.world.requests[planned.id].state is RequestState.CANCELLED
    assert "paused by an operator" in play.world.requests[planned.id].reason
    assert {r.provider for r in play.world.open_requests.values()} == {"west"}
    assert view.number == number


def test_a_purchase_on_its_way_is_asked_for_but_never_sent_again_while_its_provider_is_paused() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    send = play.take(SendRequest)
    pause(play)
    play.event(RequestAnswered(send.key, "east", number, send.request, Lost("no answer")))
    play.process_ends("east")
    play.pass_s(2)
    play.provider_ready("east")
    play.pass_s(10)
    assert play.in_flight(AskRequest)
    assert not play.in_flight(SendRequest)


def test_give_backs_go_on_while_their_provider_is_paused() -> None:
    play = Play(settings_for("east", idle_time_s=10))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    send = play.take(SendRequest)
    made = report(play.only_request(), "made", machine("i-1", "running"))
    play.event(RequestAnswered(send.key, "east", number, send.request, made))
    pause(play)
    for revision in range(3, 12):
        play.demand(revision=revision)
        play.supply(revision=revision)
        play.pass_s(200)
    assert play.in_flight(SendReturn)


def test_a_pause_ends_by_itself_and_the_demand_is_looked_at_then() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    pause(play, for_s=100)
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    assert not play.world.requests
    play.pass_s(99)
    assert not play.world.requests
    play.pass_s(2)
    play.pass_s(0)
    assert play.only_request().provider == "east"
    assert not play.world.overrides


def test_a_pause_outlives_the_daemon() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    pause(play)
    later = play.restarted()
    later.provider_ready("east")
    later.supply(revision=1)
    later.demand(cores(4), revision=2)
    assert not later.world.requests
    assert "the pause is over" in resume(later)
    assert later.only_request().provider == "east"


def test_resume_starts_a_quarantined_provider_at_once_and_forgets_its_former_ends() -> None:
    play = Play(settings_for("east"))
    crash(play, 5)
    assert state(play) is ProcessState.QUARANTINED
    assert resume(play)[0].startswith("its process was quarantined; it is started now")
    assert play.world.seen.processes["east"].crashes_boot_s == ()
    play.provider_ready("east")


def test_resume_tries_a_parked_provider_again() -> None:
    play = Play(settings_for("east"))
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    play.process_ends("east", status=78)
    assert state(play) is ProcessState.PARKED
    resume(play)
    play.provider_ready("east")
    assert state(play) is ProcessState.READY


def test_resume_of_a_parked_provider_that_is_still_ending_waits_for_its_end_and_no_more() -> None:
    play = Play(settings_for("east"))
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    play.event(ProviderNotOpened(opening.key, "east", opening.number, "config", "region is missing"))
    assert play.in_flight(StopProcess)
    resume(play)
    assert not play.in_flight(StartProcess)
    play.process_ends("east", status=78)
    play.provider_ready("east")
    assert play.world.seen.processes["east"].crashes_boot_s == ()


def test_resume_frees_offers_that_are_left_alone_and_says_which() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    send = play.take(SendRequest)
    refused = Refusal(Problem("bad_request", detail="no such image"), not_made=True)
    play.event(RequestAnswered(send.key, "east", number, send.request, refused))
    assert play.world.health["east/small"].parked
    assert "tried again though left alone: small" in resume(play)
    assert not play.world.health
    assert play.in_flight(SendRequest)


def test_restart_ends_the_process_in_order_and_starts_the_next_without_a_pause_and_without_counting() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    restart(play)
    assert state(play) is ProcessState.STOPPING
    play.take(StopProcess)
    play.process_ends("east", status=0)
    assert play.in_flight(StartProcess)
    view = play.world.seen.processes["east"]
    assert (view.crashes_boot_s, view.restart_wanted) == ((), False)
    assert view.last_end == "restarted by alice (uid 7): stuck session"
    play.provider_ready("east")


def test_many_restarts_by_hand_never_lead_to_quarantine() -> None:
    play = Play(settings_for("east"))
    for _ in range(8):
        play.provider_ready("east")
        restart(play)
        play.take(StopProcess)
        play.process_ends("east", status=-9)
    assert play.in_flight(StartProcess)


def test_restart_in_the_middle_of_a_purchase_leaves_it_unknown_until_the_next_process_tells() -> None:
    play = Play(settings_for("east"))
    number = play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    send = play.take(SendRequest)
    restart(play)
    play.event(RequestAnswered(send.key, "east", number, send.request, Lost("restarted")))
    play.process_ends("east", status=0)
    assert play.only_request().state is RequestState.UNKNOWN
    play.provider_ready("east")
    assert play.in_flight(AskRequest)


def test_restart_of_a_provider_that_backs_off_starts_it_now() -> None:
    play = Play(settings_for("east"))
    crash(play, 4)
    assert state(play) is ProcessState.BACKING_OFF
    restart(play)
    play.provider_ready("east")


def test_restart_while_the_handshake_is_open_does_not_park_the_provider_for_what_it_says_then() -> None:
    play = Play(settings_for("east"))
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    opening = play.take(OpenProvider)
    restart(play)
    play.event(ProviderNotOpened(opening.key, "east", opening.number, "lost", "its input was closed"))
    play.event(ProcessEnded("east", opening.number, 0, "ended"))
    assert play.in_flight(StartProcess)
    assert play.world.seen.processes["east"].last_end.startswith("restarted by")


def test_a_restart_leaves_a_pause_in_force() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    pause(play)
    restart(play)
    play.process_ends("east", status=0)
    play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    assert not play.world.requests


def test_each_order_is_a_decision_on_record_with_who_gave_it() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    pause(play)
    resume(play)
    restart(play)
    found = {d.what: d.reason.detail for d in play.world.decisions.values() if d.subject == "east"}
    assert found == {
        "pause": "pause by alice (uid 7): prices are wrong",
        "resume": "resume by alice (uid 7)",
        "restart": "restart by alice (uid 7): stuck session",
    }
