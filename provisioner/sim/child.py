"""Runs our own programs as children of a play: the daemon for as long as it lasts, and small ones to their end.

It alone knows how these are started, heard and ended; it must not know what they are for.
"""

import os
import shutil
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio
from attrs import define, field

import provisioner
from provisioner.runtime import proc_table
from provisioner.runtime.pipes import ReadStream
from provisioner.runtime.spawn import Child, ExitStatus, spawn
from provisioner.runtime.subreaper import become_subreaper

__all__ = ["Daemon", "ToolFailed", "leftover_children", "run_module", "running_daemon"]

ROOT: Final = Path(provisioner.__file__).resolve().parents[1]
"""Where our packages lie: children start there, so that they find the same code without being installed."""

_CHUNK: Final = 65_536
_TAIL_LINES: Final = 200
_ROUND_S: Final = 0.05


class ToolFailed(Exception):
    """A small program of ours did not do its work; the text is a sentence."""


@define(eq=False)
class Daemon:
    """The running daemon: the end of its log, and how it ended once it did."""

    child: Child
    log: deque[str] = field(factory=lambda: deque(maxlen=_TAIL_LINES))
    ended: trio.Event = field(factory=trio.Event)
    status: ExitStatus | None = None

    @property
    def last_words(self) -> str:
        """The last lines of its log."""
        return "\n".join(list(self.log)[-8:])


@asynccontextmanager
async def running_daemon(config: Path, *, stop_within_s: float = 40.0) -> AsyncIterator[Daemon]:
    """The daemon on a configuration file; at the block's end it is ended in order, by force if that takes too long.

    Its children fall to this process if it does not end them, and are ended too.
    """
    become_subreaper()
    argv = [*_dies_with_us(), *_argv("provisioner", "run", "-c", str(config))]
    daemon = Daemon(spawn(argv, dict(os.environ), str(ROOT)))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_drain, daemon.child.stdout, daemon.log)
        nursery.start_soon(_drain, daemon.child.stderr, daemon.log)
        nursery.start_soon(_watch, daemon)
        try:
            yield daemon
        finally:
            with trio.CancelScope(shield=True):
                await _end(daemon, stop_within_s)
            nursery.cancel_scope.cancel()


async def run_module(*words: str, within_s: float = 30.0) -> str:
    """What `python -m WORDS` printed; raises ToolFailed."""
    child = spawn(_argv(*words), dict(os.environ), str(ROOT))
    child.stdin.close()
    printed: list[bytes] = []
    said: deque[str] = deque(maxlen=_TAIL_LINES)
    try:
        with trio.move_on_after(within_s) as bound:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_collect, child.stdout, printed)
                nursery.start_soon(_drain, child.stderr, said)
            await child.wait_exit()
    finally:
        with trio.CancelScope(shield=True):
            child.signal_group(signal.SIGKILL)
            status = await child.wait_exit()
            await child.close_pipes()
    if bound.cancelled_caught:
        raise ToolFailed(f"python -m {' '.join(words)} did not end within {within_s:.0f} s")
    if status.code != 0:
        raise ToolFailed(f"python -m {' '.join(words)}: {status}. {' '.join(said)}")
    return b"".join(printed).decode("utf-8", "replace")


async def leftover_children(*, within_s: float = 5.0) -> list[int]:
    """Processes that fell to this one and still run after `within_s`; they are killed, and named here."""
    found: set[int] = set()
    deadline_s = trio.current_time() + within_s
    while left := _living_children():
        if trio.current_time() > deadline_s:
            found |= left
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # unreaped children of ours: their ids can't be another's
        await trio.sleep(_ROUND_S)
    return sorted(found)


def _argv(*words: str) -> Sequence[str]:
    return [sys.executable, "-m", *words]


def _dies_with_us() -> list[str]:
    """What has the kernel end a child should this process be killed; nothing where util-linux is missing.

    The signal follows the death of the thread that spawns, so that this must be the main thread.
    """
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "TERM", "--"]


def _living_children() -> set[int]:
    """Children outside our own session that are not dead; dead ones are reaped."""
    ours = os.getsid(0)
    return {c.pid for c in proc_table.children_of_this_process() if c.session != ours and not _is_reaped(c.pid)}


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True


async def _drain(stream: ReadStream, into: deque[str]) -> None:
    rest = b""
    while data := await stream.receive_some(_CHUNK):
        *lines, rest = (rest + data).split(b"\n")
        rest = rest[-_CHUNK:]
        into.extend(line.decode("utf-8", "replace") for line in lines)
    if rest:
        into.append(rest.decode("utf-8", "replace"))


async def _collect(stream: ReadStream, into: list[bytes]) -> None:
    while data := await stream.receive_some(_CHUNK):
        into.append(bytes(data))


async def _watch(daemon: Daemon) -> None:
    daemon.status = await daemon.child.wait_exit()
    daemon.ended.set()


async def _end(daemon: Daemon, within_s: float) -> None:
    daemon.child.signal_group(signal.SIGTERM)
    with trio.move_on_after(within_s):
        await daemon.ended.wait()
    daemon.child.signal_group(signal.SIGKILL)
    await daemon.child.wait_exit()
    await daemon.child.close_pipes()
