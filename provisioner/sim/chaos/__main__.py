"""`python -m provisioner.sim.chaos N SEED`: plays N histories from SEED on and says what struck and what went wrong."""

import argparse
import os
import sys
import time

from provisioner.sim.chaos.campaign import Tally, campaign, proof
from provisioner.sim.chaos.course import run
from provisioner.sim.chaos.history import draw

PROOFS_MOST = 3


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m provisioner.sim.chaos", description=__doc__)
    parser.add_argument("count", type=int, help="how many histories")
    parser.add_argument("seed", type=int, help="the seed of the first; each further one has the next number")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--story", action="store_true", help="tell every history, and what happened in it")
    return parser.parse_args()


def _stories(first: int, count: int) -> int:
    wrong = 0
    for seed in range(first, first + count):
        history = draw(seed)
        verdict = run(history)
        wrong += bool(verdict.violations)
        _say(*history.lines(), *verdict.lines, f"ends after {verdict.ended_s:.0f} s, {verdict.done} jobs done", "")
    return wrong


def _played(first: int, count: int, workers: int) -> Tally:
    total, began_s = Tally(), time.monotonic()
    for part in campaign(first, count, workers):
        total.add(part)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{total.histories} histories, {len(total.failures)} went wrong ")
    passed_s = time.monotonic() - began_s
    _say(
        f"{total.histories} histories from seed {first}: {total.virtual_s / 3600:.0f} virtual h in {passed_s:.0f} s,"
        f" {total.purchases} purchases, {total.jobs_done} jobs done, {sum(total.hits.values())} strikes",
        "",
        *total.table(),
        "",
        f"violations: {sum(len(f.violations) for f in total.failures)} in {len(total.failures)} histories",
    )
    return total


def main() -> int:
    """Exit code 0 if nothing went wrong, else 1; the first few failures are cut down and told."""
    said = _arguments()
    if said.story:
        return 1 if _stories(said.seed, said.count) else 0
    total = _played(said.seed, said.count, said.workers)
    for failure in total.failures:
        _say(f"  seed {failure.seed}: " + "; ".join(f"{v.id}: {v.sentence}" for v in failure.violations[:3]))
    for failure in total.failures[:PROOFS_MOST]:
        _, lines = proof(failure)
        _say("", f"cut down from seed {failure.seed}:", *lines)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
