"""How often a provider speaks unasked (NT-2). Pure: times come in as arguments."""

from collections import deque
from collections.abc import Iterator
from typing import Final

from provider_sdk.testing.verdict import Broken

# A pipe may hold some back and let them go together, so that only windows tell, with room for what was merged late.
CHANGED_WINDOW_S: Final = 4.0
CHANGED_MOST: Final = 6
ALL_WINDOW_S: Final = 3.0
ALL_MOST: Final = 400


class HintRate:
    """The notifications of one process over time."""

    def __init__(self) -> None:
        """Begin without any."""
        self._all: deque[float] = deque()
        self._changed: dict[str, deque[float]] = {}

    def came(self, method: str, kinds: tuple[str, ...], now: float) -> Iterator[Broken]:
        """Take down one notification at `now` (seconds of any steady clock); give what was too much."""
        if _over(self._all, now, ALL_WINDOW_S, ALL_MOST):
            yield Broken(
                "NT-2", "at most 100 notifications a second over time", f"{len(self._all)} in {ALL_WINDOW_S} s"
            )
        for kind in kinds if method == "changed" else ():
            times = self._changed.setdefault(kind, deque())
            if _over(times, now, CHANGED_WINDOW_S, CHANGED_MOST):
                came = f"{len(times)} in {CHANGED_WINDOW_S} s"
                yield Broken("NT-2", f"at most one `changed` a second of kind {kind}", came)


def _over(times: deque[float], now: float, window_s: float, most: int) -> bool:
    times.append(now)
    while times[0] < now - window_s:
        times.popleft()
    return len(times) > most
