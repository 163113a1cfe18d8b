"""One conversation with one daemon: what arrives, what becomes of each call, and how it all ends.

Knows calls by id and the one nursery they live in; must not know descriptors, signals or what a method does.
"""

import secrets
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import trio
from attrs import frozen

from provider_sdk.admission import Admission, Ticket
from provider_sdk.author import AuthorThreads
from provider_sdk.contract.codec import BadShape, decode, encode
from provider_sdk.contract.envelope import Answer, ErrorAnswer, Malformed, Notification, Request, classify, error_object
from provider_sdk.contract.errors import write_error
from provider_sdk.contract.framing import DAEMON_FRAME_BYTES, Frame, FrameReader, Junk, Oversize
from provider_sdk.contract.messages import CancelCall, ShutdownParams, ShutdownResult
from provider_sdk.contract.words import ErrorClass, Mode, Outcome
from provider_sdk.dispatch import Dispatcher, Method, Params
from provider_sdk.errors import ContractError, StateError
from provider_sdk.first_step import FirstStep
from provider_sdk.handshake import EXIT_ORDERLY, Greeting, exit_code_after, greet
from provider_sdk.hints import send_hints
from provider_sdk.junk import JunkCount
from provider_sdk.lifespan import OPEN_S, HeldOpen
from provider_sdk.log import Form, Log
from provider_sdk.notify import Notifier
from provider_sdk.open_work import OpenWork, Work
from provider_sdk.pipes import received
from provider_sdk.provider import Provider
from provider_sdk.served import Owner, Served, checked, keys_of, read_params
from provider_sdk.stages import Ending, Stage, refusal
from provider_sdk.writer import FrameWriter

FINISH_S = 6.5
"""How long running calls may still finish after the end of input or SIGTERM; the whole process has 10 s (HS-9)."""
LEAVE_S = 1.0
"""How long the author's lifespan may take to be left at an orderly end."""
OPEN_TASKS = 4_096
"""Frames being worked on or answered at once; beyond it reading pauses until one is done."""


@frozen
class _Call:
    request: Request
    scope: trio.CancelScope


