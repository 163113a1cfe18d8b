"""Starts one child process by posix_spawn and watches it through its pidfd; no fork of the daemon ever happens here.

It alone knows descriptors, sessions and exit statuses. It must not know what the child says or why it runs.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

import trio
from attrs import define, field, frozen

from provisioner.runtime import proc_table
from provisioner.runtime.command import SpawnRefused, command_in_folder
from provisioner.runtime.pipes import PipeSink, PipeSource

__all__ = ["Child", "ExitStatus", "SpawnRefused", "leaders", "one_at_a_time", "prepare_descriptors", "spawn"]

_STANDARD = 3
"""Descriptors 0 to 2 are the child's; ours must lie above, or one would be overwritten before it is copied."""


_LEADERS: Final = trio.lowlevel.RunVar[set[int]]("leaders")


_STARTS: Final = trio.lowlevel.RunVar[trio.Lock]("starts")


def one_at_a_time() -> trio.Lock:
    """The turn to start a child: fifty that fall due at once would hold everything else up for fifty starts."""
    try:
        return _STARTS.get()
    except LookupError:
        _STARTS.set(trio.Lock())
        return _STARTS.get()


def leaders() -> set[int]:
    """The children that were spawned in this trio run and are not reaped: those among all children that have a waiter.

    Kept with the run, not handed around: whoever looks for adopted processes must know all leaders, and to ask the
    kernel about a thousand of them each time one ends would hold everything up.
    """
    try:
        return _LEADERS.get()
    except LookupError:
        _LEADERS.set(set())
        return _LEADERS.get()


@frozen
class ExitStatus:
    """How a process ended: by itself with `code`, or by `signal`; exactly one is set."""

    code: int | None
    signal: int | None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"ended by signal {self.signal} ({_signal_name(self.signal)})"
        return f"exit status {self.code}"


@define(eq=False)
class Child:
    """A running child, leader of its own session and group, and our ends of its pipes."""

    pid: int
    start_ticks: int
    boot_id: str
    stdin: PipeSink
    stdout: PipeSource
    stderr: trio.lowlevel.FdStream
    _pidfd: int
    _status: ExitStatus | None = None
    _waiting: trio.Lock = field(factory=trio.Lock)

    async def wait_exit(self) -> ExitStatus:
        """How it ended, once it did: its group is killed, then it is reaped; end-of-file on a pipe plays no part.

        Any number of tasks may wait, also afterwards; a cancelled wait changes nothing.
        """
        async with self._waiting:
            if self._status is None:
                await trio.lowlevel.wait_readable(self._pidfd)
                self._status = self._reap()
        return self._status

    def signal_group(self, number: signal.Signals) -> bool:
        """Sends `number` to the whole group; False once the leader is reaped, since its id may be another's then."""
        if self._status is not None:
            return False
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    async def close_pipes(self) -> None:
        """Closes our three ends."""
        self.stdin.close()
        await self.stdout.aclose()
        await self.stderr.aclose()

    def _reap(self) -> ExitStatus:
        # While the dead leader is unreaped its pid stays taken, so the group's id can't have become another's.
        os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT)
        self.signal_group(signal.SIGKILL)
        result = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED)
        leaders().discard(self.pid)
        os.close(self._pidfd)
        assert result is not None  # noqa: S101  only WNOHANG may give nothing
        if result.si_code == os.CLD_EXITED:
            return ExitStatus(code=result.si_status, signal=None)
        return ExitStatus(code=None, signal=result.si_status)


def spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> Child:
    """Starts `argv` in folder `cwd` with exactly `env`, in its own session, with default signals and an empty mask.

    All three standard descriptors are pipes, nothing else is inherited. `argv[0]` is looked up on env's PATH if it
    has no slash. Raises SpawnRefused with a sentence. Blocks for about 0.2 ms, until the child's exec.
    """
    command = command_in_folder(argv, env.get("PATH", os.defpath), cwd)
    with ExitStack() as undo:
        try:
            child_in, our_in = _pipe(undo)
            our_out, child_out = _pipe(undo)
            our_err, child_err = _pipe(undo)
            pid = _start(command, env, (child_in, child_out, child_err))
            pidfd, start_ticks, boot = _watch(pid)
        except (OSError, ValueError) as why:
            raise SpawnRefused(f"{argv[0]} could not be started: {_reason(why)}") from why
        undo.pop_all()
    leaders().add(pid)
    for fd in (child_in, child_out, child_err):
        os.close(fd)
    return Child(
        pid=pid,
        start_ticks=start_ticks,
        boot_id=boot,
        stdin=PipeSink(our_in),
        stdout=PipeSource(our_out),
        stderr=trio.lowlevel.FdStream(our_err),
        pidfd=pidfd,
    )


def prepare_descriptors() -> None:
    """At start-up: opens 0 to 2 where closed, and keeps whatever else the daemon inherited from its children."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < _STANDARD:
        os.set_inheritable(fd, True)
    os.close(fd)
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= _STANDARD:
            try:
                os.set_inheritable(int(name), False)
            except OSError:  # the descriptor of this very listing, closed by now
                continue


def _start(command: list[str], env: Mapping[str, str], pipes: Sequence[int]) -> int:
    return os.posix_spawn(
        command[0],
        command,
        dict(env),
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(pipes)],
        setsid=True,
        setsigmask=[],
        # Python ignores SIGPIPE and SIGXFSZ, and what is ignored stays so over exec.
        setsigdef=signal.valid_signals(),
    )


def _watch(pid: int) -> tuple[int, int, str]:
    try:
        boot = proc_table.boot_id()
        entry = proc_table.read_entry(pid)
        assert entry is not None  # noqa: S101  our own child, not reaped yet
        return os.pidfd_open(pid), entry.start_ticks, boot  # a pidfd is never inheritable
    except OSError:  # no descriptors left: a child that can't be watched must not run
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _pipe(undo: ExitStack) -> tuple[int, int]:
    ends = []
    for fd in os.pipe2(os.O_CLOEXEC):
        if fd < _STANDARD:
            low, fd = fd, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STANDARD)  # noqa: PLW2901
            os.close(low)
        undo.callback(os.close, fd)
        ends.append(fd)
    return ends[0], ends[1]


def _reason(why: OSError | ValueError) -> str:
    return os.strerror(why.errno) if isinstance(why, OSError) and why.errno is not None else "an argument is not valid"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return "real-time"
