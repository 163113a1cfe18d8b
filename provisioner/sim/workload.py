"""Job logs in the Standard Workload Format, from lines of text to jobs, with every row that holds none accounted for.

Pure: it alone knows the columns and the traps of public logs; it must not know files, clocks or what the jobs run on.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from attrs import evolve, frozen

__all__ = ["Job", "Workload", "read_workload", "section"]

_ID, _SUBMIT, _RUN, _ALLOCATED, _REQUESTED = 0, 1, 3, 4, 7
_LEAST_COLUMNS: Final = _ALLOCATED + 1
_MOST_CORES: Final = 10**7

NO_ROW: Final = "is no row of a job log"
NEVER_RAN: Final = "never ran"
NO_PROCESSORS: Final = "says no number of processors"
NEVER_SUBMITTED: Final = "says no time of submission"


@frozen
class Job:
    """One job: its number in the log, submission in seconds from the log's start, run time, width in cores."""

    id: str
    submit_s: float
    run_s: float
    cores: int


@frozen
class Workload:
    """The jobs of a log by time of submission, and how many rows were left out for which reason."""

    jobs: tuple[Job, ...]
    left_out: Mapping[str, int]

    @property
    def core_seconds(self) -> float:
        """The work in it."""
        return sum(job.run_s * job.cores for job in self.jobs)


def read_workload(lines: Iterable[str]) -> Workload:
    """The jobs that ran, in the order of submission (of the log where that is equal); comments begin with a semicolon.

    Rows may be longer or shorter than the format's 18 columns, hold decimals, stand out of order and repeat a number;
    what never ran (negative or no run time) or says no width is left out, counted by its reason.
    """
    jobs: list[Job] = []
    left_out: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for line in lines:
        row = line.split(";", 1)[0].split()
        if not row:
            continue
        found = _job(row)
        if isinstance(found, str):
            left_out[found] += 1
            continue
        seen[found.id] += 1
        again = seen[found.id]
        jobs.append(found if again == 1 else evolve(found, id=f"{found.id}/{again}"))
    jobs.sort(key=lambda job: job.submit_s)
    return Workload(tuple(jobs), dict(left_out))


def section(workload: Workload, start_s: float, end_s: float, *, most_run_s: float, most_cores: int) -> Workload:
    """The jobs submitted from `start_s` to before `end_s`, times counted from there, cut to a run time and a width."""
    jobs = tuple(
        Job(job.id, job.submit_s - start_s, min(job.run_s, most_run_s), min(job.cores, most_cores))
        for job in workload.jobs
        if start_s <= job.submit_s < end_s
    )
    return Workload(jobs, workload.left_out)


def _job(row: list[str]) -> Job | str:
    """The job of a row, or why there is none."""
    if len(row) < _LEAST_COLUMNS:
        return NO_ROW
    submit_s, run_s, allocated = _number(row[_SUBMIT]), _number(row[_RUN]), _number(row[_ALLOCATED])
    if submit_s is None or run_s is None or allocated is None:
        return NO_ROW
    requested = _number(row[_REQUESTED]) if len(row) > _REQUESTED else None
    cores = int(allocated) if allocated >= 1 else int(requested or 0)
    if submit_s < 0:
        return NEVER_SUBMITTED
    if run_s <= 0:
        return NEVER_RAN
    if not 1 <= cores <= _MOST_CORES:
        return NO_PROCESSORS
    return Job(row[_ID], submit_s, run_s, cores)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
