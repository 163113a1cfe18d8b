"""Streams over descriptors 0 and 1 that enter the event loop once for each wait, and never where there is none.

trio's own streams yield before each read and each write, and read once in vain before they wait; together that is a
third of the time of a short call. Knows descriptors; must not know frames.
"""

import os
import stat

import trio

READ_BYTES = 65_536


def input_stream(fd: int) -> trio.abc.ReceiveStream:
    """The stream that reads `fd`, which it owns from now on; a file, which can't be waited for, is read by trio."""
    stream = trio.lowlevel.FdStream(fd)
    return PipeInput(stream) if _can_be_waited_for(fd) else stream


def output_stream(fd: int) -> trio.abc.SendStream:
    """The stream that writes `fd`, which it owns from now on."""
    stream = trio.lowlevel.FdStream(fd)
    return PipeOutput(stream) if _can_be_waited_for(fd) else stream


async def received(stream: trio.abc.ReceiveStream) -> bytes | bytearray:
    """What has come, nothing at the end: a pipe that is gone has ended."""
    try:
        return await stream.receive_some(READ_BYTES)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        return b""


def _can_be_waited_for(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class PipeInput(trio.abc.ReceiveStream):
    """Reads a pipe: waits first, since between two questions there is nothing to be read. For one task at a time."""

    def __init__(self, stream: trio.lowlevel.FdStream) -> None:
        self._stream = stream

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """At least one byte, or b"" at the end; raises ClosedResourceError and BrokenResourceError as trio's."""
        while (fd := self._stream.fileno()) >= 0:
            await trio.lowlevel.wait_readable(fd)
            try:
                return os.read(fd, max_bytes or READ_BYTES)
            except BlockingIOError:  # somebody else has read it
                continue
            except OSError as problem:
                raise trio.BrokenResourceError from problem
        raise trio.ClosedResourceError("it was closed")

    def fileno(self) -> int:
        """The descriptor, negative once it is closed."""
        return self._stream.fileno()

    async def aclose(self) -> None:
        """Close it; who waits is woken with ClosedResourceError."""
        await self._stream.aclose()


class PipeOutput(trio.abc.SendStream):
    """Writes a pipe: at once what fits, and only then waits. For one task at a time, which must yield elsewhere."""

    def __init__(self, stream: trio.lowlevel.FdStream) -> None:
        self._stream = stream

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of it; raises ClosedResourceError and BrokenResourceError as trio's."""
        rest = self._write(data)
        if rest:
            await self._stream.send_all(rest)

    def _write(self, data: bytes | bytearray | memoryview) -> memoryview:
        fd = self._stream.fileno()
        if fd < 0:
            raise trio.ClosedResourceError("it was closed")
        view = memoryview(data)
        try:
            return view[os.write(fd, view) :]
        except BlockingIOError:
            return view
        except OSError as problem:
            raise trio.BrokenResourceError from problem

    def fileno(self) -> int:
        """The descriptor, negative once it is closed."""
        return self._stream.fileno()

    async def wait_send_all_might_not_block(self) -> None:
        """As trio's."""
        await self._stream.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()
