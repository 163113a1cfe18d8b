"""A provider's processes and the frames to and from them: written, open, answered, lost, and the ends of both.

It stands for the supervisor by its promises: a call past its time ends its process; an end is told once nothing of it
can act. It must not know what a frame asks for.
"""

from collections.abc import Callable

from attrs import define, field

from provisioner.core.effects import Effect, SendRequest, SendReturn, StartProcess, StopProcess
from provisioner.core.events import Event, Lost, NotWritten, ProcessEnded, ProcessNotSpawned, ProcessSpawned, Refusal
from provisioner.core.model import Problem
from provisioner.sim.chaos.history import Fault, Strike
from provisioner.sim.chaos.provider import Behaviour, Process
from provisioner.sim.chaos.stage import Daemon, Stage

ANSWER_S = 10.0
GRACE_S = 3.0


@define(eq=False)
class Call:
    """One frame on its way, written or not; `outcome` makes the event that its daemon hears.

    `take_effect` is there while a far-side call of it is under way: it may still happen when the process has ended.
    """

    method: str
    number: int
    daemon: Daemon
    process: Process | None
    strike: Strike | None
    outcome: Callable[[object], Event]
    name: str
    written_s: float = 0.0
    is_open: bool = True
    take_effect: Callable[[], None] | None = None


@define(eq=False)
class Frames:
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

    # --- processes

    def start(self, daemon: Daemon, effect: StartProcess) -> None:
        """Starts the process after ending what was left; its outcome is an event."""
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

        self.stage.after(self.delay("start", 0.3), spawn)

    def stop(self, daemon: Daemon, effect: StopProcess) -> None:
        """Ends the process by the ladder; where there is none to end, that is told."""
        if self.process is not None and self.process.is_there and self.process.number == effect.number:
            self.stop_soon(daemon, effect.reason)
            return
        ended = ProcessEnded(effect.provider, effect.number, 0, effect.reason)
        self.stage.after(self.delay("stopped", 0.2), lambda: self.stage.tell(daemon, ended))

    def stop_soon(self, daemon: Daemon, reason: str) -> None:
        """The ladder: no new calls, then the end."""
        process = self.process
        if process is None or process.is_stopping:
            return
        process.is_stopping = True

        def end() -> None:
            if self.process is process:
                self.end_process(reason, daemon)

        self.stage.after(self.delay("ladder", 4.0), end)

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
            self.stage.after(self.delay("ended", 0.8), lambda: self.stage.tell(daemon, ended))

    def _left_open(self, call: Call, reason: str) -> None:
        effect, call.take_effect = call.take_effect, None
        if effect is not None:
            rng = self.stage.rng(call.name, "late")
            if rng.random() < 0.6:
                late_s = rng.uniform(0.01, float(self.behaviour.far.supplier.promises.late_effect_s) * 0.99)
                self.stage.hits[Fault.LATE_EFFECT] += 1
                self.stage.after(late_s, effect)
        if call.is_open:
            call.is_open = False
            ordered = call.process is not None and call.process.is_stopping
            event = call.outcome(Lost(reason, at_crash=not ordered))
            self.stage.after(self.delay("lost", 0.8), lambda: self.stage.tell(call.daemon, event))

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

        self.stage.after(self.delay("eof", 9.0), end)

    # --- frames

    def delay(self, what: str, most_s: float) -> float:
        """A small delay of its own."""
        self.count += 1
        return self.stage.rng(self.name, what, self.count).uniform(0.001, most_s)

    def call(
        self,
        daemon: Daemon,
        effect: Effect,
        method: str,
        serve: Callable[[Call], None],
        outcome: Callable[[object], Event],
    ) -> Call:
        """Writes a frame soon, if it is owed and its process is there; `serve` is what the provider then does."""
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
        elif self.strikes(call, Fault.FRAME_UNWRITTEN):
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

    def strikes(self, call: Call, *faults: Fault) -> bool:
        """Whether one of these faults is due on this call; it counts as having struck."""
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
                self.stage.tell(call.daemon, call.outcome(Lost("no answer in time", at_crash=True)))
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
        self.behaviour.was_told(outcome)
        self.stage.tell(call.daemon, call.outcome(outcome))

    def answer_later(self, call: Call, most_s: float, make: Callable[[], object]) -> None:
        """Makes an answer and gives it after a while, unless the call is struck."""

        def now() -> None:
            if call.process is not None and call.process.is_there:
                self.answer(call, make())

        if self.strikes(call, Fault.ANSWER_LOST):
            return
        if self.strikes(call, Fault.ERROR_UNSAID):
            make_error = Refusal(Problem("transient", detail="try again"), not_made=False)
            self.stage.after(self.delay(call.name, most_s), lambda: self.answer(call, make_error))
            return
        if self.strikes(call, Fault.THROTTLED):
            slow = Refusal(Problem("throttled", retry_after_s=5), not_made=False)
            self.stage.after(self.delay(call.name, most_s), lambda: self.answer(call, slow))
            return
        self.stage.after(self.delay(call.name, most_s), now)
