"""Pieces of work from their begin to their end, counted, and the wait for one of them to end.

Knows trio; must not know calls or frames.
"""

from collections.abc import Coroutine
from typing import Any, TypeAlias

import trio

Work: TypeAlias = Coroutine[Any, Any, None]


class OpenWork:
    """How many pieces of work are open."""

    def __init__(self) -> None:
        self.count = 0
        self._one_ended: trio.Event | None = None
        """There only while somebody waits."""

    def begun(self, work: Work) -> Work:
        """The work, open from now on, also before its first step, until it has ended."""
        self.count += 1
        return self._see_through(work)

    async def wait_one_ended(self) -> None:
        """Wait until the next piece of work ends."""
        if self._one_ended is None:
            self._one_ended = trio.Event()
        await self._one_ended.wait()

    async def _see_through(self, work: Work) -> None:
        try:
            await work
        finally:
            self.count -= 1
            if self._one_ended is not None:
                ended, self._one_ended = self._one_ended, None
                ended.set()
