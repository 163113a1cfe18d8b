"""How fast the far side may be called: a token bucket whose rate follows what the far side bears (AIMD). Pure.

Knows rates and times, given as arguments from one steady clock; must not know threads, calls or errors.
"""


class Pace:
    """At most `per_s` calls a second, `burst` at once; halved when throttled, raised again bit by bit as it is used.

    Never below `least_per_s`. Used to the full, the rate grows by `gain_per_s` each second.
    """

    def __init__(self, *, per_s: float, burst: float, least_per_s: float, gain_per_s: float) -> None:
        if not 0 < least_per_s <= per_s or burst < 1 or gain_per_s < 0:
            raise ValueError("a pace needs 0 < least_per_s <= per_s, a burst of at least 1 and no negative gain")
        self.rate_per_s = per_s
        self._most_per_s = per_s
        self._least_per_s = least_per_s
        self._gain_per_s = gain_per_s
        self._burst = burst
        self._tokens = burst
        self._filled_at: float | None = None
        self._closed_until = float("-inf")
        self._slowed_at = float("-inf")

    def wait_s(self, now: float) -> float:
        """How long until one call may go; 0.0 when it may go now."""
        self._fill(now)
        # A hair of tolerance: rounding must not make somebody wait for a billionth of a token.
        for_token = 0.0 if self._tokens >= 1 - 1e-9 else (1 - self._tokens) / self.rate_per_s
        return max(for_token, self._closed_until - now, 0.0)

    def take(self, now: float) -> None:
        """One call goes; to be asked only when `wait_s` is 0."""
        self._fill(now)
        self._tokens -= 1
        self.rate_per_s = min(self._most_per_s, self.rate_per_s + self._gain_per_s / self.rate_per_s)

    def throttled(self, now: float, *, taken_at: float, retry_after_s: float = 0.0) -> None:
        """The far side has refused a call taken at `taken_at`: half the rate, no stored burst, silence until it said.

        Calls that were already under way when the rate was last halved tell nothing new, so they don't halve it again.
        """
        self._fill(now)
        self._tokens = min(self._tokens, 0.0)
        self._closed_until = max(self._closed_until, now + retry_after_s)
        if taken_at > self._slowed_at:
            self._slowed_at = now
            self.rate_per_s = max(self._least_per_s, self.rate_per_s / 2)

    def _fill(self, now: float) -> None:
        if self._filled_at is not None:
            # While the far side wants silence nothing is saved up for a burst afterwards.
            open_s = max(0.0, now - max(self._filled_at, self._closed_until))
            self._tokens = min(self._burst, self._tokens + open_s * self.rate_per_s)
        self._filled_at = now if self._filled_at is None else max(now, self._filled_at)
