"""One process of the subject: how it is started, killed and reaped, and the tail of what it says on stderr.

Alone responsible for the operating system's side. Knows no frame.
"""

import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from provider_sdk.testing.subject import Subject

READ_BYTES: Final = 65_536
TAIL_BYTES: Final = 16_384
REAP_S: Final = 5.0


class NotStarted(Exception):
    """The subject's program can't be executed; the text says why."""


class Process:
    """A running subject, leader of a group of its own; what it writes to stderr is read at all times."""

    def __init__(self, popen: trio.Process, nursery: trio.Nursery) -> None:
        """Take the process just started; its stderr is drained in the nursery."""
        self._popen = popen
        self._tail = bytearray()
        self.stderr_bytes = 0
        self.ended = trio.Event()
        nursery.start_soon(self._drain)
        nursery.start_soon(self._wait)

    @property
    def status(self) -> int | None:
        """Return the exit status, negative for a signal, None while it runs."""
        return self._popen.returncode

    @property
    def tail(self) -> str:
        """Return the last of what it said on stderr."""
        return self._tail.decode("utf-8", "replace")

    @property
    def stdout(self) -> trio.abc.ReceiveStream:
        """Return where its frames come from."""
        assert self._popen.stdout is not None  # noqa: S101 - started with a pipe
        return self._popen.stdout

    async def write(self, data: bytes) -> None:
        """Write bytes to its stdin; raises trio.BrokenResourceError if it reads no more."""
        assert self._popen.stdin is not None  # noqa: S101 - started with a pipe
        await self._popen.stdin.send_all(data)

    async def close_stdin(self) -> None:
        """End its input."""
        if self._popen.stdin is not None:
            await self._popen.stdin.aclose()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone, as the daemon's first word is."""
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(number)

    def give_room(self, file_bytes: int | None) -> bool:
        """Let no file it writes grow beyond this length, as if the disk were full; None: as it was; False if not."""
        try:
            _, most = resource.prlimit(self._popen.pid, resource.RLIMIT_FSIZE)
            stated = most if file_bytes is None else file_bytes
            resource.prlimit(self._popen.pid, resource.RLIMIT_FSIZE, (stated, most))
        except (ProcessLookupError, PermissionError):  # it has ended, or it runs as somebody else
            return False
        return True

    async def kill(self) -> None:
        """Kill the whole group and wait until the process is reaped and its pipes are closed."""
        with trio.CancelScope(shield=True):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            with trio.move_on_after(REAP_S):
                await self.ended.wait()
            for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
                if pipe is not None:
                    await pipe.aclose()

    async def wait_end(self, within_s: float) -> int | None:
        """Return the exit status, or None if it still runs after that time."""
        with trio.move_on_after(within_s):
            await self.ended.wait()
        return self.status

    async def _wait(self) -> None:
        await self._popen.wait()
        self.ended.set()

    async def _drain(self) -> None:
        assert self._popen.stderr is not None  # noqa: S101 - started with a pipe
        with contextlib.suppress(trio.ClosedResourceError, trio.BrokenResourceError):
            while data := await self._popen.stderr.receive_some(READ_BYTES):
                self.stderr_bytes += len(data)
                self._tail += data
                del self._tail[:-TAIL_BYTES]


async def start(subject: Subject, folder: Path, credentials: Path, nursery: trio.Nursery) -> Process:
    """Start the subject as the daemon does (§2): pipes, a private folder, an allow-listed environment, own group."""
    try:
        popen = await trio.lowlevel.open_process(
            list(subject.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(subject.env, folder, credentials),
            start_new_session=True,
        )
    except OSError as problem:
        raise NotStarted(f"{subject.command[0]} can't be started: {problem.strerror}") from problem
    return Process(popen, nursery)


async def run_by_hand(subject: Subject, folder: Path, terminal: int, within_s: float) -> tuple[int | None, str]:
    """Start the subject as a person does, stdin a terminal; its exit status (None: killed in the end) and words."""
    env = _environment(subject.env, folder, folder)
    del env["PROVISIONER_CONTRACT"], env["CREDENTIALS_DIRECTORY"]
    said = folder / "said"
    with said.open("wb") as output:
        popen = await trio.lowlevel.open_process(
            list(subject.command),
            stdin=terminal,
            stdout=output,
            stderr=output,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
    with trio.move_on_after(within_s):
        await popen.wait()
    status = popen.returncode
    if status is None:
        popen.kill()
        await popen.wait()
    return status, said.read_text(encoding="utf-8", errors="replace")


def _environment(own: Mapping[str, str], folder: Path, credentials: Path) -> dict[str, str]:
    scratch = folder / "tmp"
    scratch.mkdir(mode=0o700, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "TMPDIR": str(scratch),
        "PROVISIONER_CONTRACT": "2",
        "CREDENTIALS_DIRECTORY": str(credentials),
        **own,
    }
