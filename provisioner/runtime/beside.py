"""Long pure work beside the loop: a big page is decoded, a big market planned, while health is answered.

It alone decides what is too long to be done in between. It must not know what the work is; work that is not pure, or
that changes what others see, must not be given to it.
"""

import sys
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

import trio

from provisioner.runtime.collection import no_collection

__all__ = ["Beside", "WorkThread", "at_once", "share_fairly"]

LONG_PIECES: Final = 250
"""Instances, templates, lines: so many take a few milliseconds, and a thread costs a tenth of one."""
TURN_S: Final = 0.00005
"""How long a thread keeps the interpreter from the loop, which needs it some dozens of times for one answer: at a
millisecond each, health took a third of a second beside a plan over 20,000 offers. A switch costs microseconds."""

T = TypeVar("T")


class Beside(Protocol):
    """Does pure work of so many pieces and returns what it comes to."""

    async def __call__(self, pieces: int, work: Callable[[], T]) -> T:
        """The work's value; what it raises is raised."""
        ...


async def at_once(pieces: int, work: Callable[[], T]) -> T:
    """Does it here, whatever it takes: for virtual time, which would not wait for a thread."""
    return work()


class WorkThread:
    """Does long work in a thread, one at a time in order of arrival, and short work here."""

    def __init__(self) -> None:
        self._one = trio.CapacityLimiter(1)

    async def __call__(self, pieces: int, work: Callable[[], T]) -> T:
        """Promise of Beside; once begun it is waited for, also by who is cancelled."""
        if pieces < LONG_PIECES:
            return work()
        return await trio.to_thread.run_sync(_done_whole, work, limiter=self._one)


def share_fairly() -> None:
    """At start-up: no thread keeps the interpreter from the loop for long."""
    sys.setswitchinterval(TURN_S)


def _done_whole(work: Callable[[], T]) -> T:
    with no_collection():
        return work()
