"""One timer for many waits: who waits for an answer is told when its time is over.

A cancel scope with a deadline around each wait would cost more than writing a frame and reading its answer. It must not
know what is waited for.
"""

from __future__ import annotations

import math
from typing import Final

import trio

__all__ = ["Deadlines"]

_TOGETHER_S: Final = 1.0
_EXACT_BELOW_S: Final = 10.0
"""A time further away is over at a whole second: the timers of a thousand providers, which nearly always go off for
nothing, then wake the loop together."""


class Deadlines:
    """Sets an event when its time is over (at most a second later), unless it is let go before; `run` must run."""

    def __init__(self) -> None:
        self._due_at: dict[trio.Event, float] = {}
        self._sleep = trio.CancelScope()

    def watch(self, event: trio.Event, due_at: float) -> None:
        """Sets the event at `due_at`, in trio's time."""
        self._due_at[event] = due_at
        # The timer is only ever moved to an earlier time: one that went off for nothing costs less than moving it back.
        if due_at >= self._sleep.deadline:
            return
        self._sleep.deadline = min(_with_others(due_at), self._sleep.deadline)

    def let_go(self, event: trio.Event) -> None:
        """Nobody waits for this event any more."""
        self._due_at.pop(event, None)

    async def run(self) -> None:
        """For ever."""
        while True:
            soonest = min(self._due_at.values(), default=math.inf)
            with trio.CancelScope(deadline=_with_others(soonest)) as self._sleep:
                await trio.sleep_forever()
            now = trio.current_time()
            for event in [event for event, due_at in self._due_at.items() if due_at <= now]:
                del self._due_at[event]
                event.set()


def _with_others(due_at: float) -> float:
    if due_at == math.inf or due_at - trio.current_time() < _EXACT_BELOW_S:
        return due_at
    return math.ceil(due_at / _TOGETHER_S) * _TOGETHER_S
