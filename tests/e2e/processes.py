"""Which processes belong to a daemon under test: those whose environment names its folder."""

import contextlib
import os
import signal
from pathlib import Path

from tests.e2e.waiting import wait_until

MARK = "E2E_FOLDER"
"""Set to its folder for the daemon itself; a provider is known by TMPDIR, which lies in that folder."""


def belonging_to(folder: Path) -> list[int]:
    """Living processes that were started for this folder, in whatever session they are."""
    wanted = os.fsencode(folder)
    return [pid for pid in _every_pid() if wanted in _environment(pid)]


def end_all(folder: Path) -> None:
    """Kills what is left of them, so that no test leaves anything behind."""

    def none_left() -> bool:
        left = belonging_to(folder)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    wait_until("everything started for the test is dead", none_left)


def _every_pid() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
