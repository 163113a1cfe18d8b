"""What lies between a daemon and one provider: processes, frames, answers, and everything that befalls them.

It stands for the supervisor and the provider link, by their promises: every effect begun has exactly one outcome while
its daemon lives; a call past its time ends its process; an end is told once nothing of it can act. It must not know
what the daemon makes of it.
"""

from collections.abc import Callable

from attrs import define, field

from provisioner.core.effects import (
    AskRequest,
    AskReturn,
    Effect,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
    StopProcess,
)
from provisioner.core.events import (
    Described,
    Event,
    LateAnswer,
    Listed,
    Lost,
    NotWritten,
    ProcessEnded,
    ProcessNotSpawned,
    ProcessSpawned,
    ProviderNotOpened,
    ProviderOpened,
    ReadFailed,
    Refusal,
    Report,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    ReturnWords,
)
from provisioner.core.facts import RequestFact
from provisioner.core.model import Problem
from provisioner.sim.chaos.history import Fault, Strike
from provisioner.sim.chaos.provider import Behaviour, Process
from provisioner.sim.chaos.stage import Daemon, Stage

Outcome = object
ANSWER_S = 10.0
GRACE_S = 3.0
CLASSES = ("no_capacity", "quota", "transient", "internal", "price", "auth", "bad_request")


@define(eq=False)
class Call:
    """One frame on its way, written or not; `outcome` makes the event that its daemon hears."""

    method: str
    number: int
    daemon: Daemon
    process: Process | None
    strike: Strike | None
    outcome: Callable[[object], Event]
    name: str
    written_s: float = 0.0
    is_open: bool = True
    request: RequestFact | None = None
    is_at_far_side: bool = False


