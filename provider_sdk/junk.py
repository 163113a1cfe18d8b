"""Counts what arrives and is no message, and notes it in the log: the first ones, then every thousandth.

Knows sentences and a log; must not know frames or calls.
"""

from collections.abc import Callable

LOGGED = 20
LOGGED_EVERY = 1_000


class JunkCount:
    """How much junk came so far; `log` takes a line."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._count = 0

    def note(self, text: str) -> None:
        """Count one more, and log it unless too many were logged."""
        self._count += 1
        if self._count <= LOGGED or self._count % LOGGED_EVERY == 0:
            self._log(f"provider: {text} (number {self._count})")
