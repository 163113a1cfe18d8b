"""How far an open purchase is: the newest word of its provider is kept for people, and nothing hangs on it."""

from provisioner.core.effects import SendRequest
from provisioner.core.events import ProgressTold, RequestAnswered
from provisioner.core.progress import PHASE_MOST
from provisioner.core.request import RequestState
from provisioner.core.world import Progress
from tests.core.play import Play, cores, machine, report, settings_for


def buying(*providers: str) -> tuple[Play, SendRequest]:
    """A purchase of east whose frame is on its way."""
    play = Play(settings_for(*(providers or ("east",))))
    play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    return play, play.take(SendRequest)


def told(play: Play) -> Progress | None:
    """What is kept of the only purchase."""
    return play.world.seen.progress.get(play.only_request().id)


def test_the_newest_word_on_an_open_purchase_is_kept_and_the_facts_stay_as_they_are() -> None:
    play, send = buying()
    before = play.only_request()
    play.event(ProgressTold("east", send.number, send.request, "looking for a host", 90))
    play.now_s += 5
    play.event(ProgressTold("east", send.number, send.request, "installing", None))
    assert told(play) == Progress("installing", None, play.started_at + play.now_s)
    assert play.only_request() == before


def test_a_long_phase_is_cut_and_a_word_on_what_is_not_open_here_is_dropped() -> None:
    play, send = buying("east", "west")
    play.event(ProgressTold("east", send.number, send.request, "x" * 500, 1))
    found = told(play)
    assert found is not None
    assert found.phase == "x" * PHASE_MOST
    for provider, number, request in (
        ("east", send.number, "rq-of-nobody"),
        ("west", send.number, send.request),
        ("east", send.number + 1, send.request),
    ):
        play.event(ProgressTold(provider, number, request, "not for you", 1))
    assert dict(play.world.seen.progress) == {send.request: found}


def test_a_report_tells_progress_and_a_cancel_under_way_and_what_it_leaves_out_stays() -> None:
    play, send = buying()
    request = play.only_request()
    pending = report(request, "pending", phase="queued", eta_s=7, cancelling=True)
    play.event(RequestAnswered(send.key, "east", send.number, send.request, pending))
    assert play.only_request().state is RequestState.TAKEN
    assert told(play) == Progress("queued", 7, play.started_at + play.now_s, cancelling=True)
    play.event(RequestAnswered(send.key, "east", send.number, send.request, report(request, "pending")))
    assert told(play) == Progress("queued", 7, play.started_at + play.now_s, cancelling=False)


def test_nothing_is_kept_of_a_settled_purchase_and_nothing_outlives_a_restart() -> None:
    play, send = buying()
    request = play.only_request()
    play.event(ProgressTold("east", send.number, send.request, "nearly", 1))
    assert not play.restarted().world.seen.progress
    made = report(request, "made", machine("i-1"), phase="done")
    play.event(RequestAnswered(send.key, "east", send.number, send.request, made))
    assert play.only_request().state is RequestState.FULFILLED
    assert not play.world.seen.progress
    play.event(ProgressTold("east", send.number, send.request, "much too late", 1))
    assert not play.world.seen.progress
