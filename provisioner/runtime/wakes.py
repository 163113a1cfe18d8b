"""When each record is to be looked at again, by the boot clock: the next of them, and those whose time has come.

It alone knows which times may be put together. It must not know what a record owes, nor wait itself.
"""

import heapq
import math
from collections.abc import Iterator
from typing import Final

from provisioner.core.events import Moment
from provisioner.core.facts import FactKind, Key

__all__ = ["Wakes"]

_TOGETHER_S: Final = 1.0
_EXACT_BELOW_S: Final = 10.0
"""What a process's record has to do in a while is done at a whole second, together with what others have to do then: a
thousand idle providers would wake the loop a thousand times a minute for each of their reads."""
_LEAST_WAIT_S: Final = 0.02
"""A record that is due again at once although it was just looked at waits this long, so that a fault can't spin the
loop."""


class Wakes:
    """One time a record at most, the last that was set."""

    def __init__(self) -> None:
        self._at: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._count = 0

    def set(self, key: Key, at: float | None, now: Moment, *, again: bool) -> None:
        """The record is looked at then, or not by time (None); `again` if it was looked at just now."""
        if at is None:
            self._at.pop(key, None)
            return
        if key.kind is FactKind.PROCESS and at - now.boot_s >= _EXACT_BELOW_S:
            at = math.ceil(at / _TOGETHER_S) * _TOGETHER_S
        elif again:
            at = max(at, now.boot_s + _LEAST_WAIT_S)
        if self._at.get(key) == at:
            return
        self._at[key] = at
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, key))

    def due(self, boot_s: float) -> Iterator[Key]:
        """Those whose time has come, taken out, the earliest first."""
        while self._heap and self._heap[0][0] <= boot_s:
            at, _, key = heapq.heappop(self._heap)
            if self._at.get(key) == at:
                del self._at[key]
                yield key

    def soonest(self) -> float:
        """When the next one is; infinity if there is none."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf
