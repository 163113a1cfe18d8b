"""Makes the sample job log: an hour of a small cluster with two bursts, drawn from a seed.

    python -m provisioner.sim.make_sample [SEED] > provisioner/sim/sample.swf

It alone knows what the sample looks like; the same seed gives the same text on every Python.
"""

import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Final

Draw = Callable[[], float]
"""Gives the next number of a sequence, from 0 to below 1."""

SEED: Final = 1
SPAN_S: Final = 3600
_STEADY_JOBS: Final = 24
_BURSTS: Final = ((420, 240, 22), (2160, 180, 16))
"""Of each burst when it begins, how long it lasts (both in seconds) and how many jobs it brings."""
_WIDTHS: Final = ((1, 0.34), (2, 0.22), (4, 0.18), (8, 0.13), (16, 0.09), (32, 0.04))
"""Widths in cores and how often each is drawn."""
_MEDIAN_RUN_S: Final = 300.0
_SPREAD: Final = 0.8
_LEAST_RUN_S, _MOST_RUN_S = 30, 900

_HEADER: Final = """\
; Version: 2.2
; Computer: none. This log was made by a generator; nobody's jobs are in it.
; Generator: python -m provisioner.sim.make_sample {seed}
; Note: {jobs} jobs of 1 to 32 cores over one hour, with two bursts. Times are seconds.
; MaxJobs: {jobs}
; MaxRecords: {jobs}
; UnixStartTime: 0
; Columns: number, submission, wait, run time, cores, then what is not known (-1)
"""


def sample_text(seed: int = SEED) -> str:
    """A job log in the Standard Workload Format; equal for equal seeds."""
    draw = random.Random(seed).random  # the only draw whose sequence Python promises to keep
    times = sorted((*_steady(draw), *_in_bursts(draw)))
    rows = [_row(number, submit_s, draw) for number, submit_s in enumerate(times, 1)]
    return _HEADER.format(seed=seed, jobs=len(rows)) + "".join(rows)


def _steady(draw: Draw) -> Iterator[int]:
    for n in range(_STEADY_JOBS):
        yield int(SPAN_S * (n + draw()) / _STEADY_JOBS)


def _in_bursts(draw: Draw) -> Iterator[int]:
    for begin_s, last_s, jobs in _BURSTS:
        for _ in range(jobs):
            yield begin_s + int(last_s * draw())


def _row(number: int, submit_s: int, draw: Draw) -> str:
    cores, run_s = _width(draw()), _run_s(draw(), draw())
    cells = [number, submit_s, -1, run_s, cores, *[-1] * 13]
    return " ".join(map(str, cells)) + "\n"


def _width(chance: float) -> int:
    for cores, share in _WIDTHS:
        chance -= share
        if chance < 0:
            return cores
    return _WIDTHS[0][0]


def _run_s(first: float, second: float) -> int:
    """A run time whose logarithm is normal about the median, by the transform of Box and Muller."""
    normal = math.sqrt(-2 * math.log(1 - first)) * math.cos(2 * math.pi * second)
    return min(max(round(_MEDIAN_RUN_S * math.exp(_SPREAD * normal)), _LEAST_RUN_S), _MOST_RUN_S)


def main() -> None:
    """Write the sample to standard output; the seed may be given."""
    sys.stdout.write(sample_text(int(sys.argv[1]) if len(sys.argv) > 1 else SEED))


if __name__ == "__main__":
    main()
