"""The exit codes of the commands that ask a running daemon, and how a command ends before its time.

It alone knows what each code means; those of `run` are run.py's. docs/reference/cli.md lists them all.
"""

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """What a script may rely on."""

    OK = 0
    NO = 1
    """The answer is no: degraded, there is no such thing, or the file that was checked has faults."""
    USAGE = 2
    """The command line is wrong, or a file it names can't be used."""
    UNREACHABLE = 3
    """No daemon answers, or it can't answer now (503): the same command may succeed later."""
    REFUSED = 4
    """The daemon refused what was asked of it."""


class CommandEnds(Exception):
    """The command ends here: its exit code, the sentence for people, and the daemon's own error for `--json`."""

    def __init__(self, code: Exit, sentence: str, error: Mapping[str, object] | None = None) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.error: Mapping[str, object] = (
            error if error is not None else {"code": code.name.lower(), "message": sentence}
        )