class Session:
    """Speaks for one provider over one pair of streams, from the first frame to the exit code.

    `boot_now` gives CLOCK_BOOTTIME seconds; `log` takes lines for stderr, which are made in the form `log_form`;
    `on_ending` is told once, with the exit code, that the end has begun.
    """

    def __init__(
        self,
        provider: Provider,
        send: trio.abc.SendStream,
        *,
        boot_now: Callable[[], float],
        log: Callable[[str], None],
        on_ending: Callable[[Ending, int], None] = lambda ending, code: None,
        log_form: Form = "text",
    ) -> None:
        self._provider = provider
        self._boot_now = boot_now
        self.log = Log(log, form=log_form)
        self._log = self.log.lines
        self._on_ending = on_ending
        self._writer = FrameWriter(send, self._log)
        self.threads = AuthorThreads()
        self._admission = Admission(slots=1)
        self._notifier = Notifier()
        self._stage = Stage.NEW
        self._greeting: Greeting | None = None
        self._served: Served | None = None
        self._lifespan: HeldOpen | None = None
        self._dispatcher = self._dispatch({"initialize": self._initialize})
        self._calls: dict[int, _Call] = {}
        self._work = OpenWork()
        self._read: deque[Frame | Junk | Oversize] = deque()
        self._reading = trio.CancelScope()
        self._read_over = trio.Event()
        self._ending: Ending | None = None
        self._exit_code = EXIT_ORDERLY
        self._junk = JunkCount(self._log)
        self._nursery: trio.Nursery | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    async def run(self, receive: trio.abc.ReceiveStream) -> int:
        """Serve until the conversation ends; answers the exit code. The state folder stays locked until `release`."""
        self._token = trio.lowlevel.current_trio_token()
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(lambda: send_hints(self._notifier, self._writer, soon=self._soon, log=self._log))
            self._go_on_reading(receive, FrameReader(DAEMON_FRAME_BYTES))
            await self._read_over.wait()
            await self._wind_up()
            await self._leave_lifespan()
            nursery.cancel_scope.cancel()
        return self._exit_code

    @property
    def may_close(self) -> bool:
        """Whether the author's `close` is due: he has opened, and none of his methods is running."""
        return self._greeting is not None and not self._admission.running

    def release(self) -> None:
        """Let the state folder go, where the process lives on; else its end does that, after the last thread's."""
        if self._greeting is not None:
            self._greeting.start.state.unlock()

    def end(self, ending: Ending) -> None:
        """Stop reading and wind up; the first word counts. For the trio thread."""
        if self._ending is None:
            self._ending = ending
            self._on_ending(ending, self._exit_code)
            self._reading.cancel()

    def end_from_anywhere(self, ending: Ending) -> None:
        """As `end`, for signal handlers and other threads."""
        if self._token is None:  # before `run`, where only a signal handler of the same thread can come from
            self.end(ending)
        else:
            self._soon(lambda: self.end(ending))

    # Reading.

    def _go_on_reading(self, receive: trio.abc.ReceiveStream, reader: FrameReader) -> None:
        # Each reader has a scope of its own: the last one's may be around a call by now.
        self._reading = scope = trio.CancelScope()
        if self._nursery is not None:
            self._nursery.start_soon(self._read_on, receive, reader, scope)

    async def _read_on(self, receive: trio.abc.ReceiveStream, reader: FrameReader, scope: trio.CancelScope) -> None:
        """Read until the end, or until a call that came has to wait: this task is the call's then, another reads on."""
        if self._ending is not None:
            scope.cancel()
        with scope:
            while True:
                while self._read:
                    if not await self._take(self._read.popleft(), lambda: self._go_on_reading(receive, reader)):
                        return
                data = await received(receive)
                if not data:
                    break
                self._read.extend(reader.feed(data))
        for cut in reader.end():
            self._log(f"provider: {cut.reason}")
        self.end(Ending.INPUT_ENDED)
        self._read_over.set()

    async def _take(self, found: Frame | Junk | Oversize, read_on: Callable[[], None]) -> bool:
        """Take what came; False if it had to wait, and `read_on` was called meanwhile."""
        while self._work.count >= OPEN_TASKS:
            await self._work.wait_one_ended()
        match found:
            case Frame(obj):
                work = self._take_message(obj)
                return work is None or await self._here(work, read_on)
            case Junk(excerpt, reason):
                self._junk.note(f"skipped a line that is no message ({reason}): {excerpt!r}")
            case Oversize(size):
                self._junk.note(f"skipped a line over the limit, {size} bytes so far")
        return True

    async def _here(self, work: Work, read_on: Callable[[], None]) -> bool:
        waited = False

        def on_wait() -> None:
            nonlocal waited
            waited = True
            read_on()

        await FirstStep(self._work.begun(work), on_wait)
        return not waited

    def _take_message(self, obj: Mapping[str, object]) -> Work | None:
        """The work that a message is, to be done by who took it; None if there is none, or none yet."""
        match classify(obj):
            case Request() as request:
                return self._take_request(request)
            case Notification(method, params):
                self._take_notification(method, params)
            case Malformed(reason, call_id, answer_due):
                self._junk.note(f"skipped a malformed message ({reason})")
                if call_id is not None and answer_due:
                    self._refuse(call_id, ContractError(ErrorClass.BAD_MESSAGE, reason))
            case Answer(call_id) | ErrorAnswer(call_id):
                # We ask nothing, so nothing is answered; an answer to an answer would never end.
                self._junk.note(f"skipped an answer to a question never asked ({call_id})")
        return None

    def _take_request(self, request: Request) -> Work | None:
        refused = refusal(self._stage, request.method)
        if refused is not None:
            self._refuse(request.id, refused)
            return None
        if self._served is None:
            self._stage = Stage.GREETING
            return self._greet(request)
        if request.method in self._served.methods:
            return self._admit(request)
        if request.method == "shutdown":
            self._stage = Stage.STOPPING
        return self._answer(request)  # shutdown; ping, which never waits; and unknown names

    def _take_notification(self, method: str, params: Params) -> None:
        if method == "exit":
            self.end(Ending.TOLD_TO_EXIT)
        elif method == "cancel_call":
            self._cancel_call(params)
        # Others, and early ones, are dropped (FR-6, HS-2).

    # Calls.

    def _admit(self, request: Request) -> Work | None:
        not_made = Outcome.NOT_MADE if request.method == "request" else None
        if request.id in self._calls:
            self._refuse(request.id, ContractError(ErrorClass.BAD_MESSAGE, "this id is in use"))
            return None
        if not self._admission.has_room():
            detail = "too many calls wait here"
            self._refuse(request.id, ContractError(ErrorClass.THROTTLED, detail, outcome=not_made, retry_after_s=1))
            return None
        keys = frozenset[str]() if self._provider.serialises_itself else keys_of(request.method, request.params)
        self._calls[request.id] = _Call(request, trio.CancelScope())
        return self._run_call(request) if self._admission.enter(Ticket(request.id, keys)) else None

    async def _run_call(self, request: Request) -> None:
        answer = await self._answer_within(self._calls[request.id].scope, request)
        # The slot and the keys are free before the answer leaves: whoever reads it may ask again at once.
        del self._calls[request.id]
        self._begin(self._admission.leave(request.id))
        await self._send(request, answer)

    def _begin(self, call_ids: list[int]) -> None:
        for call_id in call_ids:
            self._start(self._run_call(self._calls[call_id].request))

    async def _answer_within(self, scope: trio.CancelScope, request: Request) -> dict[str, Any]:
        with scope:
            return await self._dispatcher.answer(request.id, request.method, request.params)
        return error_object(request.id, write_error(ContractError(ErrorClass.CANCELLED)))

    def _cancel_call(self, params: Params) -> None:
        try:
            call = self._calls.get(decode(CancelCall, params).id)
        except BadShape:
            return  # it names no call; `true` is no 1
        if call is None or self._served is None:
            return
        request = call.request
        if self._admission.is_waiting(request.id):
            del self._calls[request.id]
            not_made = Outcome.NOT_MADE if request.method == "request" else None
            self._refuse(request.id, ContractError(ErrorClass.CANCELLED, outcome=not_made))
            self._begin(self._admission.withdraw(request.id))
        elif self._served.may_interrupt(request.method):
            call.scope.cancel()
        else:
            self._served.ask_to_stop(request.id)

    async def _answer(self, request: Request) -> None:
        await self._send(request, await self._dispatcher.answer(request.id, request.method, request.params))

    async def _send(self, request: Request, answer: dict[str, Any]) -> None:
        if self._served is not None:
            self._served.forget_call(request.id)
        await self._writer.write(self._writer.encode_answer(request.id, request.method, answer))

    def _refuse(self, call_id: int, refused: ContractError) -> None:
        self._start(self._writer.write(self._writer.encode(error_object(call_id, write_error(refused)))))

    def _start(self, work: Work) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(_awaited, self._work.begun(work))

    # Handshake.

    async def _greet(self, request: Request) -> None:
        answer = await self._dispatcher.answer(request.id, request.method, request.params)
        if self._greeting is None:
            await self._send(request, answer)
            self._exit_code = exit_code_after(ErrorClass(answer["error"]["data"]["error_class"]))
            self.end(Ending.NOT_GREETED)
            return
        self._serve(self._greeting)
        await self._send(request, answer)
        self._notifier.greeted()

    async def _initialize(self, call_id: int, params: Params) -> dict[str, Any]:
        greeting = await greet(self._provider, params, self._notifier, self.threads, self.log)
        try:
            await self._enter_lifespan(greeting)
        except BaseException:
            greeting.start.state.unlock()
            raise
        self._greeting = greeting
        return greeting.result

    async def _enter_lifespan(self, greeting: Greeting) -> None:
        held = HeldOpen(self._provider.lifespan(greeting.start), self.threads)
        if self._nursery is not None:
            with trio.move_on_after(OPEN_S):
                await self._nursery.start(held.run)
                self._lifespan = held
        if self._lifespan is None:
            raise ContractError(ErrorClass.TRANSIENT, f"the provider's lifespan did not begin within {OPEN_S:.0f} s")

    async def _leave_lifespan(self) -> None:
        # Under a call that still runs nothing is taken away: it is cut off with the rest.
        if self._lifespan is not None and not self._admission.running:
            with trio.move_on_after(LEAVE_S):
                await self._lifespan.end()

    def _serve(self, greeting: Greeting) -> None:
        start, calls = greeting.start, greeting.opened.promises.calls
        owner = Owner(
            epoch=start.epoch,
            boot_now=self._boot_now,
            highest_epoch=lambda: start.state.highest_epoch(start.lineage),
            on_superseded=lambda: self.end_from_anywhere(Ending.SUPERSEDED),
            damage=start.state.damage,
            on_auth=start.credentials.refused,
        )
        self._served = Served(self._provider, greeting.opened, owner, self.threads, self._admission.held)
        self._dispatcher = self._dispatch({**self._served.methods, "ping": self._ping, "shutdown": self._shutdown})
        self._writer.allow(start.frame_bytes)
        self._admission.resize(calls.in_flight)
        self.threads.resize(calls.in_flight)
        if self._stage is Stage.GREETING:  # else the end has come meanwhile
            self._stage = Stage.CHECKING if start.mode == Mode.CHECK else Stage.SERVING

    def _dispatch(self, methods: Mapping[str, Method]) -> Dispatcher:
        return Dispatcher(methods, unknown=_unknown_method, on_bug=self._as_refusal)

    def _as_refusal(self, call_id: int, bug: Exception) -> ContractError:
        outcome = None if self._served is None else self._served.outcome_of_bug(call_id)
        if isinstance(bug, StateError):  # our own words, fit for the wire
            self._log(f"provider: {bug}")
            return ContractError(ErrorClass.TRANSIENT, str(bug)[:500], outcome=outcome, reason="state")
        ref = secrets.token_hex(6)
        self._log(f"provider: call {call_id} failed, ref {ref}\n{''.join(traceback.format_exception(bug))}")
        return ContractError(ErrorClass.INTERNAL, "a fault of the provider, see its log", outcome=outcome, ref=ref)

    # Ping and end.

    async def _ping(self, call_id: int, params: Params) -> dict[str, Any]:
        if self._served is None:
            raise ContractError(ErrorClass.NOT_INITIALIZED)
        return await self._served.ping(self._admission.running, self._admission.waiting)

    async def _shutdown(self, call_id: int, params: Params) -> dict[str, Any]:
        asked = read_params(ShutdownParams, params)
        ends_at = trio.current_time() + asked.grace_s
        self._stop_calls()
        with trio.move_on_at(ends_at - min(1.0, asked.grace_s / 4)):
            while self._admission.running:
                await self._work.wait_one_ended()
        with trio.move_on_at(ends_at):
            return encode(checked(await self.threads.run(self._provider.shutdown, asked), ShutdownResult))
        raise ContractError(ErrorClass.TRANSIENT, "the grace was over before the provider had finished")

    def _stop_calls(self) -> None:
        for call_id in self._admission.drop_waiting():
            del self._calls[call_id]
            self._refuse(call_id, ContractError(ErrorClass.SHUTTING_DOWN))
        if self._served is not None:
            self._served.ask_all_to_stop()

    async def _wind_up(self) -> None:
        if self._ending is None or not self._ending.lets_calls_finish:
            return
        self._stage = Stage.STOPPING
        with trio.move_on_after(FINISH_S):
            self._stop_calls()
            while self._work.count:
                await self._work.wait_one_ended()

    def _soon(self, work: Callable[[], None]) -> None:
        if self._token is not None:
            try:
                self._token.run_sync_soon(work)
            except trio.RunFinishedError:
                self._log("provider: something was said after the end")


async def _awaited(work: Work) -> None:
    await work


async def _unknown_method(call_id: int, params: Params) -> dict[str, Any]:
    raise ContractError(ErrorClass.UNKNOWN_METHOD)
