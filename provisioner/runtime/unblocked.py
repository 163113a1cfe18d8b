"""A way to write to a descriptor that was handed down, without ever waiting for who reads it.

It alone knows which kinds of descriptors can hold a writer up; it must not know what is written. The descriptor itself
is left as it is: a non-blocking mode would hold for every process that shares it, a shell's terminal above all.
"""

import contextlib
import os
import select
import socket
import stat
from collections.abc import Callable
from typing import Final, TypeAlias

__all__ = ["Write", "write_when_ready", "writes_unblocked"]

Write: TypeAlias = Callable[[bytes], int]
"""Takes what fits at once and returns how many bytes; raises OSError, BlockingIOError where there is no room."""

_PIECE: Final = 4096
"""A pipe that is ready takes as much without waiting (PIPE_BUF)."""


def writes_unblocked(descriptor: int) -> Write:
    """How to write to `descriptor`: at once where it is a file, and never longer than there is room elsewhere."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return _plain(descriptor)  # closed: each write says so
    if stat.S_ISSOCK(mode):
        return _to_socket(descriptor)
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return _opened_again(descriptor) or write_when_ready(descriptor)
    return _plain(descriptor)


def _plain(descriptor: int) -> Write:
    return lambda data: os.write(descriptor, data)


def _to_socket(descriptor: int) -> Write:
    with socket.socket(fileno=os.dup(descriptor)) as known:  # looked at for its family and kind
        family, kind = known.family, known.type

    def write(data: bytes) -> int:
        # A socket object each time, since closing one that is kept would close what is not ours.
        with socket.socket(family, kind, fileno=os.dup(descriptor)) as way:
            return way.send(data, socket.MSG_DONTWAIT)

    return write


def _opened_again(descriptor: int) -> Write | None:
    """Over a descriptor of our own to the same pipe or terminal; None where that may not be opened."""
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        return _plain(os.open(f"/proc/self/fd/{descriptor}", flags))
    return None


def write_when_ready(descriptor: int) -> Write:
    """Asks for room first: nobody else writes in between but a process that shares the descriptor."""
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)

    def write(data: bytes) -> int:
        if not ready.poll(0):
            raise BlockingIOError
        return os.write(descriptor, data[:_PIECE])

    return write
