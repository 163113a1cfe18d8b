"""`python -m provider_sdk.testing`: arguments, the files of a report, and the exit code.

Knows arguments and files; must not know checks.
"""

import argparse
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import trio

from provider_sdk.testing.manifest import requirements
from provider_sdk.testing.process import NotStarted
from provider_sdk.testing.report import as_json, as_junit, as_text
from provider_sdk.testing.run import TIME_S, Refused, examine
from provider_sdk.testing.subject import SubjectFault, read_subject
from provider_sdk.testing.verdict import Outcome

EXIT_PASSED: Final = 0
EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_NOT_STARTED: Final = 3
EXIT_STOPPED: Final = 130


def main(arguments: Sequence[str], program: str = "python -m provider_sdk.testing") -> int:
    """Examine the provider named after `--` and print the report; the exit code.

    0: no clause is broken. 1: a clause is broken, or the time was over. 2: the arguments or the subject file are
    faulty, or a file of the run can't be written. 3: the provider could not be started, or refuses the configuration
    it was given. 130: ended by SIGINT or SIGTERM; nothing is left behind, and nothing is said of any clause.
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
    for report in (found.json, found.junit):
        if report is not None and not _may_be_written(report):
            return _complain(program, f"{report} can't be written", EXIT_USAGE)
    return _examined(found, tuple(command or found.command), only, program)


def _examined(found: argparse.Namespace, command: tuple[str, ...], only: frozenset[str], program: str) -> int:
    try:
        subject = read_subject(command, found.config, os.environ)
        say = _say if sys.stderr.isatty() else _silent
        outcome = _run(partial(examine, subject, strict=found.strict, only=only, time_s=found.time, say=say))
        if outcome is None:
            return _complain(program, "ended before its end; nothing is said of any clause", EXIT_STOPPED)
        _write(outcome, found)
    except (SubjectFault, _Unwritable) as fault:
        return _complain(program, str(fault), EXIT_USAGE)
    except (NotStarted, Refused) as refusal:
        return _complain(program, str(refusal), EXIT_NOT_STARTED)
    return EXIT_FAILED if outcome.failed or outcome.unfinished else EXIT_PASSED


def _write(outcome: Outcome, found: argparse.Namespace) -> None:
    sys.stdout.write(as_text(outcome, verbose=found.verbose))
    for path, text in ((found.json, as_json(outcome)), (found.junit, as_junit(outcome))):
        if path is not None:
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as why:
                raise _Unwritable(_sentence(why)) from why


class _Unwritable(Exception):
    """The kit's own files can't be written: nothing the provider is to blame for."""


def _run(examined: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
    """The outcome, None if a signal came first; raises what `examined` raises, and _Unwritable."""
    try:
        return trio.run(_until_stopped, examined)
    except* OSError as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raised = _Unwritable(_sentence(first))
    raise raised


async def _until_stopped(examined: Callable[[], Awaitable[Outcome]]) -> Outcome | None:
    outcome: Outcome | None = None
    refusal: NotStarted | Refused | None = None
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at, signals, nursery.cancel_scope)
            try:
                outcome = await examined()
            except (NotStarted, Refused) as why:  # raised outside of the nursery, which would wrap it
                refusal = why
            nursery.cancel_scope.cancel()
    if refusal is not None:
        raise refusal
    return outcome


async def _cancel_at(signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in signals:
        scope.cancel()


def _may_be_written(path: Path) -> bool:
    return os.access(path if path.exists() else path.parent, os.W_OK) and not path.is_dir()


def _sentence(why: BaseException) -> str:
    name, reason = getattr(why, "filename", None), getattr(why, "strerror", None)
    return f"{name or 'a file of the run'} can't be written: {reason or 'unknown reason'}"


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
