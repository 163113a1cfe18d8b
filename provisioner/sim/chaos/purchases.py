"""How one provider is asked to buy, and asked what came of it, in a history; it must not know how a frame travels."""

from functools import partial

from provisioner.core.effects import AskRequest, CancelRequest, SendRequest
from provisioner.core.events import (
    CancelAnswered,
    Event,
    LateAnswer,
    Lost,
    NotWritten,
    Refusal,
    Report,
    RequestAnswered,
    RequestAsked,
)
from provisioner.core.facts import RequestFact
from provisioner.core.model import Problem
from provisioner.sim.chaos.frames import ANSWER_S, GRACE_S, Call, Frames
from provisioner.sim.chaos.history import Fault
from provisioner.sim.chaos.provider import Process
from provisioner.sim.chaos.stage import Daemon

CLASSES = ("no_capacity", "quota", "transient", "internal", "price", "auth", "bad_request")
PAUSE_MOST_S = 20.0
HEEDED_SHARE = 0.6
"""How often a far side gives up what it was still working on when it is asked to."""


def ask(frames: Frames, daemon: Daemon, effect: AskRequest) -> None:
    """Asks for the outcome of a purchase."""
    request, asked_s = _fact(daemon, effect.request), frames.stage.now_s()

    def make(call: Call) -> Report:
        if call.process is None or frames.strikes(call, Fault.SAID_UNKNOWN):
            return Report(request.id, request.token, "unknown")
        return frames.behaviour.status(request, call.process, frames.stage.now_s())

    def outcome(found: object) -> Event:
        assert isinstance(found, Report | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of asking
        return RequestAsked(effect.key, effect.provider, effect.number, effect.request, asked_s, found)

    frames.call(daemon, effect, "status", lambda call: frames.answer_later(call, 1.5, lambda: make(call)), outcome)


def cancel(frames: Frames, daemon: Daemon, effect: CancelRequest) -> None:
    """Asks for the end of a purchase; what befalls questions about it befalls this one too."""
    request, asked_s = _fact(daemon, effect.request), frames.stage.now_s()

    def make(call: Call) -> Report:
        if call.process is None:
            return Report(request.id, request.token, "unknown")
        heeds = frames.stage.rng(call.name, "cancel").random() < HEEDED_SHARE
        report = frames.behaviour.cancel(request, call.process, frames.stage.now_s(), heeds=heeds)
        frames.stage.say(f"{frames.name} is to make no more under {request.token}: {report.outcome}")
        return report

    def outcome(found: object) -> Event:
        assert isinstance(found, Report | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of asking
        return CancelAnswered(effect.key, effect.provider, effect.number, effect.request, asked_s, found)

    frames.call(daemon, effect, "status", lambda call: frames.answer_later(call, 1.5, lambda: make(call)), outcome)


def send(frames: Frames, daemon: Daemon, effect: SendRequest) -> None:
    """Sends a purchase; what is bought is read from the facts when the frame is written."""

    def serve(call: Call) -> None:
        request = _fact(daemon, effect.request)
        frames.stage.say(f"{frames.name} gets {request.token} for {request.units}, frame {request.frames}")
        if call.process is not None:
            _Purchase(frames, call, request, call.process).begin()
        strike = frames.stage.passes(Fault.CRASH_AFTER_SEND)
        if strike is not None:
            frames.stage.kill_daemon(0.5 + strike.size * PAUSE_MOST_S)

    def outcome(found: object) -> Event:
        assert isinstance(found, Report | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a purchase
        return RequestAnswered(effect.key, effect.provider, effect.number, effect.request, found)

    frames.call(daemon, effect, "request", serve, outcome)


def _fact(daemon: Daemon, id: str) -> RequestFact:
    world = daemon.engine.world()
    assert world is not None  # noqa: S101  an effect was begun, so there is a world
    return world.requests[id]


class _Purchase:
    """One request frame at its provider, from its reading to its answer."""

    def __init__(self, frames: Frames, call: Call, request: RequestFact, process: Process) -> None:
        self._frames, self._stage, self._behaviour = frames, frames.stage, frames.behaviour
        self._call, self._request, self._process = call, request, process

    def begin(self) -> None:
        """It is read: answered at once, swallowed, or worked on."""
        frames, call, request = self._frames, self._call, self._request
        if frames.strikes(call, Fault.FRAME_SWALLOWED):
            return
        if frames.strikes(call, Fault.ERROR_NOT_MADE):
            frames.answer_later(call, 2.0, lambda: self._error(not_made=True))
            return
        if call.strike is not None and call.strike.size < 0.5 and frames.strikes(call, Fault.THROTTLED):
            slow = Refusal(Problem("throttled", retry_after_s=5), not_made=True)
            frames.answer_later(call, 2.0, lambda: slow)
            return
        known = self._behaviour.before_call(request, self._process, self._stage.now_s())
        if known is not None:
            frames.answer_later(call, 1.0, lambda: known)
            return
        self._process.working_on.add(request.token)
        self._process.heard_of.add(request.token)
        self._stage.after(self._stage.rng(call.name, "begin").uniform(0.001, 1.0), self._reach)

    def _error(self, *, not_made: bool) -> Refusal:
        error_class = self._stage.rng(self._call.name, "class").choice(CLASSES)
        return Refusal(Problem(error_class, detail="no"), not_made=not_made)

    def _reach(self) -> None:
        """The far-side call begins; from here on it may take effect whatever becomes of the process."""
        call, process = self._call, self._process
        if not process.is_there or not process.has_input:
            return
        call.take_effect = partial(self._take_effect, "late")
        if self._frames.strikes(call, Fault.PROVIDER_CRASH_IN_CALL):
            self._frames.end_process("it crashed in the far-side call", call.daemon)
            return
        rng = self._stage.rng(call.name, "effect")
        takes_s = rng.uniform(0.001, 2.0)
        if rng.random() >= self._behaviour.far.supplier.pending_share:
            self._stage.after(takes_s, self._effect_in_time)
            return
        call.take_effect = None
        request = self._request
        self._behaviour.far.under_way[request.token] = request.units
        process.working_on.discard(request.token)
        self._stage.after(rng.uniform(2.5, 75.0), partial(self._take_effect, "in its own time"))
        pending = Report(request.id, request.token, "pending", poll_after_s=3)
        self._frames.answer_later(call, 2.0, lambda: pending)

    def _effect_in_time(self) -> None:
        if self._call.take_effect is None:
            return
        self._call.take_effect = None
        self._take_effect("")
        self._tell(self._behaviour.after_call(self._request, self._process, self._stage.now_s()))

    def _take_effect(self, how: str) -> None:
        call, request = self._call, self._request
        if request.token in self._behaviour.far.given_up:
            return
        rng = self._stage.rng(call.name, "visible")
        delay_s = rng.uniform(0.0, float(self._behaviour.far.supplier.promises.list_delay_s) * 0.95)
        most = request.units // 2 if self._frames.strikes(call, Fault.SHORT) else None
        self._behaviour.call(request, self._stage.now_s(), delay_s, most=most)
        made = [t.id for t in self._behaviour.far.orders[request.token].made]
        self._stage.say(f"{self._frames.name} has made {made} under {request.token} {how}".rstrip())

    def _tell(self, report: Report) -> None:
        frames, call, stage = self._frames, self._call, self._stage
        is_twice = frames.strikes(call, Fault.ANSWER_TWICE)
        if frames.strikes(call, Fault.ANSWER_LATE):
            late_s = ANSWER_S + GRACE_S + 0.1 - (stage.now_s() - call.written_s)
            stage.after(max(0.1, late_s), lambda: self._late(report))
            return
        if frames.strikes(call, Fault.ANSWER_LOST):
            stage.after(1.0, lambda: self._process.working_on.discard(report.token))
            return
        is_error = frames.strikes(call, Fault.ERROR_BUT_MADE, Fault.ERROR_UNSAID, Fault.THROTTLED)

        def done() -> None:
            self._process.working_on.discard(report.token)
            if not self._process.is_there:
                return
            frames.answer(call, self._error(not_made=False) if is_error else report)
            if is_twice:
                stage.after(frames.delay("twice", 10.0), lambda: self._late(report))

        stage.after(frames.delay("told", 1.0), done)

    def _late(self, report: Report) -> None:
        self._process.working_on.discard(report.token)
        if self._process.is_there and self._call.daemon.is_alive:
            self._behaviour.was_told(report)
            late = LateAnswer(self._frames.name, self._process.number, report.request, report)
            self._stage.tell(self._call.daemon, late)
