"""Reads what a provider writes, at all times: frames from stdout, lines from stderr, each within its limits.

It alone counts junk and bounds what reaches the log. It must not know calls, deadlines or how a process is ended.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping

import trio

from provider_sdk.contract.framing import EXCERPT_CHARS, Frame, Junk, LineCutter, Oversize, read_line, unfinished
from provisioner.edge.peer import Answered, LateAnswer, Notified, Stray
from provisioner.edge.redaction import Hidden
from provisioner.runtime.conversation import Conversation
from provisioner.runtime.pace import Pace
from provisioner.runtime.pipes import ReadStream
from provisioner.runtime.stderr_tail import StderrTail, printable
from provisioner.runtime.supervision import Log, Reporter

__all__ = ["StdoutReader", "drain_stderr"]

_READ_BYTES = 65536
_JUNK_LINES = 20
_JUNK_WINDOW_S = 60.0
_UNASKED_S = 1000
"""Frames a second that answer no open call, ten times the notifications of NT-2; who says more is read no faster, or it
would take all of the daemon. What a frame lists counts besides, as half a frame an item."""
_UNASKED_AT_ONCE = 200
_STDERR_BYTES_S = 4 << 20
_STDERR_BYTES_AT_ONCE = 2 << 20
"""Standard error is read no faster than this: it is always read, and takes no more of the daemon than that."""
_SPOILT_BYTES_S = 16 << 20
"""Of a stream that is read only because its process is being ended."""
_LONG_LINE_BYTES = 1 << 20
_PART_BYTES = 8192
_FRAMES_IN_A_ROW = 100
"""A read that holds more is worked on in parts; other tasks have their turn in between."""
_LEFT_OUT_TOLD_S = 10.0


class StdoutReader:
    """Feeds a provider's stdout to its conversation and reports what is no answer.

    `break_off(reason)` is called when the provider broke a limit; reading goes on. `heard(data)` is called with
    all that is read. What is `hidden` reaches neither the log nor, in words for people, anybody. `heard_at` is when
    the last good frame came. Notifications count from `listening` on; before the handshake only `log` does (HS-2).
    """

    def __init__(
        self,
        stream: ReadStream,
        conversation: Conversation,
        *,
        frame_bytes: int,
        report: Reporter,
        log: Log,
        break_off: Callable[[str], None],
        heard: Callable[[bytes | bytearray], None] | None = None,
        hidden: Hidden | None = None,
    ) -> None:
        self._heard = heard
        self._hidden = Hidden() if hidden is None else hidden
        self.heard_at = trio.current_time()
        self.listening = False
        self._stream = stream
        self._conversation = conversation
        self._lines = LineCutter(frame_bytes)
        self._frame_bytes = frame_bytes
        self._report = report
        self._log = log
        self._break_off = break_off
        self._junk_at: deque[float] = deque(maxlen=_JUNK_LINES)
        self._too_much_junk = False
        self._unasked = Pace(_UNASKED_S, _UNASKED_AT_ONCE)
        self._spoilt = Pace(_SPOILT_BYTES_S, _SPOILT_BYTES_S / 10)
        self._is_slowed = False

    async def run(self) -> None:
        """Reads until the end of stdout."""
        while data := await _read(self._stream):
            if self._heard is not None:
                self._heard(data)
            if self._conversation.is_closed:
                await self._spoilt.take(len(data))
            for number, part in enumerate(_parts(data)):
                if number:  # before the first one it waited
                    await trio.lowlevel.checkpoint()
                for line in self._lines.feed(part):
                    await self._sort(line)
        if left := self._lines.end():
            junk = unfinished(left)
            self._count_junk(junk.excerpt, junk.reason)

    async def _sort(self, line: bytes | Oversize) -> None:
        if isinstance(line, Oversize):
            self._refuse_oversize()
            return
        line = await self._without_secrets(line)
        if await self._conversation.take_list(line):
            self.heard_at = trio.current_time()
        else:
            match await _read_beside(line):
                case Frame(obj=message):
                    self.heard_at = trio.current_time()
                    await self._take(message)
                case Junk(excerpt=excerpt, reason=reason):
                    self._count_junk(excerpt, reason)

    async def _without_secrets(self, line: bytes) -> bytes:
        if len(line) < _LONG_LINE_BYTES:
            return self._hidden.said(line)
        return await trio.to_thread.run_sync(self._hidden.said, line)

    async def _take(self, message: dict[str, object]) -> None:
        match self._conversation.take(message):
            case Answered():
                pass
            case Stray(reason=reason, is_junk=True):
                self._count_junk(str(sorted(message)), reason)
            case Notified(name=name, params=params) as said:
                await self._slow_down(1 + _listed(params) // 2)
                if not self.listening and name != "log":
                    self._conversation.peer.counts["early"] += 1
                elif not self._conversation.is_closed:  # a hint, of no use any more once the end has begun
                    await self._report(said)
            case LateAnswer(is_examined=True) as late:
                await self._report(late)
            case _:  # refusals are on their way, the other strays are counted
                await self._slow_down(1)

    async def _slow_down(self, pieces: float) -> None:
        """Waits where a provider says more than it may; answers behind that wait as long."""
        if await self._unasked.take(pieces) and not self._is_slowed:
            self._log.warning("provider_says_too_much", most_per_s=_UNASKED_S, then="it is read more slowly")
            self._is_slowed = True

    def _count_junk(self, excerpt: str, reason: str) -> None:
        if self._too_much_junk:
            return
        now = trio.current_time()
        text = self._hidden.text(excerpt, is_cut=len(excerpt) >= EXCERPT_CHARS)
        self._log.warning("provider_stdout_junk", text=printable(text)[:EXCERPT_CHARS], reason=reason)
        self._junk_at.append(now)
        if len(self._junk_at) == _JUNK_LINES and now - self._junk_at[0] <= _JUNK_WINDOW_S:
            self._too_much_junk = True
            self._break_off(f"{_JUNK_LINES} lines on stdout within {_JUNK_WINDOW_S:g} s were no messages")

    def _refuse_oversize(self) -> None:
        reason = f"frame too large (limit {self._frame_bytes} bytes)"
        self._log.warning("provider_frame_too_large", limit_bytes=self._frame_bytes)
        self._break_off(reason)
        self._conversation.settle_all(reason)


async def _read_beside(line: bytes) -> Frame | Junk:
    """What a line holds; one of megabytes is read in a thread, since it takes tens of milliseconds."""
    return read_line(line) if len(line) < _LONG_LINE_BYTES else await trio.to_thread.run_sync(read_line, line)


def _parts(data: bytes | bytearray) -> Iterable[bytes | bytearray]:
    if data.count(b"\n") <= _FRAMES_IN_A_ROW:
        return (data,)
    return (data[at : at + _PART_BYTES] for at in range(0, len(data), _PART_BYTES))


def _listed(params: Mapping[str, object]) -> int:
    """How many items the longest list of a notification has."""
    return max((len(value) for value in params.values() if isinstance(value, list)), default=0)


async def drain_stderr(stream: ReadStream, tail: StderrTail, log: Log, *, lines_s: int) -> None:
    """Reads stderr to its end into `tail`; of a flood `lines_s` lines a second reach the log, the rest is counted."""
    budget, pace = _LineBudget(lines_s), Pace(_STDERR_BYTES_S, _STDERR_BYTES_AT_ONCE)
    try:
        while True:
            data: bytes | bytearray = b""
            with trio.move_on_at(budget.tells_at) as waiting:
                data = await _read(stream)
            if not waiting.cancelled_caught:
                if not data:
                    return
                lines, dropped = tail.feed(data)
                for line in budget.allowed(lines, dropped):
                    log.info("provider_stderr", line=line)
                await pace.take(len(data))
            budget.tell(log)
    finally:
        budget.tell(log, at_once=True)


class _LineBudget:
    """How many lines of stderr may reach the log: so many a second, as many at once, and what was left out."""

    def __init__(self, lines_s: int) -> None:
        self.tells_at = math.inf
        self._lines_s = lines_s
        self._room = float(lines_s)
        self._room_at = trio.current_time()
        self._left_out = 0

    def allowed(self, lines: list[str], dropped: int) -> list[str]:
        """Those that may be logged now; `dropped` others were too many even for the tail."""
        now = trio.current_time()
        self._room = min(self._lines_s, self._room + (now - self._room_at) * self._lines_s)
        self._room_at = now
        allowed = lines[: int(self._room)]
        self._room -= len(allowed)
        left_out = len(lines) - len(allowed) + dropped
        if left_out and not self._left_out:
            self.tells_at = now + _LEFT_OUT_TOLD_S
        self._left_out += left_out
        return allowed

    def tell(self, log: Log, *, at_once: bool = False) -> None:
        """Says how many were left out, once for a while of flood."""
        if self._left_out and (at_once or trio.current_time() >= self.tells_at):
            log.warning("provider_stderr_not_logged", lines=self._left_out)
            self._left_out = 0
            self.tells_at = math.inf


async def _read(stream: ReadStream) -> bytes | bytearray:
    try:
        return await stream.receive_some(_READ_BYTES)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""
