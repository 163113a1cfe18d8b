"""Many cases: how many of each target and each mutation were run, and what broke, cut down to the shortest bytes."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from attrs import define, evolve, field

from tests.fuzz.case import Case, draw, shrunk, what_breaks
from tests.fuzz.mutate import MUTATIONS
from tests.fuzz.targets import TARGETS

SHRUNK_MOST = 10
"""Failures that are cut down; a fault that strikes a thousand times is one fault."""
TELL_EVERY_S = 15.0


@define(eq=False)
class Tally:
    """What a campaign came to; `failures` are (number, case) with what each breaks."""

    seed: int
    cases: int = 0
    targets: Counter[str] = field(factory=Counter)
    kinds: Counter[str] = field(factory=Counter)
    failures: list[tuple[int, Case]] = field(factory=list)
    cpu_s: float = 0.0

    def add(self, number: int, case: Case, why: str | None) -> None:
        """Takes one case in."""
        self.cases += 1
        self.targets[case.target] += 1
        self.kinds.update(case.kinds)
        if why is not None:
            self.failures.append((number, evolve(case, why=why)))

    def line(self) -> str:
        """The sum in one line."""
        ended = f"{len(self.failures)} failed, {self.cpu_s:.0f} s of the processor"
        return f"{self.cases} cases from seed {self.seed}, {ended}"

    def lines(self) -> list[str]:
        """The counts as lines."""
        width = max(map(len, (*TARGETS, *MUTATIONS)))
        return [
            self.line(),
            *(f"  {name:<{width}} {self.targets[name]:>8}" for name in TARGETS),
            "mutations (a case has up to four):",
            *(f"  {name:<{width}} {self.kinds[name]:>8}" for name in MUTATIONS),
        ]


def campaign(seed: int, count: int, tell: Callable[[str], None] = lambda _: None, first: int = 0) -> Tally:
    """Runs `count` cases of a seed from the number `first` on, telling now and then how far it is."""
    tally = Tally(seed)
    began_s, told_s = time.process_time(), time.monotonic()
    for number in range(first, first + count):
        case = draw(seed, number)
        tally.add(number, case, what_breaks(case))
        if time.monotonic() - told_s > TELL_EVERY_S:
            told_s = time.monotonic()
            tell(f"{tally.cases} of {count} cases, {len(tally.failures)} failed")
    tally.cpu_s = time.process_time() - began_s
    return tally


def keep_failures(tally: Tally, folder: Path) -> list[str]:
    """Writes the failures that differ, cut down, into files; what each breaks and how to run it again, as lines."""
    lines, seen = list[str](), set[str]()
    for number, case in tally.failures:
        if case.why[:60] in seen or len(seen) >= SHRUNK_MOST:
            continue
        seen.add(case.why[:60])
        smaller = shrunk(case, case.why)
        path = folder / f"{case.target}-{tally.seed}-{number}.case"
        smaller.kept_in(path)
        lines += [
            f"seed {tally.seed}, case {number}, {case.target} ({case.scene}), {'+'.join(case.kinds)}:",
            f"  {case.why}",
            f"  {smaller.data[:300]!r}",
            f"  again: python -m tests.fuzz --file {path}",
        ]
    return lines
