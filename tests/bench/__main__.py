"""The command `python -m tests.bench`: measures the chosen rows, prints a table, writes JSON.

Knows which benches there are and how results are shown. Must not know how anything is measured.
A goal that is missed is said, and is no failure: this is a measurement.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import (
    call_cost,
    commit_rate,
    demand_latency,
    idle_providers,
    list_decode,
    mcp_peer,
    restart_time,
    spawn_time,
)
from tests.bench.measure import Bench, Effort, Measured, Result, Skipped

ROOT = Path(__file__).resolve().parents[2]
BENCHES: tuple[Bench, ...] = (
    commit_rate.BENCH,
    demand_latency.IN_PROCESS,
    demand_latency.WITH_PROCESS,
    restart_time.BENCH,
    *call_cost.BENCHES,
    mcp_peer.BENCH,
    idle_providers.BENCH,
    spawn_time.BENCH,
    *list_decode.BENCHES,
)


def main(argv: Sequence[str]) -> int:
    """Measures what was asked for; 0 also where a goal is missed, 2 for a wrong command line."""
    asked = _arguments(argv)
    chosen = [(bench, names) for bench in BENCHES if (names := _chosen(bench, asked.only))]
    if not chosen:
        sys.stderr.write(f"No row is called {' or '.join(asked.only)}. The rows: {', '.join(_names())}.\n")
        return 2
    asked.folder.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for bench, names in chosen:
        sys.stderr.write(f"measuring {', '.join(sorted(names))}\n")
        folder = Path(tempfile.mkdtemp(prefix="bench-", dir=asked.folder))
        try:
            found = bench.measure(folder, Effort(asked.repeat, asked.tiny))
        finally:
            shutil.rmtree(folder)
        results += [measured for measured in found if measured.row.name in names]
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps([measured.as_json() for measured in results], indent=2) + "\n")
    sys.stdout.write("\n".join(_table(results)) + f"\n\nwritten: {asked.out}\n")
    return 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    build = ROOT / "build"
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures against floors in one run.")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="rows, such as 'facts.*'")
    parser.add_argument("--repeat", type=_at_least_one, default=None, metavar="N", help="rounds of floor and subject")
    parser.add_argument("--tiny", action="store_true", help="as little as shows that everything works")
    parser.add_argument("--out", type=Path, default=build / "bench.json", help="where the JSON goes (%(default)s)")
    parser.add_argument("--folder", type=Path, default=build / "bench", help="on the disk to measure (%(default)s)")
    return parser.parse_args(argv)


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _names() -> list[str]:
    return [row.name for bench in BENCHES for row in bench.rows]


def _chosen(bench: Bench, patterns: Sequence[str]) -> set[str]:
    names = {row.name for row in bench.rows}
    return {name for name in names if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)}


def _table(results: Sequence[Result]) -> list[str]:
    width = max(len(result.row.name) for result in results)
    lines = [f"{'row':<{width}}  {'value':>8}  {'goal':>8}  {'':<7}  {'n':>7}  medians"]
    lines += [_line(result, width) for result in results]
    verdicts = [_verdict(result) for result in results if result.row.goal is not None]
    lines.append(f"{verdicts.count('met')} of {len(verdicts)} goals met, on Python {platform.python_version()}.")
    return lines


def _line(result: Result, width: int) -> str:
    row, sign = result.row, "≤" if result.row.better == "lower" else "≥"
    goal = "" if row.goal is None else f"{sign} {row.goal:g}"
    value, n, detail = ("", "", result.why) if isinstance(result, Skipped) else _figures(result)
    return f"{row.name:<{width}}  {value:>8}  {goal:>8}  {_verdict(result):<7}  {n:>7}  {detail}"


def _figures(measured: Measured) -> tuple[str, str, str]:
    return f"{measured.value:.3g}", str(measured.n), measured.detail


def _verdict(result: Result) -> str:
    if isinstance(result, Skipped):
        return "skipped"
    return {True: "met", False: "MISSED", None: ""}[result.row.is_met_by(result.value)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
