"""The daemon's end of one process: sends, matches answers by id, and holds every line to the rules of the wire.

Alone responsible for one conversation. Knows no check; bounds every wait by what the provider promised.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import trio
from attrs import define

from provider_sdk.contract import (
    PROVIDER_FRAME_BYTES,
    Answer,
    ErrorAnswer,
    Frame,
    FrameReader,
    InitializeResult,
    Instance,
    Junk,
    ListResult,
    Malformed,
    Notification,
    Oversize,
    Report,
    Request,
    RequestStatusResult,
    ReturnState,
    classify,
    frame,
    notification_object,
    request_object,
)
from provider_sdk.contract.messages import Program
from provider_sdk.contract.promises import Promises
from provider_sdk.testing import wire_rules
from provider_sdk.testing.hint_rate import HintRate
from provider_sdk.testing.process import READ_BYTES, Process
from provider_sdk.testing.reply import Reply, shape_faults, shown
from provider_sdk.testing.saying import Identity, Params, not_after
from provider_sdk.testing.verdict import Broken
from provider_sdk.testing.watch import Watch

GREETING_S: Final = 60.0
SLACK_S: Final = 2.0
LAST_WORDS_S: Final = 1.0
"""What a process wrote before its end may still lie in the pipe."""
HEARD: Final = 50


@define
class _Call:
    method: str
    sent: str
    at: float
    reply: Reply | None = None
    due: bool = True


class Conversation:
    """One process and what was said with it; `loose` ones do not hold answers to what was said before."""

    def __init__(
        self,
        process: Process,
        watch: Watch,
        identity: Identity,
        state_dir: Path,
        epoch: int,
        config: Mapping[str, object],
        *,
        frame_bytes: int = PROVIDER_FRAME_BYTES,
        loose: bool = False,
    ) -> None:
        """Take a running process; nothing is said yet."""
        self.process = process
        self.watch = watch
        self.identity = identity
        self.state_dir = state_dir
        self.epoch = epoch
        self.config = config
        self.frame_bytes = frame_bytes
        self.loose = loose
        self.greeted = False
        self.promises = Promises()
        self.capabilities: frozenset[str] = frozenset()
        self.program = Program("?", "?")
        self.state_id = ""
        self.order: list[int] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.ended = False
        self.heard: deque[str] = deque(maxlen=HEARD)
        self.instances: dict[str, Instance] = {}
        self._calls: dict[int, _Call] = {}
        self._next_id = 1
        self._news = trio.Event()
        self._hints = HintRate()
        self._last = b""

    # Sending.

    async def write(self, data: bytes) -> None:
        """Send bytes as they are; Broken if the process does not take them."""
        try:
            with trio.fail_after(GREETING_S):
                await self.process.write(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as problem:
            await self.process.wait_end(1.0)
            raise Broken(None, "a process that reads its input", self.how_it_is(), shown_bytes(data)) from problem
        except trio.TooSlowError as problem:
            raise Broken(None, "input that is read", "a full pipe", shown_bytes(data)) from problem

    def announce(self, method: str, params: Params, call_id: int | None = None) -> tuple[int, bytes]:
        """Register a call under its own id (or the next) and return id and frame, to be written by the caller."""
        number = call_id or self._next_id
        self._next_id = max(self._next_id, number) + 1 if number < 2**40 else self._next_id
        data = frame(request_object(number, method, params))
        units = params.get("units")
        if method == "request" and isinstance(units, int):
            self.watch.ledger.asked(str(params.get("token")), units)
        self._calls[number] = _Call(method, shown_bytes(data), trio.current_time())
        return number, data

    async def ask(self, method: str, params: Params | None = None, *, call_id: int | None = None) -> int:
        """Send a call; return its id."""
        number, data = self.announce(method, params or {}, call_id)
        await self.write(data)
        return number

    async def tell(self, method: str, params: Params | None = None) -> None:
        """Send a notification."""
        await self.write(frame(notification_object(method, params or {})))

    async def call(self, method: str, params: Params | None = None, *, within_s: float | None = None) -> Reply:
        """Send a call and return its answer."""
        return await self.answer(await self.ask(method, params), within_s=within_s)

    async def answer(self, call_id: int, *, within_s: float | None = None) -> Reply:
        """Return the answer to a call; Broken if it does not come in the time promised, or the process ends."""
        call = self._calls[call_id]
        limit_s = self.limit_s(call.method) if within_s is None else within_s
        with trio.move_on_at(call.at + limit_s):
            while call.reply is None and not self.ended:
                await self._news.wait()
        if call.reply is not None:
            return call.reply
        if self.ended:
            await self.process.wait_end(1.0)
            raise Broken(None, f"an answer to {call.method}", self.how_it_is(), call.sent)
        clause = None if within_s is not None else _late_clause(call.method)
        raise Broken(clause, f"an answer to {call.method} within {limit_s:g} s", "none", call.sent)

    async def quiet(self, seconds: float) -> None:
        """Let a bounded time pass, reading; for what must *not* come."""
        with trio.move_on_after(seconds):
            while not self.ended:
                await self._news.wait()

    def has_answer(self, call_id: int) -> bool:
        """Return whether a call is answered by now."""
        return self._calls[call_id].reply is not None

    def limit_s(self, method: str) -> float:
        """Return how long an answer is waited for."""
        return GREETING_S if method == "initialize" else self.promises.calls.answer_limit_s(method) + SLACK_S

    # What it is about.

    async def greet(self, **changes: object) -> Reply:
        """Do the handshake and return its answer, whatever it is."""
        reply = await self.call("initialize", self.greeting(**changes))
        if isinstance(reply.frame.get("result"), dict) and not shape_faults("initialize", reply.frame["result"]):
            self.welcome(reply.result(InitializeResult))
        return reply

    def greeting(self, **changes: object) -> Params:
        """Return the params of this conversation's `initialize`."""
        params = self.identity.initialize(self.state_dir, self.epoch, self.config, **changes)
        params["frame_bytes"] = self.frame_bytes
        return params

    def welcome(self, result: InitializeResult) -> None:
        """Take what the provider says of itself."""
        self.greeted = True
        self.promises, self.capabilities = result.promises, frozenset(result.capabilities)
        self.program, self.state_id = result.provider, result.state_id

    def fence(self) -> Params:
        """Return epoch and not_after of a changing call."""
        return {"epoch": self.epoch, "not_after": not_after()}

    def how_it_is(self) -> str:
        """Return how the process is, for a report."""
        status = self.process.status
        state = "its stdout closed" if status is None else f"the end of the process (status {status})"
        tail = self.process.tail[-300:].strip()
        return f"{state}, stderr: {tail}" if tail else state

    # Receiving.

    async def read(self) -> None:
        """Read until the process closes its stdout; run beside everything else."""
        reader = FrameReader(self.frame_bytes)
        try:
            while data := await self.process.stdout.receive_some(READ_BYTES):
                self._look_at_line_ends(bytes(data))
                for found in reader.feed(data):
                    self._take(found)
                self._wake()
        except (trio.ClosedResourceError, trio.BrokenResourceError):
            self.loose = True
        self.ended = True
        self._wake()

    async def watch_end(self) -> None:
        """Notice the end of the process, also where something it started still holds its stdout; run beside `read`."""
        await self.process.ended.wait()
        await trio.sleep(LAST_WORDS_S)
        self.ended = True
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = trio.Event()

    def _look_at_line_ends(self, data: bytes) -> None:
        joined = (self._last or b"\n") + data
        if b"\n\n" in joined:
            self.watch.broken(Broken("FR-1", "no empty lines", shown_bytes(joined[:200])))
        elif b"\r\n" in joined:
            self.watch.broken(Broken("FR-1", "no CR before LF", shown_bytes(joined[:200])))
        self._last = data[-1:]

    def _take(self, found: Frame | Junk | Oversize) -> None:
        match found:
            case Junk():
                self.watch.broken(wire_rules.of_line(found))
            case Oversize(size):
                came = f"{size} bytes and more"
                self.watch.broken(Broken("FR-3", f"no frame over frame_bytes ({self.frame_bytes})", came))
            case Frame(obj):
                self.watch.frames += 1
                self.heard.append(orjson.dumps(obj)[:65_536].decode("utf-8", "replace"))
                self._take_message(obj)

    def _take_message(self, obj: dict[str, Any]) -> None:
        match classify(obj):
            case Answer(call_id) | ErrorAnswer(call_id):
                self._take_answer(call_id, obj)
            case Notification(method, params):
                self._take_notification(method, params)
            case Request(_, method):
                self.watch.broken(Broken("FR-6", "answers and notifications only", shown(obj), method))
            case Malformed(reason, call_id):
                clause = "FR-5" if call_id is None and "method" not in obj else "FR-2"
                self.watch.broken(Broken(clause, f"a message, but {reason}", shown(obj), self._sent(call_id)))
                if call_id in self._calls and "method" not in obj:
                    self._settle(self._calls[call_id], obj)

    def _sent(self, call_id: int | None) -> str:
        return self._calls[call_id].sent if call_id in self._calls else ""

    def _take_answer(self, call_id: int, obj: dict[str, Any]) -> None:
        call = self._calls.get(call_id)
        if call is None or call.reply is not None:
            why = "the id of a call" if call is None else "one answer to a call"
            self.watch.broken(Broken("FR-5", why, shown(obj), self._sent(call_id)))
            return
        self.order.append(call_id)
        self._settle(call, obj)
        if "error" in obj and obj["error"] is not None:
            self.watch.all_broken(wire_rules.of_error(obj, call.sent))
        else:
            self.watch.all_broken(wire_rules.of_result(call.method, obj, call.sent, strict=self.watch.strict))
            self._remember(call)

    def _settle(self, call: _Call, obj: dict[str, Any]) -> None:
        seconds = trio.current_time() - call.at
        call.reply = Reply(call.method, call.sent, obj, seconds)
        self.watch.answered(call.method, seconds)

    def _take_notification(self, method: str, params: dict[str, Any]) -> None:
        self.said.append((method, params))
        self.watch.hints += 1
        if not self.greeted and method != "log" and not any(call.reply for call in self._calls.values()):
            self.watch.broken(Broken("HS-2", "nothing but log before the answer to initialize", shown(params), method))
        self.watch.all_broken(wire_rules.of_notification(method, params))
        what = params.get("what")
        kinds = tuple(str(kind) for kind in what) if isinstance(what, list) else ()
        self.watch.all_broken(self._hints.came(method, kinds, trio.current_time()))

    def _remember(self, call: _Call) -> None:
        assert call.reply is not None  # noqa: S101 - settled just before
        if shape_faults(call.method, call.reply.frame["result"]) is not None:
            return
        for report in _reports(call.reply):
            self.instances |= {each.instance: each for each in report.instances}
            found = list(self.watch.ledger.reported(report))
            self.watch.all_broken([] if self.loose else found)
        for name in _returned(call.reply):
            self.instances.pop(name, None)
        if call.method == "list":
            for instance in call.reply.result(ListResult).instances:
                self.watch.all_broken(self.watch.ledger.listed(instance))


def _reports(reply: Reply) -> Iterator[Report]:
    if reply.method in ("request", "cancel"):
        yield reply.result(Report)
    elif reply.method == "request_status":
        yield from reply.result(RequestStatusResult).requests


def _returned(reply: Reply) -> Iterator[str]:
    held = [reply.frame["result"]] if reply.method == "return" else reply.frame["result"].get("returns") or []
    for holder in held if reply.method in ("return", "return_status") else []:
        for item in holder.get("items") or []:
            if item["state"] == ReturnState.RETURNED and not item.get("units"):
                yield item["instance"]


def _late_clause(method: str) -> str:
    return {"request": "RQ-2", "initialize": "HS-1"}.get(method, "PR-calls.answer_s")


def shown_bytes(data: bytes) -> str:
    """Return bytes for a report."""
    return orjson.dumps(data[:400].decode("utf-8", "backslashreplace")).decode()[1:-1].replace('\\"', '"')
