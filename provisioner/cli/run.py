"""`provisioner run`: reads the configuration, runs the daemon, and says in one sentence why it could not.

It alone knows the exit status of each refusal; it must not know how the daemon is built.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import trio

from provisioner.app import StillNeeded, run_daemon
from provisioner.cli.config_text import config_text
from provisioner.core.settings import Settings
from provisioner.edge.config_file import Faults, read_settings
from provisioner.runtime.links.errors import (
    FactsCorrupt,
    FactsError,
    FactsInUse,
    FactsNewer,
    FactsOfOtherCluster,
    FactsSilent,
    FactsUnreachable,
)
from provisioner.runtime.log import open_log
from provisioner.runtime.rest_doors import DoorRefused

__all__ = ["exit_status", "load_settings", "run"]

EXIT_FAULTY_FILE: Final = 64
"""The configuration file has faults; each is printed with its place."""
EXIT_FOREIGN_FACTS: Final = 65
"""The facts are damaged, another cluster's, or a newer release's; nothing was touched."""
EXIT_NO_FILE: Final = 66
"""The configuration file can't be read."""
EXIT_NO_DOOR: Final = 69
"""A socket or port can't be opened."""
EXIT_NO_FACTS: Final = 74
"""The facts can't be reached or their disk does not answer."""
EXIT_IN_USE: Final = 75
"""Another daemon owns the facts; it is named."""
EXIT_INTERRUPTED: Final = 130
"""Interrupted before it had opened its facts; from then on SIGINT is an orderly end, however far the start is."""
EXIT_STILL_NEEDED: Final = 78
"""The configuration lacks a provider of which something is not proven gone."""

Refusal = FactsError | StillNeeded | DoorRefused
E_ = TypeVar("E_", bound=Exception)


def run(config: Path, verbose: bool) -> int:
    """Run the daemon of a configuration file until SIGTERM or SIGINT; the exit status, 0 after an orderly end."""
    settings = load_settings(config)
    if isinstance(settings, int):
        return settings
    refusals: list[Refusal] = []
    interrupted = False
    try:
        trio.run(partial(run_daemon, settings, open_log(verbose=verbose)))
    except* (FactsError, StillNeeded, DoorRefused) as group:
        refusals += _leaves(group)
    except* KeyboardInterrupt:  # before the daemon listened for signals, so nothing was begun
        interrupted = True
    for refusal in refusals:
        print(f"provisioner run: {refusal}", file=sys.stderr)
    if refusals:
        return exit_status(refusals[0])
    return EXIT_INTERRUPTED if interrupted else 0


def load_settings(config: Path) -> Settings | int:
    """The settings of a configuration file, or the exit status after its faults were printed."""
    try:
        text = config_text(config)
    except UnicodeDecodeError as error:
        print(f"{config}: is no text in UTF-8 (byte {error.start}); save it as UTF-8", file=sys.stderr)
        return EXIT_FAULTY_FILE
    except OSError as error:
        why = (error.strerror or "it can't be read").lower()
        print(f"provisioner: the configuration file {config} can't be read: {why}", file=sys.stderr)
        return EXIT_NO_FILE
    found = read_settings(text, file=str(config), folder=str(config.absolute().parent))
    if isinstance(found, Faults):
        print(found, file=sys.stderr)
        return EXIT_FAULTY_FILE
    return found


def exit_status(refusal: Refusal) -> int:
    """The documented exit status of one refusal."""
    match refusal:
        case FactsInUse():
            return EXIT_IN_USE
        case FactsCorrupt() | FactsNewer() | FactsOfOtherCluster():
            return EXIT_FOREIGN_FACTS
        case FactsUnreachable() | FactsSilent() | FactsError():
            return EXIT_NO_FACTS
        case DoorRefused():
            return EXIT_NO_DOOR
        case StillNeeded():
            return EXIT_STILL_NEEDED


def _leaves(group: BaseExceptionGroup[E_]) -> list[E_]:
    found: list[E_] = []
    for inner in group.exceptions:
        found += _leaves(inner) if isinstance(inner, BaseExceptionGroup) else [inner]
    return found
