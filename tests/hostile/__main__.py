"""Runs the daemon beside each hostile provider in turn and prints what its health, memory and good provider suffered.

    python -m tests.hostile [--seconds 10] [--only NAME,NAME] [--every 5] [--calls 10000] [--steps] [--keep]

A run without hostile providers stands before the first, after every fifth and at the end: what it shows is the
machine's doing. Exit 1 if an answer took over 100 ms in a hostile run while the calm run before it stayed below, if a
step of the daemon's loop took that much processor time, if memory grew over the calls, or if anything else went wrong.
"""

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.e2e.daemon import Daemon, short_folder
from tests.e2e.hostile.calls import memory_over_calls
from tests.e2e.hostile.kinds import FAMILIES, Kind, crash_loops
from tests.e2e.hostile.stage import Outcome, play, staged

LIMIT_S = 0.1
MIB = 1 << 20
CALM = "(none)"
GOOD, BAD, UNCLEAR = "good", "bad", "unclear, the machine was too busy"
CALLS_GROWTH_MOST = 4 * MIB
HEAD = f"{'hostile provider':18} {'asked':>6} {'p50 ms':>7} {'p99 ms':>7} {'worst ms':>9} {'late ms':>8} {'step ms':>8} {'RSS MiB':>12} {'rounds':>7} {'longest s':>10}"  # noqa: E501  one line of a table


def main() -> int:
    """Runs everything; the exit status."""
    args = _arguments()
    print(HEAD, flush=True)
    verdicts: list[str] = []
    calm = LIMIT_S
    for number, (name, kinds) in enumerate(_runs(args.only)):
        if number % args.every == 0:
            calm = _run(CALM, (), args).seen.worst_s
        verdicts.append(_verdict(_run(name, kinds, args), calm))
        if verdicts[-1] != GOOD:
            print(f"    {verdicts[-1]}")
    _run(CALM, (), args)
    if _calls(args.calls):
        verdicts.append(BAD)
    print(f"{len(verdicts)} runs: {', '.join(f'{n} {verdict}' for verdict, n in Counter(verdicts).items())}")
    return 1 if BAD in verdicts else 0


def _verdict(outcome: Outcome, calm_s: float) -> str:
    """Good, bad, or not to be told where the machine alone took as long, unless the daemon's own loop stood still."""
    if outcome.faults or outcome.seen.unanswered or (outcome.longest_step_s or 0.0) > LIMIT_S:
        return BAD
    if outcome.seen.worst_s <= LIMIT_S:
        return GOOD
    return BAD if calm_s <= LIMIT_S else UNCLEAR


def _run(name: str, kinds: Sequence[Kind], args: argparse.Namespace) -> Outcome:
    folder = short_folder()
    try:
        made = tuple(crash_loops(folder)) if name == "crash-loops" else kinds
        outcome = play(Daemon(folder), made, args.seconds, folder / "steps.json")
        if args.keep:
            print(f"    kept: {folder}")
    finally:
        if not args.keep:
            shutil.rmtree(folder)
    _tell(name, outcome, steps=args.steps)
    return outcome


def _calls(count: int) -> bool:
    """Whether memory grew over so many calls, after a warm-up of a fifth of them."""
    if not count:
        return False
    folder = short_folder()
    try:
        with staged(Daemon(folder), ()) as stage:
            stage.end()  # what is bought and given back is kept as facts for an hour
            readings = memory_over_calls(stage, count)
    finally:
        shutil.rmtree(folder)
    grown = readings[-1] - readings[1]
    shown = " ".join(f"{reading / MIB:.1f}" for reading in readings)
    print(f"{count} calls, RSS in MiB after each tenth: {shown}")
    return grown > CALLS_GROWTH_MOST


def _tell(name: str, outcome: Outcome, *, steps: bool) -> None:
    seen = outcome.seen
    late_s = max(seen.lateness_s, default=0.0)
    step_s = outcome.longest_step_s or 0.0
    figures = (seen.quantile_s(0.5), seen.quantile_s(0.99), seen.worst_s, late_s, step_s)
    p50, p99, worst, late, step = (f"{1000 * figure:.1f}" for figure in figures)
    rss = f"{outcome.rss_first / MIB:.0f} → {outcome.rss_last / MIB:.0f}"
    print(
        f"{name:18} {len(seen.latencies_s):>6} {p50:>7} {p99:>7} {worst:>9} {late:>8} {step:>8} {rss:>12}"
        f" {outcome.rounds:>7} {outcome.longest_round_s:>10.1f}",
        flush=True,
    )
    if seen.unanswered:
        print(f"    {seen.unanswered} questions were not answered")
    for fault in outcome.faults:
        print(f"    {fault}")
    for long in outcome.long_steps if steps else ():
        where = "".join(long["stack"])
        print(f"    {1000 * long['took_s']:.0f} ms in {long['task']}\n{where}")


def _runs(only: frozenset[str]) -> Iterator[tuple[str, tuple[Kind, ...]]]:
    for kinds in FAMILIES.values():
        for kind in kinds:
            if not only or kind.name in only:
                yield kind.name, (kind,)
    if not only or "crash-loops" in only:
        yield "crash-loops", ()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="the least that each run takes")
    parser.add_argument("--only", type=lambda text: frozenset(text.split(",")), default=frozenset())
    parser.add_argument("--every", type=int, default=5, help="a calm run before every so many hostile ones")
    parser.add_argument("--calls", type=int, default=10_000, help="calls of the run that watches the memory; 0: none")
    parser.add_argument("--steps", action="store_true", help="where the loop's long steps were")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
