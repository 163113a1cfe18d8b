"""Moments of a daemon's life at which a provider may speak, played once and forked for every case, with what an honest
provider would say then.

Worlds are immutable, so a fork costs nothing. It knows no mutation and judges nothing.
"""

from collections.abc import Callable
from functools import cache

from attrs import frozen

from provisioner.core.effects import AskRequest, SendRequest, StartProcess
from provisioner.core.events import Lost, ProcessSpawned, RequestAnswered
from provisioner.core.model import EntryState
from tests.core.play import Play, cores, machine, report, settings_for
from tests.core.test_giveback_scenarios import idle_until_drained, say
from tests.fuzz.honest import ERRORS, Fault, examples, hints, results_of, spoken


@frozen
class Scene:
    """A moment: how it is played, and honest streams of bytes for it."""

    name: str
    play: Callable[[], Play]
    streams: tuple[bytes, ...]


@cache
def scenes() -> dict[str, Scene]:
    """All moments by name."""
    made = [
        _scene("greeting", _greeting, "initialize", "describe", "list", "request"),
        _scene("describing", _describing, "describe", "list"),
        _scene("buying", _buying, "request", "request_status"),
        _scene("asking", _asking, "request_status", "list"),
        _scene("listing", _listing, "list"),
        _scene("returning", _returning, "return", "return_status", "list"),
        _scene("idling", _idling, "ping"),
    ]
    return {scene.name: scene for scene in made}


def _scene(name: str, play: Callable[[], Play], *methods: str) -> Scene:
    """Honest conversations in which each of these methods is answered in every way we know."""
    begin = cache(play)
    said = [spoken(begin(), {})]
    for method in methods:
        said += [spoken(begin(), {method: result}) for result in results_of(method)]
        said += [spoken(begin(), {method: Fault(error)}) for error in (*ERRORS, *examples("error"))]
    hinted = hints()
    said += [b"".join(hinted) + said[0], *(hint + said[0] for hint in hinted)]
    return Scene(name, begin, tuple(dict.fromkeys(said)))


# --- the moments


def _greeting() -> Play:
    play = Play(settings_for("east"))
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    start = play.take(StartProcess)
    play.event(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
    return play


def _describing() -> Play:
    play = Play(settings_for("east"))
    play.provider_ready("east")
    play.pass_s(100_000)
    return play


def _buying() -> Play:
    play = Play(settings_for("east", idle_time_s=60.0))
    play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    assert play.in_flight(SendRequest)
    return play


def _asking() -> Play:
    """The answer was lost and its process is gone; the next one is asked, and a No counts."""
    play = _buying()
    sent = play.take(SendRequest)
    play.event(RequestAnswered(sent.key, "east", sent.number, sent.request, Lost("cut")))
    play.process_ends("east")
    play.pass_s(120)
    play.provider_ready("east")
    play.pass_s(60)
    assert play.in_flight(AskRequest)
    return play


def _listing() -> Play:
    """One purchase is unknown, one machine runs, and the whole list is read."""
    play, _ = _running()
    play.pass_s(4_000)
    return play


def _returning() -> Play:
    play, host = _running()
    drain = idle_until_drained(play, host)
    say(play, host, EntryState.DRAINED, 7, drain)
    return play


def _idling() -> Play:
    play, _ = _running()
    return play


def _running() -> tuple[Play, str]:
    play = _buying()
    sent = play.take(SendRequest)
    made = report(play.only_request(), "made", machine("i-1", "running"))
    play.event(RequestAnswered(sent.key, "east", sent.number, sent.request, made))
    (host,) = play.instances()
    say(play, host.id, EntryState.BUSY, 3)
    return play, host.id
