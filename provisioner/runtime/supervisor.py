"""One incarnation of a provider's process: started, kept drained and asked, ended by the ladder, its calls settled.

It alone knows all tasks of a process and why it ends. It decides nothing about starting again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import trio

from provisioner.edge.redaction import Hidden
from provisioner.runtime.black_box import BlackBox
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.conversation import Conversation
from provisioner.runtime.credentials import hand_on_files
from provisioner.runtime.environment import build_environment
from provisioner.runtime.known_secrets import given_secrets, keep_learning
from provisioner.runtime.memory_limit import UNLIMITED, MemoryLimit, hold_to_memory
from provisioner.runtime.pinging import keep_pinging
from provisioner.runtime.provider_output import StdoutReader, drain_stderr
from provisioner.runtime.spawn import ExitStatus, one_at_a_time, spawn
from provisioner.runtime.stderr_tail import StderrTail
from provisioner.runtime.stop_ladder import ChildProcess, end_by_steps, say_goodbye
from provisioner.runtime.subreaper import Escapees, end_escapees
from provisioner.runtime.supervision import (
    BeforeWrite,
    EndCause,
    Ended,
    EndKind,
    Log,
    Outcome,
    ProcessIdentity,
    ProcessSpec,
    Reporter,
    Unwritten,
    kind_of_end,
)

__all__ = ["ProviderProcess", "open_process"]

_PRIVATE = 0o700
_TAIL_LINE = 64
"""At least so many bytes are counted for each line of the tail, also for empty ones."""


async def open_process(
    spec: ProcessSpec, nursery: trio.Nursery, report: Reporter, *, log: Log, environ: Mapping[str, str] | None = None
) -> ProviderProcess:
    """Starts the process and its supervision in `nursery`; nothing is written to it yet.

    Raises SpawnRefused with a sentence. When the nursery is cancelled the process is ended by the ladder first.
    `environ` is where named variables come from (default: the daemon's own). `log` should be bound to the provider.
    """
    inherited = os.environ if environ is None else environ
    async with one_at_a_time():
        env = _prepared(spec, inherited)
        hidden = given_secrets(spec.env_names, spec.credential_files, inherited, spec.config_secrets)
        child = spawn(spec.argv, env, spec.run_dir)
        # From here to the task's own shield there is no checkpoint: the child can't be left without a supervisor.
        memory = hold_to_memory(spec, child.pid, log)
        process = ProviderProcess(spec, child, report, log, hidden=hidden, memory=memory)
        if spec.credential_files:
            process.learns_from(inherited)
        await nursery.start(process.run)
    return process


def _prepared(spec: ProcessSpec, inherited: Mapping[str, str]) -> dict[str, str]:
    """Makes the folders; the environment."""
    tmp_dir = Path(spec.run_dir) / "tmp"
    _make_folders(Path(spec.run_dir), tmp_dir, Path(spec.state_dir))
    if spec.credentials_dir is not None:
        hand_on_files(spec.credential_files, inherited, Path(spec.credentials_dir))
    return build_environment(
        inherited,
        tmp_dir=str(tmp_dir),
        marker=spec.marker,
        names=spec.env_names,
        credentials_dir=spec.credentials_dir,
        program_dir=spec.program_dir,
    )


def _make_folders(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        except OSError as why:
            raise SpawnRefused(f"the folder {folder} can't be made: {os.strerror(why.errno or 0)}") from why


class ProviderProcess:
    """A running provider process, from `run` to `ended`."""

    _conversation: Conversation
    _reader: StdoutReader

    def __init__(
        self,
        spec: ProcessSpec,
        child: ChildProcess,
        report: Reporter,
        log: Log,
        *,
        hidden: Hidden | None = None,
        memory: MemoryLimit = UNLIMITED,
    ) -> None:
        self.ended: Ended | None = None
        self.identity = ProcessIdentity(child.pid, child.start_ticks, child.boot_id, spec.marker)
        self._spec = spec
        self._child = child
        self._report = report
        self._log = log
        self._memory = memory
        self._hidden = Hidden() if hidden is None else hidden
        self._learns_from: Mapping[str, str] = {}
        self._tail = StderrTail(lines=spec.tail_bytes // _TAIL_LINE, total_bytes=spec.tail_bytes, hidden=self._hidden)
        self._box = _black_box(spec, self._hidden, log)
        self._is_orderly = True
        self._reason: str | None = None
        self._cause = EndCause.BY_ITSELF
        self._status: ExitStatus | None = None
        self._escapees = Escapees((), ())
        self._ready = trio.Event()
        self._end_wanted = trio.Event()
        self._exited = trio.Event()
        self._stdout_over = trio.Event()
        self._stderr_over = trio.Event()
        self._over = trio.Event()

    def learns_from(self, inherited: Mapping[str, str]) -> None:
        """Before `run`: what its credential files hold later is hidden too; `inherited` says where they are."""
        self._learns_from = inherited

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines of stderr, safe to show."""
        return self._tail.lines

    @property
    def last_words(self) -> tuple[int, tuple[str, ...]]:
        """The number of the first line of stderr that is kept, and the lines; an unfinished one only after the end."""
        first, lines = self._tail.finished
        return first, self._tail.lines if self.ended is not None else lines

    @property
    def counts(self) -> Mapping[str, int]:
        """How often something was dropped: junk, unknown_id, late, early, requests, replies_dropped."""
        return self._conversation.peer.counts

    @property
    def memory_by(self) -> str:
        """What holds it to its memory: `cgroup`, `rlimit` or `none`."""
        return self._memory.by

    @property
    def has_free_slot(self) -> bool:
        """Whether a call would be written at once."""
        return self._conversation.has_free_slot and not self._end_wanted.is_set()

    def handshake_done(self, in_flight: int) -> None:
        """`initialize` was answered: other calls are let through, `in_flight` or the operator's bound at once."""
        self._ready.set()
        self._reader.listening = True
        self._conversation.grow(min(in_flight, self._spec.calls))

    async def call(
        self,
        method: str,
        params: dict[str, object],
        timeout_s: float,
        *,
        before_write: BeforeWrite | None = None,
        on_written: Callable[[], None] | None = None,
    ) -> Outcome:
        """One call and what became of it; bounds and cancellation as Conversation.call says.

        A call past its deadline and grace ends the process, so that every frame closes.
        """
        if not self._ready.is_set() and method != "initialize":
            return Unwritten("the handshake is not over")
        return await self._conversation.call(
            method, params, timeout_s, before_write=before_write, on_written=on_written
        )

    async def stop(self, reason: str, *, orderly: bool = True) -> Ended:
        """Ends the process by the ladder and returns how; `orderly` False leaves out `shutdown` (a lost lease).

        The ladder runs to its end also when this wait is cancelled, and is bounded by the graces of the spec.
        """
        self._is_orderly = self._is_orderly and orderly
        self._want_end(reason, EndCause.ASKED)
        return await self.wait_ended()

    async def wait_ended(self) -> Ended:
        """How it ended, once all is settled."""
        await self._over.wait()
        assert self.ended is not None  # noqa: S101  set before the event
        return self.ended

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """The whole life; cancelled, it still ends the process by the ladder before it returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._live, task_status)
            try:
                await self._over.wait()
            finally:
                self._want_end("the daemon is stopping", EndCause.ASKED)
        if self.ended is not None:
            await self._report(self.ended)

    async def _live(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope(shield=True):
            try:
                async with trio.open_nursery() as tasks:
                    self._begin(tasks)
                    task_status.started()
                    await self._end_wanted.wait()
                    await self._wind_down()
                    tasks.cancel_scope.cancel()
            finally:
                await self._make_sure_of_the_end()
            await self._finish()

    def _begin(self, tasks: trio.Nursery) -> None:
        self._conversation = Conversation(
            self._child.stdin,
            tasks,
            self._break_off,
            cancel_grace_s=self._spec.cancel_grace_s,
            told=None if self._box is None else self._box.told,
        )
        self._reader = StdoutReader(
            self._child.stdout,
            self._conversation,
            frame_bytes=self._spec.frame_bytes,
            report=self._report,
            log=self._log,
            break_off=self._break_off,
            heard=None if self._box is None else self._box.heard,
            hidden=self._hidden,
        )
        if self._box is not None:
            self._box.note(f"process {self._child.pid} started")
        tasks.start_soon(self._watch_exit)
        tasks.start_soon(self._read_stdout)
        tasks.start_soon(self._drain_stderr)
        tasks.start_soon(self._keep_pinging)
        tasks.start_soon(keep_learning, self._hidden, self._spec.credential_files, self._learns_from)

    async def _watch_exit(self) -> None:
        self._status = await self._child.wait_exit()
        self._exited.set()
        why = self._memory.why_ended()
        reason = f"the process ended by itself: {self._status}" if why is None else f"{why}: {self._status}"
        self._want_end(reason, EndCause.BY_ITSELF)

    async def _read_stdout(self) -> None:
        await self._reader.run()
        self._stdout_over.set()
        # The usual cause is its exit, which is the better reason; what is open is settled within the second anyhow.
        with trio.move_on_after(self._spec.graces.last_output_s):
            await self._exited.wait()
        self._break_off("the provider closed its stdout")
        self._conversation.settle_all(self._why_lost(), ordered=self._cause is EndCause.ASKED)

    async def _drain_stderr(self) -> None:
        await drain_stderr(self._child.stderr, self._tail, self._log, lines_s=self._spec.stderr_rate)
        self._stderr_over.set()

    async def _keep_pinging(self) -> None:
        await self._ready.wait()
        await keep_pinging(
            self._conversation, self._spec.pings, lambda: self._reader.heard_at, self._report, self._break_off
        )

    def _close_box(self, text: str) -> None:
        if self._box is not None:
            self._box.heard_all()
            self._box.note(text)
            self._box.close()

    def _want_end(self, reason: str, cause: EndCause) -> None:
        if not self._end_wanted.is_set():
            self._reason, self._cause = reason, cause
            self._end_wanted.set()

    def _break_off(self, reason: str) -> None:
        self._want_end(reason, EndCause.BROKEN_OFF)

    def _why_lost(self) -> str:
        by_itself = self._cause is EndCause.BY_ITSELF
        return str(self._reason) if by_itself or self._status is None else f"{self._reason} ({self._status})"

    async def _wind_down(self) -> None:
        graces = self._spec.graces
        self._conversation.close(f"no new calls: {self._reason}")
        said_goodbye = await say_goodbye(
            self._conversation,
            given_up_at=(self._exited, self._stdout_over),
            shutdown_s=graces.shutdown_s if self._is_orderly else None,
            is_ready=self._ready.is_set(),
        )
        await end_by_steps(self._child, self._exited, graces, self._log, said_goodbye=said_goodbye)
        with trio.move_on_after(graces.last_output_s):
            await self._stdout_over.wait()
            await self._stderr_over.wait()

    async def _make_sure_of_the_end(self) -> None:
        """Nothing is left running or unsettled, also when a fault of our own broke the life off."""
        if self._status is None:
            self._child.signal_group(signal.SIGKILL)
            with trio.move_on_after(self._spec.graces.kill_s):
                self._status = await self._child.wait_exit()
        self._conversation.settle_all(self._why_lost(), ordered=self._cause is EndCause.ASKED)
        await self._child.close_pipes()

    async def _finish(self) -> None:
        graces = self._spec.graces
        if self._status is not None:
            self._escapees = await end_escapees(self._spec.marker, grace_s=graces.term_s, kill_wait_s=graces.kill_s)
            self._escapees = self._escapees.with_left(await self._memory.lift(within_s=graces.kill_s))
        if self._escapees.ended or self._escapees.left:
            self._log.warning("provider_left_processes", ended=self._escapees.ended, left=self._escapees.left)
        self.ended = Ended(
            identity=self.identity,
            status=self._status,
            kind=kind_of_end(self._status, self._cause),
            reason=str(self._reason),
            stderr_tail=self._tail.lines,
            escapees=self._escapees,
        )
        tell = self._log.info if self.ended.kind is EndKind.ORDERLY else self._log.warning
        self._close_box(f"process {self._child.pid} ended ({self.ended.kind.value}): {self._why_lost()}")
        tell("provider_ended", reason=self._reason, status=str(self._status), kind=self.ended.kind.value)
        self._over.set()


def _black_box(spec: ProcessSpec, hidden: Hidden, log: Log) -> BlackBox | None:
    if spec.blackbox_dir is None or spec.blackbox_bytes is None:
        return None
    folder = Path(spec.blackbox_dir)
    return BlackBox(folder, most_bytes=spec.blackbox_bytes, number=spec.number, hidden=hidden, log=log)
