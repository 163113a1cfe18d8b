"""Who is examined: the command, its configuration, and what may be bought of it.

Alone responsible for the subject file. Starts nothing.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen

_KEYS: Final = frozenset(
    {"config", "template", "units", "others", "env", "bad_config", "slow_config", "settle_s", "sequences"}
)


class SubjectFault(Exception):
    """The subject file or the command is no use; the text says why."""


@frozen
class Subject:
    """One provider under examination.

    `template` and `units` (default: the first described, its least number) are what is bought again and again,
    `others` what may be bought besides. With `slow_config` instead of `config` a request takes 15 s or more, with
    `bad_config` the handshake is refused. A purchase or a return is waited for `settle_s` seconds.
    """

    command: tuple[str, ...]
    config: Mapping[str, object] = Factory(dict)
    template: str | None = None
    units: int | None = None
    others: tuple[str, ...] = ()
    env: Mapping[str, str] = Factory(dict)
    bad_config: Mapping[str, object] | None = None
    slow_config: Mapping[str, object] | None = None
    settle_s: float = 30.0
    sequences: int = 6


def read_subject(command: tuple[str, ...], file: Path | None, environ: Mapping[str, str]) -> Subject:
    """Return the subject of a command and its file (JSON); raises SubjectFault with a sentence."""
    if not command:
        raise SubjectFault("no command: write it after --")
    stated = {} if file is None else _read(file)
    unknown = sorted(set(stated) - _KEYS)
    if unknown:
        raise SubjectFault(f"{file}: unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
    for key, wanted in _TYPES.items():
        if key in stated and not isinstance(stated[key], wanted):
            raise SubjectFault(f"{file}: {key!r} has the wrong type")
    names = stated.pop("env", [])
    missing = [name for name in names if name not in environ]
    if missing:
        raise SubjectFault(f"{file}: the environment lacks {', '.join(missing)}")
    others = tuple(stated.pop("others", ()))
    return Subject(_absolute(command), others=others, env={name: environ[name] for name in names}, **stated)


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "config": dict,
    "template": str,
    "units": int,
    "others": list,
    "env": list,
    "bad_config": dict,
    "slow_config": dict,
    "settle_s": (int, float),
    "sequences": int,
}


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SubjectFault(f"{file} can't be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise SubjectFault(f"{file} is not JSON") from problem
    if not isinstance(found, dict):
        raise SubjectFault(f"{file} is no JSON object")
    return found


def _absolute(command: tuple[str, ...]) -> tuple[str, ...]:
    """Make the program, and arguments that name files here, independent of the folder the process is started in."""
    program = shutil.which(command[0])
    first = command[0] if program is None else str(Path(program).absolute())
    return (first, *(str(Path(word).absolute()) if _names_a_file(word) else word for word in command[1:]))


def _names_a_file(word: str) -> bool:
    return ("/" in word or "." in word) and Path(word).is_file()
