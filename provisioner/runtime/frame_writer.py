"""The one writer of a provider's stdin: whole frames, one after another, and the truth about what left.

It alone knows whether a frame was written. It must not know what a frame is for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

import trio

from provider_sdk.contract.framing import DAEMON_FRAME_BYTES, FrameTooLong, frame
from provisioner.runtime.pipes import ByteSink
from provisioner.runtime.supervision import BeforeWrite, Lost, Unwritten

__all__ = ["FrameWriter", "Written"]

_NOT_READ: Final = "the provider did not read its stdin in time: the pipe is full"

Written: TypeAlias = Unwritten | Lost | None
"""None = the whole frame is in the pipe; Lost = a part of it, and never the rest."""


class FrameWriter:
    """Writes frames to `sink`; `break_off(reason)` is called once when the pipe is closed or spoilt by half a frame.

    `told(frame)` is called for each frame of which the first byte has left.
    """

    def __init__(
        self, sink: ByteSink, break_off: Callable[[str], None], *, told: Callable[[memoryview], None] | None = None
    ) -> None:
        self._sink = sink
        self._told = told
        self._break_off = break_off
        self._turn = trio.Lock()
        self._closed: str | None = None
        self._torn: str | None = None
        self._waiting: set[trio.CancelScope] = set()

    @property
    def closed(self) -> str | None:
        """Why no new frame is written, None while they are."""
        return self._closed

    def close(self, reason: str) -> None:
        """No new frames but last ones: whoever waits for a turn or for room, also by `waiting_until`, is ended."""
        if self._closed is None:
            self._closed = reason
        for scope in self._waiting:
            scope.cancel()

    @contextmanager
    def waiting_until(self, deadline: float) -> Iterator[trio.CancelScope]:
        """A wait before a frame's first byte, which `close` ends too."""
        with trio.CancelScope(deadline=deadline) as scope:
            self._waiting.add(scope)
            try:
                yield scope
            finally:
                self._waiting.discard(scope)

    async def write(
        self,
        message: Mapping[str, object],
        within_s: float,
        check: BeforeWrite | None,
        *,
        last: bool,
        rest_s: float | None = None,
    ) -> Written:
        """Writes one frame; cancelled only before its first byte. `within_s` until then, `rest_s` from then."""
        give_up_at = trio.current_time() + within_s
        try:
            data = memoryview(frame(message, DAEMON_FRAME_BYTES))
        except FrameTooLong as too_long:
            return Unwritten(f"the frame is {too_long.size} bytes long, over the limit of {too_long.limit_bytes}")
        try:
            self._turn.acquire_nowait()
        except trio.WouldBlock:
            with self.waiting_until(give_up_at) as waiting:
                await self._turn.acquire()
            if waiting.cancelled_caught:
                return Unwritten(self._closed or _NOT_READ)
        try:
            begun = await self._write_first(data, give_up_at, check, last=last)
            if isinstance(begun, Unwritten):
                return begun
            if self._told is not None:
                self._told(data)
            return await self._write_rest(data[begun:], within_s if rest_s is None else rest_s)
        finally:
            self._turn.release()

    async def _write_first(
        self, data: memoryview, give_up_at: float, check: BeforeWrite | None, *, last: bool
    ) -> int | Unwritten:
        """Bytes written, at least one; the check is asked last, with nothing between its word and the write."""
        while True:
            refusal = None if check is None else check()
            if refusal is not None and not isinstance(refusal, str):
                refusal = await self._ask(refusal, give_up_at)
            stopped = self._torn or (None if last else self._closed) or refusal
            if stopped is not None:
                return Unwritten(stopped)
            try:
                if taken := self._sink.write_now(data):
                    return taken
                with self.waiting_until(give_up_at) as waiting:
                    await self._sink.wait_writable()
            except BrokenPipeError:
                self._tear("the provider's stdin is closed")
                continue
            if waiting.cancelled_caught:
                return Unwritten(self._closed or _NOT_READ)

    async def _ask(self, check: Awaitable[str | None], give_up_at: float) -> str | None:
        refusal: str | None = "it could not be confirmed in time that the frame may still be written"
        with self.waiting_until(give_up_at):
            refusal = await check
        return refusal

    async def _write_rest(self, data: memoryview, within_s: float) -> Lost | None:
        """The rest of a frame that was begun: seen through whoever cancels, since half a frame spoils the pipe."""
        if not data:  # nearly always; a cancel scope costs as much as all the rest
            return None
        try:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + within_s):
                while data:
                    await self._sink.wait_writable()
                    data = data[self._sink.write_now(data) :]
        except BrokenPipeError:
            self._tear("the provider's stdin was closed in the middle of a frame")
        if not data:
            return None
        self._tear("the provider stopped reading in the middle of a frame")
        assert self._torn is not None  # noqa: S101  torn just now
        return Lost(self._torn)

    def _tear(self, reason: str) -> None:
        if self._torn is None:
            self._torn = reason
            self._break_off(reason)
