"""The one writer of frames: whole frames, one after another, none over the agreed length (clauses FR-3, FR-4).

Knows bytes and a stream; must not know methods.
"""

from collections.abc import Callable

import trio

from provider_sdk.contract.framing import FrameTooLong, frame
from provider_sdk.errors import ContractError, ErrorClass

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

    async def write(self, content: bytes) -> None:
        """Write one whole frame in turn; a cancelled write leaves a part, so only the end of the process may cancel."""
        if self.broken:
            return
        async with self._turn:
            try:
                await self._stream.send_all(content)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                self.broken = True
                self._log("provider: nobody reads the answers any more")
