"""How fast something may come that nobody asked for: so much a second, and so much at once.

It alone reckons it; it must not know what comes, nor who is made to wait.
"""

import trio

__all__ = ["Pace"]


class Pace:
    """A store of `most` that fills by `per_s`; what is taken beyond it is waited for."""

    def __init__(self, per_s: float, most: float) -> None:
        self._per_s = per_s
        self._most = most
        self._room = most
        self._at = trio.current_time()

    async def take(self, amount: float) -> bool:
        """Takes so much, and waits until it would have been there; whether there was a wait."""
        now = trio.current_time()
        self._room = min(self._most, self._room + (now - self._at) * self._per_s) - amount
        self._at = now
        if self._room >= 0:
            return False
        await trio.sleep(-self._room / self._per_s)
        return True
