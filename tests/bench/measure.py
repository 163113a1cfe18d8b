"""What is measured and what came of it, as values, and the sums over samples: medians and the slowest in a hundred.

Knows ratios and goals. Must not know any subject, nor where results are shown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from attrs import frozen

Better = Literal["lower", "higher"]


@frozen
class Row:
    """One figure that is reported, and the goal it is held to; None: it only informs."""

    name: str
    goal: float | None
    better: Better

    def is_met_by(self, value: float) -> bool | None:
        """Whether the value is at least as good as the goal; None without a goal."""
        if self.goal is None:
            return None
        return value <= self.goal if self.better == "lower" else value >= self.goal


@frozen
class Effort:
    """How much is measured: `rounds` of floor and subject in turn (None: as many as the bench thinks fit), and
    `tiny` for a run that only shows that everything works."""

    rounds: int | None = None
    tiny: bool = False

    def rounds_or(self, usual: int) -> int:
        """The number of rounds to run."""
        if self.rounds is not None:
            return self.rounds
        return 2 if self.tiny else usual


@frozen
class Measured:
    """The value of one row over `n` samples; `detail` says for people what was divided by what."""

    row: Row
    value: float
    n: int
    detail: str

    def as_json(self) -> dict[str, object]:
        """The entry in bench.json."""
        return {
            "name": self.row.name,
            "value": round(self.value, 4),
            "goal": self.row.goal,
            "better": self.row.better,
            "met": self.row.is_met_by(self.value),
            "n": self.n,
        }


@frozen
class Skipped:
    """A row that could not be measured here; `why` says what to do about it."""

    row: Row
    why: str

    def as_json(self) -> dict[str, object]:
        """The entry in bench.json: without a value."""
        row = self.row
        return {
            "name": row.name,
            "value": None,
            "goal": row.goal,
            "better": row.better,
            "met": None,
            "n": 0,
            "skipped": self.why,
        }


Result = Measured | Skipped


@frozen
class Bench:
    """Rows that are measured together, in a folder on the disk that is measured."""

    rows: tuple[Row, ...]
    measure: Callable[[Path, Effort], Sequence[Result]]


def median_ratio(subject: Sequence[float], floor: Sequence[float]) -> float:
    """The median, over rounds, of subject ÷ floor of the same round: what is slow for a while is slow for both."""
    return statistics.median(s / f for s, f in zip(subject, floor, strict=True))


def best_ratio(subject: Sequence[float], floor: Sequence[float]) -> float:
    """The fastest round of one ÷ the fastest of the other: where what takes longer is also interrupted more often, as a
    call is on a busy machine, the other rounds tell of the machine and not of the call."""
    return min(subject) / min(floor)


def p99(samples: Sequence[float]) -> float:
    """The value that 99 in 100 samples do not exceed."""
    return sorted(samples)[math.ceil(0.99 * len(samples)) - 1]


def best_text(samples: Sequence[float], unit: str) -> str:
    """The fastest round for people."""
    return median_text([min(samples)], unit)


def median_text(samples: Sequence[float], unit: str) -> str:
    """The median for people."""
    middle = statistics.median(samples)
    return f"{middle:,.0f} {unit}" if middle >= 100 else f"{middle:.3g} {unit}"
