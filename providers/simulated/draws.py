"""Chance without a generator: every draw is a function of the seed and of what is drawn, so a repeat gives the same.

Pure. Knows nothing of clouds, configuration files or calls.
"""

import hashlib
from math import ceil, exp, log
from statistics import NormalDist
from typing import Literal

from attrs import frozen

Shape = Literal["fixed", "uniform", "lognormal"]

_WORST_QUANTILE = 0.99


def fraction(seed: int, *parts: str | int) -> float:
    """Return a number in (0, 1) that depends on nothing but the seed and the parts."""
    text = "\x1f".join([str(seed), *(str(part) for part in parts)])
    figure = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11
    return (figure + 0.5) / 2**53


@frozen
class Spread:
    """A distribution of durations in whole milliseconds: `typical_ms` is its median, `worst_ms` is never exceeded."""

    typical_ms: int
    worst_ms: int
    shape: Shape = "fixed"

    def draw_ms(self, at: float) -> int:
        """Return the duration at quantile `at` (0 to 1)."""
        match self.shape:
            case "fixed":
                return self.typical_ms
            case "uniform":
                return self._uniform_ms(at)
            case "lognormal":
                return self._lognormal_ms(at)

    def _uniform_ms(self, at: float) -> int:
        least = max(0, 2 * self.typical_ms - self.worst_ms)
        return least + round((self.worst_ms - least) * at)

    def _lognormal_ms(self, at: float) -> int:
        if self.typical_ms <= 0 or self.worst_ms <= self.typical_ms:
            return self.typical_ms
        sigma = log(self.worst_ms / self.typical_ms) / NormalDist().inv_cdf(_WORST_QUANTILE)
        drawn = NormalDist(log(self.typical_ms), sigma).inv_cdf(at)
        return min(self.worst_ms, round(exp(drawn)))

    @property
    def typical_s(self) -> int:
        """The median in whole seconds, rounded up."""
        return ceil(self.typical_ms / 1000)

    @property
    def worst_s(self) -> int:
        """The longest duration in whole seconds, rounded up."""
        return ceil(max(self.typical_ms, self.worst_ms) / 1000)


def exponential_ms(mean_s: int, at: float) -> int:
    """Return the milliseconds until an event at quantile `at`, if one comes every `mean_s` seconds on average."""
    return max(1, round(-log(1.0 - at) * mean_s * 1000))
