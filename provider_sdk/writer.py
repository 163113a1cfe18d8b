"""The one writer of frames: whole frames, one after another, none over the agreed length (clauses FR-3, FR-4).

Knows bytes and a stream; must not know methods.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import trio

from provider_sdk.contract.envelope import error_object
from provider_sdk.contract.errors import write_error
from provider_sdk.contract.framing import FrameTooLong, frame
from provider_sdk.errors import ContractError, ErrorClass
from provider_sdk.fit import smaller

LEAST_FRAME_BYTES = 1_048_576


class FrameWriter:
    """Writes frames to the daemon; once nobody reads any more, what is written is dropped without an error."""

    def __init__(self, stream: trio.abc.SendStream, log: Callable[[str], None]) -> None:
        self._stream = stream
        self._log = log
        self._turn = trio.Lock()
        self._limit_bytes = LEAST_FRAME_BYTES
        self.broken = False

    def allow(self, limit_bytes: int) -> None:
        """From now on frames may have this length, as `initialize` said."""
        self._limit_bytes = limit_bytes

    def encode(self, message: dict[str, object]) -> bytes:
        """The frame of a message; raises `too_large` (ContractError) if it is longer than agreed."""
        try:
            return frame(message, limit_bytes=self._limit_bytes)
        except TypeError as problem:  # a lone surrogate, say, in a text of the author's
            raise ContractError(ErrorClass.INTERNAL, "the answer can't be written as JSON") from problem
        except FrameTooLong as excess:
            raise ContractError(
                ErrorClass.TOO_LARGE, detail=f"the answer is longer than {self._limit_bytes} bytes"
            ) from excess

    def encode_answer(self, call_id: int, method: str, answer: dict[str, Any]) -> bytes:
        """The frame of an answer, told shorter where that is allowed, else the error that it can't be sent."""
        told = [answer] if "error" in answer else chain([answer], self._told_shorter(method, answer))
        refused = ContractError(ErrorClass.TOO_LARGE)
        for version in told:
            try:
                return self.encode(version)
            except ContractError as refusal:
                refused = refusal
        return self.encode(error_object(call_id, write_error(refused)))

    def _told_shorter(self, method: str, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return ({**answer, "result": result} for result in smaller(method, answer["result"]))

    async def write(self, content: bytes) -> None:
        """Write one whole frame in turn; a cancelled write leaves a part, so only the end of the process may cancel."""
        if self.broken:
            return
        try:
            self._turn.acquire_nowait()
        except trio.WouldBlock:
            await self._turn.acquire()
        try:
            await self._stream.send_all(content)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.broken = True
            self._log("provider: nobody reads the answers any more")
        finally:
            self._turn.release()
