"""`provisioner demo`: a daemon of its own on the example's two simulated clouds, a small cluster, a job log, a summary.

It alone knows where the demo's files lie and which exit status its end has; what is played is the business of sim.
"""

import json
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import trio
from rich.console import Console

import provisioner
from provisioner.app import folders_of
from provisioner.cli.demo_screen import screen, summary_json, summary_text
from provisioner.cli.exits import Exit
from provisioner.cli.run import load_settings
from provisioner.sim.job_log import SAMPLE, UnreadableLog, open_workload
from provisioner.sim.performance import Outcome, Plan, perform
from provisioner.sim.player import Pace
from provisioner.sim.workload import Workload, section

__all__ = ["DEFAULT_SPEED", "demo"]

DEFAULT_SPEED: Final = 75.0
"""Seconds of the log that pass in a real second: the sample's hour takes 48."""
MOST_RUN_S: Final = 7200.0
MOST_CORES: Final = 64
EXIT_INTERRUPTED: Final = 130

EXAMPLE: Final = Path("docs", "examples", "two-clouds.yaml")
_LONGEST_SOCKET: Final = 100
_SHORTEST_FOLDER: Final = "/tmp"  # noqa: S108  the folder made in it is private and its name is drawn
_HOUR_S: Final = 3600.0


class _Refused(Exception):
    """The demo can't begin; the text is a sentence."""


def demo(
    *,
    log: Path | None = None,
    start_hour: float = 0.0,
    hours: float = 1.0,
    speed: float = DEFAULT_SPEED,
    json_output: bool = False,
) -> int:
    """Play `hours` of a job log (the sample if none is named) from `start_hour` at `speed`; the exit status.

    0: all went well. 1: something failed or was left over. 2: an option makes no sense, or a file can't be used.
    130: told to stop, and everything was given back.
    """
    try:
        workload = _workload(log, start_hour, hours, speed)
        with tempfile.TemporaryDirectory(prefix="provisioner-demo-", dir=_short_folder()) as folder:
            outcome = _played(Path(folder), workload, speed, quiet=json_output)
    except _Refused as refusal:
        print(f"provisioner demo: {refusal}", file=sys.stderr)
        return Exit.USAGE
    print(json.dumps(summary_json(outcome), indent=2) if json_output else f"\n{summary_text(outcome)}")
    if not outcome.went_well:
        print(f"provisioner demo: it failed. The daemon's last words:\n{outcome.log_tail}", file=sys.stderr)
        return Exit.NO
    return EXIT_INTERRUPTED if outcome.interrupted else Exit.OK


def _workload(log: Path | None, start_hour: float, hours: float, speed: float) -> Workload:
    for name, value, good in (
        ("--speed", speed, 0 < speed <= 10_000),
        ("--hours", hours, 0 < hours <= 1e6),
        ("--start-hour", start_hour, 0 <= start_hour <= 1e6),
    ):
        if not good:
            raise _Refused(f"{name} {value:g} makes no sense here; choose a sensible positive number")
    try:
        whole = open_workload(SAMPLE if log is None else log)
    except UnreadableLog as why:
        raise _Refused(str(why)) from None
    start_s = start_hour * _HOUR_S
    found = section(whole, start_s, start_s + hours * _HOUR_S, most_run_s=MOST_RUN_S, most_cores=MOST_CORES)
    if not found.jobs:
        last = whole.jobs[-1].submit_s / _HOUR_S
        sentence = f"no job was submitted in these hours; the log's last one was at hour {last:.1f}"
        raise _Refused(f"{sentence}: choose others with --start-hour and --hours")
    return found


def _played(folder: Path, workload: Workload, speed: float, *, quiet: bool) -> Outcome:
    config = _private_copy(folder)
    settings = load_settings(config)
    if isinstance(settings, int) or settings.listen.socket is None:
        raise _Refused(f"the example {EXAMPLE} can't be used as it stands")
    books = {name: Path(folders_of(settings, provider).state_dir) for name, provider in settings.providers.items()}
    plan = Plan(config, settings.listen.socket, books, workload, Pace(speed=speed))
    with screen(Console(), quiet=quiet) as show:
        return trio.run(partial(perform, plan, show))


def _private_copy(folder: Path) -> Path:
    """The example in a folder of its own; since all its paths are relative, all files of the daemon lie there too."""
    shipped = Path(provisioner.__file__).resolve().parents[1] / EXAMPLE
    copy = folder / EXAMPLE
    try:
        copy.parent.mkdir(parents=True)
        shutil.copyfile(shipped, copy)
        (folder / "build").mkdir()
    except FileNotFoundError:
        sentence = f"the example {shipped} is not here; run the demo from a checkout (make demo)"
        raise _Refused(sentence) from None
    except OSError as error:
        sentence = f"the private folder {folder} can't be used: {error.strerror}"
        raise _Refused(sentence) from None
    return copy


def _short_folder() -> str:
    """Where the private folder is made: a Unix socket's whole path has room for little more than a hundred bytes."""
    usual = tempfile.gettempdir()
    whole = f"{usual}/provisioner-demo-12345678/build/two-clouds/api.sock"
    return usual if len(os.fsencode(whole)) < _LONGEST_SOCKET else _SHORTEST_FOLDER