@define(eq=False)
class Post:
    """The way to one provider; `process` is the one that sits there, also while it ends."""

    stage: Stage
    behaviour: Behaviour
    process: Process | None = None
    open_calls: list[Call] = field(factory=list)
    count: int = 0

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.behaviour.far.supplier.name

    def begin(self, daemon: Daemon, effect: Effect) -> None:
        """Begins an effect; its outcome comes as an event while the daemon lives."""
        match effect:
            case StartProcess():
                self._start(daemon, effect)
            case StopProcess():
                self._stop(daemon, effect)
            case OpenProvider():
                self._call(daemon, effect, "open", lambda c: self._open(c, effect), lambda o: _opened(effect, o))
            case ReadDescription():
                self._call(daemon, effect, "describe", lambda c: self._describe(c, effect), lambda o: _read(effect, o))
            case ReadList():
                begun_s = self.stage.now_s()
                self._call(daemon, effect, "list", lambda c: self._list(c, effect, begun_s), lambda o: _read(effect, o))
            case ReadSome():
                self._call(daemon, effect, "named", lambda c: self._named(c, effect), lambda o: _read(effect, o))
            case SendRequest() | AskRequest():
                self._begin_purchase(daemon, effect)
            case SendReturn() | AskReturn():
                self._begin_return(daemon, effect)

    # --- processes

    def _start(self, daemon: Daemon, effect: StartProcess) -> None:
        strike = self.stage.strikes("start", self.stage.nth("start"))

        def spawn() -> None:
            if not daemon.is_alive:
                return
            self.end_process("what was left is ended", None)
            if strike is not None:
                self.stage.hit(strike.fault)
                self.stage.tell(daemon, ProcessNotSpawned(effect.key, effect.provider, effect.number, "no memory"))
                return
            self.process = Process(effect.number, self.stage.now_s())
            self.stage.tell(
                daemon, ProcessSpawned(effect.key, effect.provider, effect.number, 100 + effect.number, 1, "boot")
            )

        self.stage.after(self._delay("start", 0.3), spawn)

    def _stop(self, daemon: Daemon, effect: StopProcess) -> None:
        if self.process is not None and self.process.is_there and self.process.number == effect.number:
            self.stop_soon(daemon, effect.reason)
            return
        ended = ProcessEnded(effect.provider, effect.number, 0, effect.reason)
        self.stage.after(self._delay("stopped", 0.2), lambda: self.stage.tell(daemon, ended))

    def stop_soon(self, daemon: Daemon, reason: str) -> None:
        """The ladder: no new calls, then the end."""
        process = self.process
        if process is None or process.is_stopping:
            return
        process.is_stopping = True

        def end() -> None:
            if self.process is process:
                self.end_process(reason, daemon)

        self.stage.after(self._delay("ladder", 4.0), end)

    def end_process(self, reason: str, daemon: Daemon | None) -> None:
        """The process is gone: what it had not begun never happens, what it had begun may still take effect."""
        process = self.process
        if process is None or not process.is_there:
            return
        process.is_there = False
        self.stage.say(f"{self.name} process {process.number} ends: {reason}")
        calls, self.open_calls = self.open_calls, []
        for call in calls:
            self._left_open(call, reason)
        if daemon is not None:
            ended = ProcessEnded(self.name, process.number, -9, reason)
            self.stage.after(self._delay("ended", 0.8), lambda: self.stage.tell(daemon, ended))

    def _left_open(self, call: Call, reason: str) -> None:
        if call.is_at_far_side and call.request is not None:
            call.is_at_far_side = False
            rng = self.stage.rng(call.name, "late")
            if rng.random() < 0.6:
                late_s = rng.uniform(0.01, float(self.behaviour.far.supplier.promises.late_effect_s) * 0.99)
                self.stage.hits[Fault.LATE_EFFECT] += 1
                self.stage.after(late_s, lambda: self._take_effect(call, "late"))
        if call.is_open:
            call.is_open = False
            event = call.outcome(Lost(reason))
            self.stage.after(self._delay("lost", 0.8), lambda: self.stage.tell(call.daemon, event))

    def daemon_died(self, daemon: Daemon) -> None:
        """Its pipes are closed: no answer reaches anybody, and the process ends by itself within its bound."""
        for call in self.open_calls:
            call.is_open = False
        process = self.process
        if process is None or not process.is_there:
            return
        process.has_input = False

        def end() -> None:
            if self.process is process:
                self.end_process("its input has ended", None)

        self.stage.after(self._delay("eof", 9.0), end)

    # --- frames

    def _delay(self, what: str, most_s: float) -> float:
        self.count += 1
        return self.stage.rng(self.name, what, self.count).uniform(0.001, most_s)

    def _call(
        self,
        daemon: Daemon,
        effect: Effect,
        method: str,
        serve: Callable[[Call], None],
        outcome: Callable[[object], Event],
    ) -> Call:
        nth = self.stage.nth(method)
        strike = self.stage.strikes(method, nth)
        call = Call(method, effect.key.process, daemon, self.process, strike, outcome, f"{method}/{nth}")
        owed = effect if isinstance(effect, SendRequest | SendReturn) else None
        self.stage.after(self.stage.rng(call.name, "write").uniform(0.001, 0.2), lambda: self._write(call, owed, serve))
        return call

    def _write(self, call: Call, owed: Effect | None, serve: Callable[[Call], None]) -> None:
        if not call.daemon.is_alive:
            return
        call.process = self.process
        process = self.process
        if process is None or not process.is_there or process.is_stopping or process.number != call.number:
            self._unwritten(call, "its process is not there any more")
        elif self._strikes(call, Fault.FRAME_UNWRITTEN):
            self._unwritten(call, "the pipe was full")
        elif owed is not None and not call.daemon.engine.is_owed(owed):
            self._unwritten(call, "no longer owed")
        else:
            call.written_s = self.stage.now_s()
            self.open_calls.append(call)
            self.stage.after(ANSWER_S, lambda: self._overdue(call))
            serve(call)

    def _unwritten(self, call: Call, reason: str) -> None:
        call.is_open = False
        self.stage.tell(call.daemon, call.outcome(NotWritten(reason)))

    def _strikes(self, call: Call, *faults: Fault) -> bool:
        if call.strike is None or call.strike.fault not in faults:
            return False
        self.stage.hit(call.strike.fault, f"({call.name} at {self.name})")
        return True

    def _overdue(self, call: Call) -> None:
        """No answer in time: the outcome is unknown after the grace, and the process is ended so that frames close."""
        if not call.is_open or call.process is None or not call.process.is_there:
            return

        def give_up() -> None:
            if call.is_open:
                call.is_open = False
                self.stage.tell(call.daemon, call.outcome(Lost("no answer in time")))
                if self.process is call.process:
                    self.stop_soon(call.daemon, f"no answer to {call.method}")

        self.stage.after(GRACE_S, give_up)

    def answer(self, call: Call, outcome: object) -> None:
        """An answer arrives, if anybody is there to send and to hear it."""
        if call in self.open_calls:
            self.open_calls.remove(call)
        if not call.is_open or not call.daemon.is_alive:
            return
        if call.process is None or not call.process.is_there:
            return
        call.is_open = False
        if any(c.written_s < call.written_s for c in self.open_calls):
            self.stage.hits[Fault.OUT_OF_ORDER] += 1
        strike = self.stage.passes(Fault.CRASH_AFTER_ANSWER)
        if strike is not None:
            self.stage.kill_daemon(0.5 + strike.size * 20)
            return
        self.stage.tell(call.daemon, call.outcome(outcome))

    def _answer_later(self, call: Call, most_s: float, make: Callable[[], object]) -> None:
        def now() -> None:
            if call.process is not None and call.process.is_there:
                self.answer(call, make())

        if self._strikes(call, Fault.ANSWER_LOST):
            return
        if self._strikes(call, Fault.ERROR_UNSAID):
            make_error = Refusal(Problem("transient", detail="try again"), not_made=False)
            self.stage.after(self._delay(call.name, most_s), lambda: self.answer(call, make_error))
            return
        if self._strikes(call, Fault.THROTTLED):
            slow = Refusal(Problem("throttled", retry_after_s=5), not_made=False)
            self.stage.after(self._delay(call.name, most_s), lambda: self.answer(call, slow))
            return
        self.stage.after(self._delay(call.name, most_s), now)

    # --- handshake and reading

    def _open(self, call: Call, effect: OpenProvider) -> None:
        if self._strikes(call, Fault.OPEN_FAILS):
            self._answer_later(call, 1.0, lambda: Lost("it said nothing"))
            return
        promises = self.behaviour.far.supplier.promises
        opened = ProviderOpened(
            effect.key, effect.provider, effect.number, "chaos", "1", ("host",), (), promises, "0123456789abcdef"
        )
        self._answer_later(call, 1.0, lambda: opened)

    def _describe(self, call: Call, effect: ReadDescription) -> None:
        templates = self.behaviour.templates()
        digest = f"d-{self.name}"
        self._answer_later(
            call, 1.0, lambda: Described(effect.key, effect.provider, effect.number, "r1", digest, templates, ())
        )

    def _list(self, call: Call, effect: ReadList, begun_s: float) -> None:
        def make() -> object:
            seen = self.behaviour.listed(self.stage.now_s())
            complete = True
            if self._strikes(call, Fault.LIST_INCOMPLETE):
                seen, complete = seen[: len(seen) // 2], False
            elif self._strikes(call, Fault.LIST_EMPTY):
                complete = self._is_known_to_hold(call.daemon, {s.provider_id for s in seen})
                seen = ()
            return Listed(effect.key, effect.provider, effect.number, begun_s, complete, 0, seen)

        self._answer_later(call, 2.0, make)

    def _is_known_to_hold(self, daemon: Daemon, listed: set[str]) -> bool:
        """Whether the daemon could know that an empty list is false: something it holds has been listed before."""
        world = daemon.engine.world()
        held = world.live.values() if world is not None else ()
        return any(i.provider == self.name and i.provider_id in listed and i.return_id is None for i in held)

    def _named(self, call: Call, effect: ReadSome) -> None:
        def make() -> object:
            now_s = self.stage.now_s()
            seen, missing = self.behaviour.named(effect.refs, now_s)
            return Listed(
                effect.key, effect.provider, effect.number, now_s, False, 0, seen, named=effect.refs, not_found=missing
            )

        self._answer_later(call, 1.0, make)

    # --- purchases

    def _begin_purchase(self, daemon: Daemon, effect: SendRequest | AskRequest) -> None:
        if isinstance(effect, AskRequest):
            asked_s = self.stage.now_s()
            self._call(
                daemon, effect, "status", lambda c: self._status(c, effect), lambda o: _asked(effect, o, asked_s)
            )
        else:
            self._call(daemon, effect, "request", lambda c: self._request(c, effect), lambda o: _answered(effect, o))

    def _fact(self, daemon: Daemon, id: str) -> RequestFact:
        world = daemon.engine.world()
        assert world is not None  # noqa: S101  an effect was begun, so there is a world
        return world.requests[id]

    def _status(self, call: Call, effect: AskRequest) -> None:
        request = self._fact(call.daemon, effect.request)

        def make() -> object:
            if call.process is None or self._strikes(call, Fault.SAID_UNKNOWN):
                return Report(request.id, request.token, "unknown")
            return self.behaviour.status(request, call.process, self.stage.now_s())

        self._answer_later(call, 1.5, make)

    def _request(self, call: Call, effect: SendRequest) -> None:
        call.request = request = self._fact(call.daemon, effect.request)
        self.stage.say(f"{self.name} gets {request.token} for {request.units}, frame {request.frames}")
        process = call.process
        if process is not None:
            self._serve_request(call, request, process)
        strike = self.stage.passes(Fault.CRASH_AFTER_SEND)
        if strike is not None:
            self.stage.kill_daemon(0.5 + strike.size * 20)

    def _serve_request(self, call: Call, request: RequestFact, process: Process) -> None:
        if self._strikes(call, Fault.FRAME_SWALLOWED):
            return
        if self._strikes(call, Fault.ERROR_NOT_MADE):
            self._answer_later(call, 2.0, lambda: self._error(call, not_made=True))
            return
        if call.strike is not None and call.strike.size < 0.5 and self._strikes(call, Fault.THROTTLED):
            slow = Refusal(Problem("throttled", retry_after_s=5), not_made=True)
            self._answer_later(call, 2.0, lambda: slow)
            return
        known = self.behaviour.before_call(request, process, self.stage.now_s())
        if known is not None:
            self._answer_later(call, 1.0, lambda: known)
            return
        process.working_on.add(request.token)
        process.heard_of.add(request.token)
        self.stage.after(self.stage.rng(call.name, "begin").uniform(0.001, 1.0), lambda: self._reach(call, process))

    def _error(self, call: Call, *, not_made: bool) -> Refusal:
        error_class = self.stage.rng(call.name, "class").choice(CLASSES)
        return Refusal(Problem(error_class, detail="no"), not_made=not_made)

    def _reach(self, call: Call, process: Process) -> None:
        """The far-side call begins; from here on it may take effect whatever becomes of the process."""
        if not process.is_there or (not process.has_input and not call.is_at_far_side):
            return
        call.is_at_far_side = True
        if self._strikes(call, Fault.PROVIDER_CRASH_IN_CALL):
            self.end_process("it crashed in the far-side call", call.daemon)
            return
        rng = self.stage.rng(call.name, "effect")
        supplier = self.behaviour.far.supplier
        self.stage.after(rng.uniform(0.001, 2.0), lambda: self._effect_in_time(call, process))
        if rng.random() < supplier.pending_share and call.request is not None:
            request = call.request
            call.is_at_far_side = False
            self.behaviour.far.under_way[request.token] = request.units
            process.working_on.discard(request.token)
            self.stage.after(rng.uniform(2.5, 30.0), lambda: self._take_effect(call, "in its own time"))
            self._answer_later(call, 2.0, lambda: Report(request.id, request.token, "pending", poll_after_s=3))

    def _effect_in_time(self, call: Call, process: Process) -> None:
        if not call.is_at_far_side or call.request is None:
            return
        call.is_at_far_side = False
        request = call.request
        self._take_effect(call, "")
        report = self.behaviour.after_call(request, process, self.stage.now_s())
        self._tell_report(call, process, report)

    def _take_effect(self, call: Call, how: str) -> None:
        if call.request is None:
            return
        rng = self.stage.rng(call.name, "visible")
        delay_s = rng.uniform(0.0, float(self.behaviour.far.supplier.promises.list_delay_s) * 0.95)
        most = None
        if self._strikes(call, Fault.SHORT):
            most = call.request.units // 2
        self.behaviour.call(call.request, self.stage.now_s(), delay_s, most=most)
        made = [t.id for t in self.behaviour.far.orders[call.request.token].made]
        self.stage.say(f"{self.name} has made {made} under {call.request.token} {how}".rstrip())

    def _tell_report(self, call: Call, process: Process, report: Report) -> None:
        def done() -> None:
            process.working_on.discard(report.token)
            if process.is_there:
                self.answer(call, self._error(call, not_made=False) if is_error else report)
            if is_twice and process.is_there:
                self.stage.after(self._delay("twice", 10.0), lambda: self._late(call, process, report))

        is_error = self._strikes(call, Fault.ERROR_BUT_MADE)
        is_twice = self._strikes(call, Fault.ANSWER_TWICE)
        if self._strikes(call, Fault.ANSWER_LATE):
            late_s = ANSWER_S + GRACE_S + 0.1 - (self.stage.now_s() - call.written_s)
            self.stage.after(max(0.1, late_s), lambda: self._late(call, process, report))
        elif self._strikes(call, Fault.ANSWER_LOST):
            self.stage.after(1.0, lambda: process.working_on.discard(report.token))
        elif self._strikes(call, Fault.ERROR_UNSAID, Fault.THROTTLED):
            is_error = True
            self.stage.after(1.0, done)
        else:
            self.stage.after(self._delay("told", 1.0), done)

    def _late(self, call: Call, process: Process, report: Report) -> None:
        process.working_on.discard(report.token)
        if process.is_there:
            self.stage.tell(call.daemon, LateAnswer(self.name, process.number, report.request, report))

    # --- give-backs

    def _begin_return(self, daemon: Daemon, effect: SendReturn | AskReturn) -> None:
        asked = isinstance(effect, AskReturn)

        def serve(call: Call) -> None:
            process = call.process
            if process is None or self._strikes(call, Fault.FRAME_SWALLOWED):
                return
            if asked:
                self._answer_later(call, 1.0, lambda: self._return_status(call, effect, process))
            else:
                self._give_back(call, effect, process)

        self._call(
            daemon, effect, "return status" if asked else "return", serve, lambda o: _returned(effect, o, asked=asked)
        )

    def _return_status(self, call: Call, effect: SendReturn | AskReturn, process: Process) -> object:
        if self._strikes(call, Fault.SAID_UNKNOWN):
            return ReturnWords((), known=False)
        return self.behaviour.give_back_status(effect.return_id, process, self.stage.now_s())

    def _give_back(self, call: Call, effect: SendReturn | AskReturn, process: Process) -> None:
        world = call.daemon.engine.world()
        giveback = world.returns[effect.return_id] if world is not None else None

        def take() -> object:
            if giveback is None or self._strikes(call, Fault.FORGOTTEN):
                return ReturnWords(())
            takes_s = self.stage.rng(call.name, "takes").choice((0.0, 3.0, 12.0))
            words = self.behaviour.give_back(giveback, process, self.stage.now_s(), takes_s)
            self.stage.say(f"{self.name} takes back {[(i.provider_id, i.state) for i in words.items]}")
            if self._strikes(call, Fault.ERROR_BUT_MADE):
                return Refusal(Problem("internal"), not_made=False)
            return words

        self._answer_later(call, 2.0, take)


# --- outcomes as events


def _opened(effect: OpenProvider, outcome: object) -> Event:
    if isinstance(outcome, ProviderOpened):
        return outcome
    return ProviderNotOpened(effect.key, effect.provider, effect.number, "lost", str(outcome))


def _read(effect: ReadDescription | ReadList | ReadSome, outcome: object) -> Event:
    if isinstance(outcome, Described | Listed):
        return outcome
    assert isinstance(outcome, Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a read
    what = {ReadDescription: "description", ReadList: "list", ReadSome: "named"}[type(effect)]
    return ReadFailed(effect.key, effect.provider, effect.number, what, outcome)


def _answered(effect: SendRequest, outcome: object) -> Event:
    assert isinstance(outcome, Report | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a purchase
    return RequestAnswered(effect.key, effect.provider, effect.number, effect.request, outcome)


def _asked(effect: AskRequest, outcome: object, asked_s: float) -> Event:
    assert isinstance(outcome, Report | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of asking
    return RequestAsked(effect.key, effect.provider, effect.number, effect.request, asked_s, outcome)


def _returned(effect: SendReturn | AskReturn, outcome: object, *, asked: bool) -> Event:
    assert isinstance(outcome, ReturnWords | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a return
    return ReturnAnswered(effect.key, effect.provider, effect.number, effect.return_id, asked=asked, outcome=outcome)
