"""`python -m tests.fuzz N SEED`: runs a campaign and prints its counts; `--file CASE` runs one kept case again."""

import argparse
import resource
import sys
from pathlib import Path

from tests.fuzz.campaign import campaign, keep_failures
from tests.fuzz.case import read_case, run
from tests.fuzz.sdk_target import cleared

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "fuzz"


def main(argv: list[str] | None = None) -> int:
    """0 if nothing breaks, 1 if something does."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10_000, metavar="N", help="how many cases")
    parser.add_argument("seed", type=int, nargs="?", default=1, metavar="SEED")
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="of the seed's cases, to share them out")
    parser.add_argument("--file", type=Path, help="run one kept case again; its failure is shown whole")
    said = parser.parse_args(argv)
    if said.count < 1 or said.first < 0:
        parser.error("a campaign has at least one case: what runs none has shown nothing")
    with cleared():
        if said.file is not None:
            run(read_case(said.file))
            _say("nothing breaks")
            return 0
        tally = campaign(said.seed, said.count, _say, said.first)
        _say(*tally.lines())
        _say(f"most memory held: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
        _say(*keep_failures(tally, FOLDER))
    return 1 if tally.failures else 0


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
