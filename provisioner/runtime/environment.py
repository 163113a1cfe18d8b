"""Builds the environment a provider is started with: an allow-list, never a copy of the daemon's own.

It alone knows the names of the contract's start (section 2); it never prints a value, some are secrets.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from provisioner.runtime.command import SpawnRefused

__all__ = ["MARKER_NAME", "build_environment", "marker_variable"]

MARKER_NAME = "PROVISIONER_PROCESS"
_FIXED = {"LANG": "C.UTF-8", "TZ": "UTC", "PROVISIONER_CONTRACT": "2"}
_OURS = frozenset({*_FIXED, MARKER_NAME, "TMPDIR", "CREDENTIALS_DIRECTORY"})


def marker_variable(marker: str) -> str:
    """The environment entry by which a process of this incarnation is known again after it left its session."""
    return f"{MARKER_NAME}={marker}"


def build_environment(
    inherited: Mapping[str, str],
    *,
    tmp_dir: str,
    marker: str,
    names: Sequence[str] = (),
    credentials_dir: str | None = None,
    program_dir: str | None = None,
) -> dict[str, str]:
    """The whole environment of a provider: PATH, the contract's variables, and those of `names` from `inherited`.

    `program_dir` stands first on PATH (providers installed beside the daemon). HOME is passed only if it is named:
    a cloud's library would read the daemon user's own credentials from there. Raises SpawnRefused for a name that
    the daemon does not have or that the contract sets itself.
    """
    for name in names:
        if name in _OURS:
            raise SpawnRefused(f"the variable {name} is set by the daemon itself; take it off the list")
        if name not in inherited:
            raise SpawnRefused(f"the variable {name} is listed for this provider but the daemon's environment lacks it")
    path = inherited.get("PATH") or os.defpath
    environment = {"PATH": path if program_dir is None else f"{program_dir}{os.pathsep}{path}"}
    environment.update((name, inherited[name]) for name in names if name != "PATH")
    environment.update(_FIXED)
    environment[MARKER_NAME] = marker
    environment["TMPDIR"] = tmp_dir
    if credentials_dir is not None:
        environment["CREDENTIALS_DIRECTORY"] = credentials_dir
    return environment
