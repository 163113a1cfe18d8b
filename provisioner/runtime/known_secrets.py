"""Knows what a provider was given that must never be shown, so that it can be hidden wherever it turns up.

It alone reads credential files, for that purpose only; it keeps no value but in Hidden, and shows none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio

from provisioner.edge.redaction import Hidden, secrets_in_file
from provisioner.runtime.credentials import CREDENTIALS_DIRECTORY

__all__ = ["given_secrets", "keep_learning"]

_FILE_MOST_BYTES: Final = 262_144
_LOOK_AGAIN_S: Final = 60.0


def given_secrets(
    env_names: Sequence[str], files: Sequence[str], inherited: Mapping[str, str], config: Sequence[str] = ()
) -> Hidden:
    """The values of these variables, what stands in these credential files, and what the configuration holds of it."""
    hidden = Hidden([*(inherited[name] for name in env_names if name in inherited), *config])
    for path in _paths(files, inherited):
        hidden.learn(_in_file(path))
    return hidden


async def keep_learning(hidden: Hidden, files: Sequence[str], inherited: Mapping[str, str]) -> None:
    """For ever: learns what a credential file holds once it is replaced; a provider reads it again by itself (SC-1)."""
    seen = {path: _stamp(path) for path in _paths(files, inherited)}
    while seen:
        await trio.sleep(_LOOK_AGAIN_S)
        for path, before in seen.items():
            if (now := _stamp(path)) != before:
                seen[path] = now
                hidden.learn(_in_file(path))


def _paths(files: Sequence[str], inherited: Mapping[str, str]) -> list[Path]:
    folder = inherited.get(CREDENTIALS_DIRECTORY)
    return [Path(folder, name) for name in files] if folder else []


def _in_file(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # the provider is told so itself, in its own words
        return []
    return list(secrets_in_file(text))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_ino)
