"""The writing end of a child's stdin, exact about what left: not one byte, a part, or all of it.

trio's own stream can't say how much of a cancelled or failed write went out; a purchase frame must be able to.
"""

from __future__ import annotations

import os
from typing import Protocol

import trio

__all__ = ["ByteSink", "PipeSink", "PipeSource", "ReadStream"]


_READ_BYTES = 65_536


class ByteSink(Protocol):
    """A way out that never blocks and tells what it took."""

    def write_now(self, data: memoryview) -> int:
        """Takes what fits at once and returns how many bytes; 0 = would block. Raises BrokenPipeError once cut."""

    async def wait_writable(self) -> None:
        """Returns when write_now would take something or fail; a checkpoint."""

    def close(self) -> None:
        """Closes it; the far side reads its end. May be called again."""


class ReadStream(Protocol):
    """What is read from a child: any trio receive stream."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        """At least one byte, or b"" at the end."""

    async def aclose(self) -> None:
        """Closes it."""


class PipeSink:
    """A pipe's write end as ByteSink; owns the descriptor."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    def write_now(self, data: memoryview) -> int:
        """Promise of ByteSink; also BrokenPipeError after close."""
        if self._fd < 0:
            raise BrokenPipeError("closed")
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0

    async def wait_writable(self) -> None:
        """Promise of ByteSink."""
        if self._fd < 0:
            raise BrokenPipeError("closed")
        try:
            await trio.lowlevel.wait_writable(self._fd)
        except trio.ClosedResourceError:
            raise BrokenPipeError("closed") from None

    def close(self) -> None:
        """Promise of ByteSink; whoever waits for room is woken with BrokenPipeError."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            trio.lowlevel.notify_closing(fd)
            os.close(fd)


class PipeSource:
    """A pipe's read end as ReadStream; owns the descriptor. It waits before it reads, and yields nowhere else: trio's
    own stream also yields before it reads in vain, which costs more than all the rest of a short answer."""

    def __init__(self, fd: int) -> None:
        self._stream = trio.lowlevel.FdStream(fd)

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Promise of ReadStream; raises ClosedResourceError once closed."""
        while (fd := self._stream.fileno()) >= 0:
            await trio.lowlevel.wait_readable(fd)
            try:
                return os.read(fd, max_bytes or _READ_BYTES)
            except BlockingIOError:  # somebody else has read it
                continue
        raise trio.ClosedResourceError("it was closed")

    async def aclose(self) -> None:
        """Promise of ReadStream; whoever reads is woken with ClosedResourceError."""
        await self._stream.aclose()
