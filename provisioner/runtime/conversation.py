"""Calls to one provider process: free slots, answers, deadlines and what became of each call.

It alone knows how long a call is waited for. It must not know processes, signals or why a call is made.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final

import trio
from attrs import define, field, frozen

from provider_sdk.contract import ErrorData
from provisioner.edge import peer
from provisioner.edge.list_reader import ListReader
from provisioner.edge.peer import Incoming, Peer, SentCall
from provisioner.runtime.deadlines import Deadlines
from provisioner.runtime.frame_writer import FrameWriter
from provisioner.runtime.pipes import ByteSink
from provisioner.runtime.supervision import Answered, BeforeWrite, Failed, Lost, Outcome, Unwritten

__all__ = ["Conversation", "Late"]

_REPLIES: Final = 16
"""Refusals to a provider's own requests that wait for the writer; more are dropped, since nothing hangs on them."""

_BESIDE_BYTES: Final = 1 << 17
"""A page as long takes tens of milliseconds and is read in a thread; others are answered meanwhile."""
_LONG_BYTES: Final = 4_096
"""A shorter list costs little by the usual way."""


@frozen
class Late:
    """Whom it is told, once, that a call is still open after so many seconds; the call goes on."""

    after_s: float
    tell: Callable[[], Awaitable[None]]


@define(eq=False)
class _OpenCall:
    sent: SentCall
    settled: trio.Event = field(factory=trio.Event)
    settled_or_due: trio.Event = field(factory=trio.Event)
    outcome: Outcome | None = None

    def settle(self, outcome: Outcome) -> None:
        if self.outcome is None:
            self.outcome = outcome
            self.settled.set()
            self.settled_or_due.set()

    @property
    def is_settled(self) -> bool:
        return self.outcome is not None

    def go_on(self) -> None:
        """Its time was over and is not any more."""
        if self.outcome is None:
            self.settled_or_due = trio.Event()

    def unless_settled(self, check: BeforeWrite | None) -> BeforeWrite:
        """The check before the first byte, which also refuses a frame that was answered before it was asked."""

        def ask() -> str | Awaitable[str | None] | None:
            if self.is_settled:
                return "it was answered before it was asked"
            return None if check is None else check()

        return ask


