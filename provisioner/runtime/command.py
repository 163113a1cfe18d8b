"""Finds and checks what is to be executed, so that a wrong command is one clear sentence and no exit status.

It alone knows PATH look-up, interpreters and the detour by env; it starts nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

__all__ = ["SpawnRefused", "command_in_folder"]

_SHEBANG_BYTES = 256


class SpawnRefused(Exception):
    """The process can't be started; the text is one sentence for the operator, without any secret."""


def command_in_folder(argv: Sequence[str], path: str, cwd: str) -> list[str]:
    """The full command that runs `argv` in folder `cwd`; `argv[0]` is looked up on `path` if it has no slash.

    Raises SpawnRefused if program, interpreter or folder are missing or not permitted: after the start the same
    would only be exit status 127 or 125 and a line on stderr.
    """
    program = _find(argv, path)
    _check_program(program)
    _check_interpreter(program)
    _check_folder(Path(cwd))
    # posix_spawn has no working folder of its own; env changes it after the start (coreutils 8.28 and later).
    return [_env_program(), "-C", cwd, str(program), *argv[1:]]


def _find(argv: Sequence[str], path: str) -> Path:
    if not argv or not argv[0]:
        raise SpawnRefused("the command is empty")
    if "/" in argv[0]:
        return Path(argv[0]).absolute()
    found = shutil.which(argv[0], path=path)
    if found is None:
        raise SpawnRefused(f"the program {argv[0]} is not on the provider's PATH ({path})")
    return Path(found).absolute()


def _check_program(program: Path) -> None:
    try:
        if not program.exists():
            raise SpawnRefused(f"the program {program} does not exist")
    except PermissionError:
        raise SpawnRefused(f"the program {program} lies in a folder that may not be entered") from None
    except OSError as error:
        raise SpawnRefused(f"the program {program} can't be looked at ({error.strerror})") from None
    if not program.is_file():
        raise SpawnRefused(f"the program {program} is not a file")
    if not os.access(program, os.X_OK):
        raise SpawnRefused(f"the program {program} may not be executed by this user")
    if "=" in str(program):
        raise SpawnRefused(f"the program {program} has an equals sign in its path, which env reads as a variable")


def _check_interpreter(program: Path) -> None:
    try:
        with program.open("rb") as text:
            first = text.read(_SHEBANG_BYTES).split(b"\n", 1)[0]
    except PermissionError:  # executable and not readable is legal
        return
    words = first[2:].split() if first.startswith(b"#!") else []
    interpreter = os.fsdecode(words[0]) if words else None
    if interpreter is not None and not os.access(interpreter, os.X_OK):
        raise SpawnRefused(
            f"the program {program} names an interpreter that does not exist or may not be executed by this user "
            f"({interpreter})"
        )


def _check_folder(folder: Path) -> None:
    if not folder.is_absolute():
        raise SpawnRefused(f"the working folder {folder} is not an absolute path")
    if not folder.is_dir():
        raise SpawnRefused(f"the working folder {folder} does not exist or is not a folder")
    if not os.access(folder, os.X_OK):
        raise SpawnRefused(f"the working folder {folder} may not be entered by this user")


def _env_program() -> str:
    found = shutil.which("env", path=os.defpath)
    if found is None:
        raise SpawnRefused("the program env of coreutils was not found, and it sets a provider's working folder")
    return found
