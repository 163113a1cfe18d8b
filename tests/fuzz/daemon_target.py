"""A hostile provider before the daemon's pure half: no exception, no money lost, everything bounded and answered once.

It says what must hold after a case; how a conversation is read is `daemon_side`'s.
"""

import zlib
from typing import Any

from provisioner.core.effects import AskRequest, AskReturn, SendReturn, StartProcess
from provisioner.core.invariants import violations
from provisioner.core.process import ProcessState
from provisioner.core.request import OPEN
from provisioner.core.world import World
from tests.core.play import Play
from tests.fuzz import judge
from tests.fuzz.daemon_side import CALLS_MOST, FRAME_BYTES, PROVIDER, DaemonSide
from tests.fuzz.honest import forked
from tests.fuzz.judge import Bought, Words
from tests.fuzz.oracle import check, pieces
from tests.fuzz.scenes import scenes

LOG_MOST = 40
"""Lines that one frame may cost in the log."""
WANTED_MOST = 10_000
DAY_S = 86_400.0


def run_daemon(scene: str, data: bytes) -> None:
    """Feeds these bytes to the daemon at this moment, ends the process, and looks."""
    play = forked(scenes()[scene].play())
    before = play.world
    side = DaemonSide(play)
    side.feed(pieces(data))
    _sound(play, before, "after the words")
    _bounded(side)
    side.cut()
    _sound(play, before, "after the end")
    words = judge.heard(data)
    _answered_once(side, words)
    _money_is_kept(before, play.world, side, words)
    if scene == "returning" or zlib.crc32(data) % 4 == 0:
        _goes_on(play)


def _sound(play: Play, before: World, when: str) -> None:
    found = violations(play.world, play.moment(), play.settings, before)
    check(not found, f"{when}: " + "; ".join(f"{v.id}: {v.sentence}" for v in found[:3]))


def _bounded(side: DaemonSide) -> None:
    seen = side.play.world.seen
    check(side.frames.held_bytes <= FRAME_BYTES, "more than one line is held")
    check(len(side.peer.open_calls) <= CALLS_MOST, "more calls are open than were made")
    check(len(side.peer._forgotten) <= 1024, "forgotten calls pile up")
    check(len(side.log.lines) <= 2 + side.seen * LOG_MOST, "the log grows faster than the frames")
    check(len(seen.wanted.get(PROVIDER, ())) <= WANTED_MOST, "what hints name piles up without a bound")
    check(len(seen.asks) <= len(side.play.world.requests) + len(side.play.world.instances) + 8, "asks pile up")


def _answered_once(side: DaemonSide, words: Words) -> None:
    wrong = {call_id: n for call_id in side.calls if (n := side.outcomes.get(call_id, 0)) != 1}
    check(not wrong, f"calls with another number of outcomes than one: {wrong}")
    owed = judge.asked_of_us(words)
    given = [reply.get("id") for reply in side.replies]
    check(given == owed, f"asked {owed[:9]}, answered {given[:9]}")


def _money_is_kept(before: World, after: World, side: DaemonSide, words: Words) -> None:
    methods = {call_id: sent.method for call_id, (sent, _) in side.calls.items()}
    for id, request in after.requests.items():
        was = before.requests.get(id)
        if request.state in OPEN or (was is not None and was.state not in OPEN) or request.frames == 0:
            continue
        allowed = judge.may_be_settled(words, Bought(id, request.token, request.units), methods)
        check(request.state.value in allowed, f"{id} was settled as {request.state}, at the most {sorted(allowed)}")
    for id, instance in after.instances.items():
        known = before.instances.get(id)
        check(known is not None or judge.names(words, instance.provider_id), f"{instance.provider_id} is from nowhere")
        if instance.state.value == "gone" and (known is None or known.state.value != "gone"):
            check(judge.may_be_gone(words, instance.provider_id), f"{instance.provider_id} is gone without a word")


def _goes_on(play: Play) -> None:
    """An honest process later on: it is started within a day, and everything open is asked for or said again soon."""
    waited_s = 0.0
    while not any(isinstance(e, StartProcess) for e in play.effects.values()):
        if play.world.seen.processes[PROVIDER].state is ProcessState.PARKED:
            return
        play.pass_s(600.0)
        waited_s += 600.0
        check(waited_s <= DAY_S, "no process is started within a day")
    play.provider_ready(PROVIDER)
    waited_s = 0.0
    while left := _unasked(play):
        play.pass_s(900.0)
        waited_s += 900.0
        check(waited_s <= 2 * DAY_S, f"never asked for again: {left[:3]}")


def _unasked(play: Play) -> list[Any]:
    world = play.world
    asked = {e.request for e in play.effects.values() if isinstance(e, AskRequest)}
    said = {e.return_id for e in play.effects.values() if isinstance(e, AskReturn | SendReturn)}
    open_purchases = [r.id for r in world.open_requests.values() if r.state.value in ("unknown", "taken")]
    return [id for id in open_purchases if id not in asked] + [id for id in world.open_returns if id not in said]
