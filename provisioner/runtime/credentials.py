"""Lays out for a provider the credential files it is to see: links to the named ones in a private folder, no others.

It alone knows where the daemon's own credential files are; it opens none of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioner.runtime.command import SpawnRefused

__all__ = ["hand_on_files", "missing_files"]

CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"
_PRIVATE = 0o700


def missing_files(names: Sequence[str], inherited: Mapping[str, str]) -> str | None:
    """Why not all of these credential files can be handed on, as one sentence; None if they can."""
    folder = inherited.get(CREDENTIALS_DIRECTORY)
    if not names:
        return None
    if not folder:
        return f"the daemon has no {CREDENTIALS_DIRECTORY} to find {', '.join(names)} in; start it with LoadCredential="
    absent = [name for name in names if not Path(folder, name).is_file()]
    return f"the credential files {', '.join(absent)} are not in {folder}; add them there" if absent else None


def hand_on_files(names: Sequence[str], inherited: Mapping[str, str], folder: Path) -> None:
    """Makes `folder` anew with links to these files alone, so that one replaced later is seen; or SpawnRefused."""
    why = missing_files(names, inherited)
    if why is not None:
        raise SpawnRefused(why)
    source = Path(inherited.get(CREDENTIALS_DIRECTORY, "")).absolute()
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=_PRIVATE, parents=True)
        for name in names:
            (folder / name).symlink_to(source / name)
    except OSError as error:
        raise SpawnRefused(f"the folder {folder} can't be made: {os.strerror(error.errno or 0)}") from error
