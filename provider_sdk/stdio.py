"""Descriptors 0 and 1, taken for frames alone, and the watch that ends the process in time whatever its handlers do.

Knows descriptors, signals and threads; must not know frames, methods or providers.
"""

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Callable

from attrs import frozen


@frozen
class Claimed:
    """The two descriptors that carry frames from now on; both close on exec."""

    input: int
    output: int


def claim_descriptors() -> Claimed:
    """Move frames off descriptors 0 and 1, so that no print, C library or child can reach them (clause FR-4).

    Afterwards 0 reads nothing and 1 is stderr, where also goes what was printed before and still lies in a buffer.
    """
    claimed = Claimed(input=_duplicate(0), output=_duplicate(1))
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0, inheritable=True)
    os.close(nothing)
    os.dup2(2, 1, inheritable=True)
    sys.stdout.flush()
    # What is printed must be seen even if the process ends without clean-up, and never kill it for an odd character.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test may have put another object there
        if reconfigure is not None:
            reconfigure(line_buffering=True, errors="backslashreplace")
    return claimed


def _duplicate(fd: int) -> int:
    copy = os.dup(fd)  # not inheritable
    if copy > 2:
        return copy
    # 0, 1 or 2 was closed when we started; take a higher number so that the dup2 calls above do not hit our own copy.
    higher = _duplicate(fd)
    os.close(copy)
    return higher


def write_log(text: str) -> None:
    """Put lines on stderr; a log that nobody reads any more is no reason to fail."""
    with contextlib.suppress(OSError):
        os.write(2, (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace"))


class Reaper:
    """Ends this process at a set time, from a thread of its own, so that neither a handler stuck in a thread nor one
    that blocks the whole trio run can keep it alive (clause HS-9)."""

    def __init__(self, exit_now: Callable[[int], None] = os._exit) -> None:
        self._exit_now = exit_now
        self._lock = threading.RLock()  # a signal handler may ask while the same thread is asking
        self._ends_at: float | None = None
        self._code = 0
        self._woken = threading.Event()

    def end_within(self, seconds: float, code: int) -> None:
        """End in this many seconds at the latest with this code; the earliest word counts."""
        ends_at = time.monotonic() + seconds
        with self._lock:
            if self._ends_at is not None and self._ends_at <= ends_at:
                return
            first = self._ends_at is None
            self._ends_at, self._code = ends_at, code
        self._woken.set()
        if first:
            threading.Thread(target=self._wait, name="reaper", daemon=True).start()

    def _wait(self) -> None:
        while True:
            with self._lock:
                if self._ends_at is None:
                    return
                left, code = self._ends_at - time.monotonic(), self._code
            if left <= 0:
                write_log("provider: still busy at the end of the time to exit; ending now")
                self._exit_now(code)
                return
            self._woken.wait(left)
            self._woken.clear()


def watch_for_hangup(fd: int, on_hangup: Callable[[], None]) -> None:
    """Call `on_hangup` once, from a thread, when the other side of a pipe or socket is closed, read or not.

    The trio run also reads the end of input, but only while no handler blocks it. Files and terminals never hang up.
    """
    watched = os.dup(fd)

    def wait() -> None:
        poll = select.poll()
        poll.register(watched, select.POLLRDHUP)  # hang-up and error are reported unasked
        try:
            while not any(happened & _GONE for _, happened in poll.poll()):
                pass
            on_hangup()
        finally:
            os.close(watched)

    threading.Thread(target=wait, name="hangup", daemon=True).start()


_GONE = select.POLLHUP | select.POLLRDHUP | select.POLLERR | select.POLLNVAL
