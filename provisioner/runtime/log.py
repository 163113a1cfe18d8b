"""The daemon's log: one line an event on stderr, as text for people on a terminal and as JSON elsewhere. It decides
nothing, and it never harms who logs: a reader that is gone or does not read, or a disk that is full, costs lines and
not the daemon."""

import json
import sys
from typing import Final

import structlog

from provisioner.runtime.unblocked import writes_unblocked

__all__ = ["LossyLines", "open_log"]

STDERR: Final = 2


class LossyLines:
    """Writes lines to a descriptor; those that can't be written are counted, and the count is the next line that can.

    Not through sys.stderr: what its buffer could not get rid of would be tried again at the end of the process and
    spoil its exit status.
    """

    def __init__(self, descriptor: int) -> None:
        self._write_now = writes_unblocked(descriptor)
        self._lost = 0
        self._is_torn = False

    def msg(self, message: str) -> None:
        """Writes one line, or counts it as lost."""
        if self._lost and self._write(json.dumps({"event": "log_lines_lost", "lines": self._lost, "level": "warning"})):
            self._lost = 0
        if self._lost or not self._write(message):
            self._lost += 1

    debug = info = warning = error = critical = msg

    def _write(self, line: str) -> bool:
        begins = "\n" if self._is_torn else ""
        left = f"{begins}{line}\n".encode(errors="backslashreplace")
        try:
            while left:
                left = left[self._write_now(left) :]
                self._is_torn = bool(left)
        except OSError:
            return False
        return True


def open_log(*, verbose: bool) -> structlog.stdlib.BoundLogger:
    """The root logger; parts bind their own names to it. It is passed in, never looked up."""
    level = 10 if verbose else 20
    renderer = (
        structlog.dev.ConsoleRenderer(colors=True) if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    logger: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        LossyLines(STDERR),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    return logger