class Conversation:
    """One JSON-RPC conversation over a pipe, with at most `in_flight` unanswered frames (1 until `grow`).

    `break_off(reason)` is called when the conversation can't go on; calls still open are then settled by `settle_all`.
    """

    def __init__(
        self,
        sink: ByteSink,
        tasks: trio.Nursery,
        break_off: Callable[[str], None],
        *,
        cancel_grace_s: float,
        told: Callable[[memoryview], None] | None = None,
    ) -> None:
        self.peer = Peer()
        self._writer = FrameWriter(sink, break_off, told=told)
        self._tasks = tasks
        self._break_off = break_off
        self._cancel_grace_s = cancel_grace_s
        self._open: dict[int, _OpenCall] = {}
        self._slots = trio.Semaphore(1)
        self._in_flight = 1
        self._lists = ListReader()
        self._deadlines = Deadlines()
        tasks.start_soon(self._deadlines.run)
        self._replies, replies = trio.open_memory_channel[dict[str, object]](_REPLIES)
        tasks.start_soon(self._write_replies, replies)

    @property
    def is_closed(self) -> bool:
        """Whether no new calls are taken any more."""
        return self._writer.closed is not None

    @property
    def has_free_slot(self) -> bool:
        """Whether a call could be written now without waiting for an answer."""
        return self._slots.value > 0

    def grow(self, in_flight: int) -> None:
        """Allows `in_flight` unanswered frames from now on; never fewer than before."""
        while self._in_flight < in_flight:
            self._in_flight += 1
            self._slots.release()

    def close(self, reason: str) -> None:
        """No new frames: calls that wait for a slot or for room come out as Unwritten; written ones go on."""
        self._writer.close(reason)

    def settle_all(self, reason: str, *, ordered: bool = False) -> None:
        """Every call still open comes out as Lost; answers that come all the same are late."""
        self.close(reason)
        for call in self._open.values():
            if not call.is_settled:
                self.peer.forget(call.sent)
                call.settle(Lost(reason, ordered))

    async def take_list(self, line: bytes) -> bool:
        """Settles the open call of `list` that this long line answers, if it surely does; else nothing is done."""
        if len(line) < _LONG_BYTES or not any(call.sent.method == "list" for call in self._open.values()):
            return False
        if len(line) < _BESIDE_BYTES:
            found = self._lists.read(line)
        else:
            found = await trio.to_thread.run_sync(self._lists.read, line)
        if found is None or not self.peer.is_open(found[0], "list"):
            return False
        call_id, result = found
        self.peer.answered(call_id)
        call = self._open.pop(call_id)
        self._slots.release()
        call.settle(Answered(result))
        return True

    def take(self, message: dict[str, object]) -> Incoming:
        """Settles the call that `message` answers, if it does; returns what it is for everything else."""
        incoming = self.peer.receive(message)
        match incoming:
            case peer.Answered(call=sent, answer=answer) | peer.LateAnswer(call=sent, answer=answer):
                call = self._open.pop(sent.id)
                self._slots.release()
                call.settle(Failed(answer) if isinstance(answer, ErrorData) else Answered(answer))
            case peer.Asked(reply=reply):
                try:
                    self._replies.send_nowait(reply)
                except trio.WouldBlock:
                    self.peer.counts["replies_dropped"] += 1
            case peer.Notified() | peer.Stray():
                pass
        return incoming

    async def call(
        self,
        method: str,
        params: dict[str, object],
        timeout_s: float,
        *,
        before_write: BeforeWrite | None = None,
        on_written: Callable[[], None] | None = None,
        cancel_grace_s: float | None = None,
        late: Late | None = None,
    ) -> Outcome:
        """One call, from waiting for a slot to its outcome.

        `timeout_s` bounds the wait for slot and room, then the rest of the writing, then the wait for the answer, each;
        after it come `cancel_call` and `cancel_grace_s` more (CC-5). A caller cancelled once the frame was begun leaves
        the call open: its answer is late, and no answer ends the process all the same. `late` counts from the begin,
        or once more from the frame where that left in time.
        """
        grace_s = self._cancel_grace_s if cancel_grace_s is None else cancel_grace_s
        if late is None:
            started = await self._start(method, params, timeout_s, before_write, last=False)
        else:
            started = await self._start_or_tell(method, params, timeout_s, before_write, late)
        if not isinstance(started, _OpenCall):
            return started
        if on_written is not None:
            on_written()
        due_at = trio.current_time() + timeout_s
        try:
            if late is not None:
                await self._tell_if_late(started, due_at, late)
            await self._wait_answer(started, due_at, grace_s)
        except trio.Cancelled:
            if not started.is_settled:
                self.peer.forget(started.sent)
                self._tasks.start_soon(self._see_out, started, due_at, grace_s)
            raise
        return self._outcome_of(started)

    async def last_call(self, method: str, params: dict[str, object], within_s: float) -> bool:
        """The one call allowed after `close`, if a slot gets free in time; True if it was answered `within_s`."""
        answered = False
        with trio.move_on_after(within_s):
            started = await self._start(method, params, within_s, None, last=True)
            if isinstance(started, _OpenCall):
                await started.settled.wait()
                answered = isinstance(started.outcome, Answered | Failed)
        return answered

    async def notify(self, name: str, params: dict[str, object], within_s: float) -> bool:
        """Writes a notification, also after `close`; False if it did not leave whole."""
        message = self.peer.notification(name, params)
        return await self._writer.write(message, within_s, None, last=True) is None

    async def _start_or_tell(
        self, method: str, params: dict[str, object], timeout_s: float, check: BeforeWrite | None, late: Late
    ) -> _OpenCall | Unwritten | Lost:
        started = await self._start(method, params, min(late.after_s, timeout_s), check, last=False)
        if not isinstance(started, Unwritten) or self.is_closed or late.after_s >= timeout_s:
            return started
        await late.tell()
        return await self._start(method, params, timeout_s - late.after_s, check, last=False)

    async def _start(
        self, method: str, params: dict[str, object], timeout_s: float, check: BeforeWrite | None, *, last: bool
    ) -> _OpenCall | Unwritten | Lost:
        give_up_at = trio.current_time() + timeout_s
        if (refusal := await self._take_slot(give_up_at, last=last)) is not None:
            return Unwritten(refusal)
        sent, message = self.peer.call(method, params)
        # Known before the first byte leaves: the answer may be here before the write returns.
        call = self._open[sent.id] = _OpenCall(sent)
        try:
            written = await self._writer.write(
                message, give_up_at - trio.current_time(), call.unless_settled(check), last=last, rest_s=timeout_s
            )
        except BaseException:  # cancelled before the first byte, or a fault of the check: nothing was begun
            self._take_back(call)
            raise
        match written:
            case None:
                return call
            case Unwritten():
                self._take_back(call)
            case Lost():
                self.peer.forget(sent)
        return written

    async def _tell_if_late(self, call: _OpenCall, due_at: float, late: Late) -> None:
        await self._wait_settled(call, min(due_at, trio.current_time() + late.after_s))
        if not call.is_settled and trio.current_time() < due_at:
            call.go_on()
            await late.tell()

    async def _wait_settled(self, call: _OpenCall, until: float) -> None:
        self._deadlines.watch(call.settled_or_due, until)
        try:
            await call.settled_or_due.wait()
        finally:
            self._deadlines.let_go(call.settled_or_due)

    async def _wait_answer(self, call: _OpenCall, due_at: float, grace_s: float) -> None:
        if not call.is_settled:
            await self._wait_settled(call, due_at)
        if not call.is_settled:
            with trio.move_on_after(grace_s):
                await self.notify("cancel_call", {"id": call.sent.id}, grace_s)
                await call.settled.wait()

    async def _see_out(self, call: _OpenCall, due_at: float, grace_s: float) -> None:
        """Nobody waits for this call any more; the frame must be closed all the same, by an answer or an end."""
        await self.notify("cancel_call", {"id": call.sent.id}, grace_s)
        with trio.move_on_at(due_at + grace_s):
            await call.settled.wait()
        self._outcome_of(call)

    def _outcome_of(self, call: _OpenCall) -> Outcome:
        if call.outcome is None:
            reason = f"no answer to {call.sent.method} by its deadline, nor in the grace after it"
            self.peer.forget(call.sent)
            call.settle(Lost(reason))
            self._break_off(reason)
        assert call.outcome is not None  # noqa: S101  settled above
        return call.outcome

    def _take_back(self, call: _OpenCall) -> None:
        if self._open.pop(call.sent.id, None) is None:
            return  # answered before it was asked, since ids can be guessed; its slot is free already
        self.peer.withdraw(call.sent)
        self._slots.release()

    async def _take_slot(self, give_up_at: float, *, last: bool) -> str | None:
        """None with a slot taken, else why there is none."""
        if self._writer.closed is not None and not last:
            await trio.lowlevel.checkpoint()
            return self._writer.closed
        try:
            self._slots.acquire_nowait()
        except trio.WouldBlock:
            with self._writer.waiting_until(give_up_at) as waiting:
                await self._slots.acquire()
            if waiting.cancelled_caught:
                return self._writer.closed or "no slot got free in time: all calls the provider allows were open"
        return None

    async def _write_replies(self, replies: trio.MemoryReceiveChannel[dict[str, object]]) -> None:
        async for reply in replies:
            await self._writer.write(reply, math.inf, None, last=False, rest_s=self._cancel_grace_s)
