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

from tests.bench import commit_rate, demand_latency, restart_time
from tests.bench.measure import Bench, Effort, Measured

ROOT = Path(__file__).resolve().parents[2]
BENCHES: tuple[Bench, ...] = (
    commit_rate.BENCH,
    demand_latency.IN_PROCESS,
    demand_latency.WITH_PROCESS,
    restart_time.BENCH,
)


def main(argv: Sequence[str]) -> int:
    """Measures what was asked for; 0 also where a goal is missed, 2 for a wrong command line."""
    asked = _arguments(argv)
    chosen = [(bench, names) for bench in BENCHES if (names := _chosen(bench, asked.only))]
    if not chosen:
        sys.stderr.write(f"No row is called {' or '.join(asked.only)}. The rows: {', '.join(_names())}.\n")
        return 2
    asked.folder.mkdir(parents=True, exist_ok=True)
    results: list[Measured] = []
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


def _table(results: Sequence[Measured]) -> list[str]:
    width = max(len(measured.row.name) for measured in results)
    lines = [f"{'row':<{width}}  {'value':>8}  {'goal':>8}  {'':<6}  {'n':>7}  medians"]
    for measured in results:
        row, sign = measured.row, "≤" if measured.row.better == "lower" else "≥"
        verdict = "met" if row.is_met_by(measured.value) else "MISSED"
        value, goal = f"{measured.value:.3g}", f"{sign} {row.goal:g}"
        lines.append(f"{row.name:<{width}}  {value:>8}  {goal:>8}  {verdict:<6}  {measured.n:>7}  {measured.detail}")
    missed = sum(1 for measured in results if not measured.row.is_met_by(measured.value))
    lines.append(f"{len(results) - missed} of {len(results)} goals met, on Python {platform.python_version()}.")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
