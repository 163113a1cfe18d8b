"""`python -m provider_sdk.testing`: arguments, the files of a report, and the exit code.

Knows arguments and files; must not know checks.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio

from provider_sdk.testing.manifest import requirements
from provider_sdk.testing.process import NotStarted
from provider_sdk.testing.report import as_json, as_junit, as_text
from provider_sdk.testing.run import TIME_S, Refused, examine
from provider_sdk.testing.subject import SubjectFault, read_subject

EXIT_PASSED: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_STARTED: Final = 3


def main(arguments: Sequence[str], program: str = "python -m provider_sdk.testing") -> int:
    """Examine the provider named after `--` and print the report; the exit code.

    0: no clause is broken. 1: a clause is broken, or the time was over. 2: the arguments or the subject file are
    faulty. 3: the provider could not be started, or refuses the configuration it was given.
    """
    parser = _parser(program)
    own, command = _split(arguments)
    try:
        found = parser.parse_args(own)
    except SystemExit as ended:
        return EXIT_PASSED if ended.code == 0 else EXIT_USAGE
    only = frozenset(part for part in (found.only or "").split(",") if part)
    unknown = sorted(only - set(requirements()))
    if unknown:
        return _complain(program, f"no such clause: {', '.join(unknown)}", EXIT_USAGE)
    try:
        subject = read_subject(tuple(command or found.command), found.config, os.environ)
        say = _say if sys.stderr.isatty() else _silent
        outcome = trio.run(partial(examine, subject, strict=found.strict, only=only, time_s=found.time, say=say))
    except SubjectFault as fault:
        return _complain(program, str(fault), EXIT_USAGE)
    except (NotStarted, Refused) as refusal:
        return _complain(program, str(refusal), EXIT_NOT_STARTED)
    sys.stdout.write(as_text(outcome, verbose=found.verbose))
    for path, text in ((found.json, as_json(outcome)), (found.junit, as_junit(outcome))):
        if path is not None:
            path.write_text(text, encoding="utf-8")
    return EXIT_FAILED if outcome.failed or outcome.unfinished else EXIT_PASSED


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [options] -- COMMAND [ARGUMENT …]",
        description="Plays the daemon against a provider and reports by the contract's clauses.",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="subject file (JSON): configuration, what may be bought"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the report as JUnit XML")
    parser.add_argument("--strict", action="store_true", help="report extra fields without x- (GR-5)")
    parser.add_argument("--only", metavar="ID,…", help="run the checks of these clauses only")
    parser.add_argument("--time", type=float, default=TIME_S, metavar="SECONDS", help="begin no check after this time")
    parser.add_argument("--verbose", action="store_true", help="show also what can't be seen from outside, and why")
    # A command line in front of this one may have taken the separator away.
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return list(arguments), []
    place = list(arguments).index("--")
    return list(arguments[:place]), list(arguments[place + 1 :])


def _complain(program: str, text: str, code: int) -> int:
    sys.stderr.write(f"{program}: {text}\n")
    return code


def _say(name: str) -> None:
    sys.stderr.write(f"\r\x1b[K{name}")


def _silent(name: str) -> None:
    """Say nothing where nobody watches."""
