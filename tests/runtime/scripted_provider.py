"""The far end of a provider's pipes in memory, driven by a test; stands in for an operating system process."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio
import trio.testing
from attrs import evolve

from provisioner.edge.redaction import Hidden
from provisioner.runtime.spawn import ExitStatus
from provisioner.runtime.supervision import Outcome, ProcessSpec, Report
from provisioner.runtime.supervisor import ProviderProcess

SPEC = ProcessSpec(provider="east", argv=("east",), marker="none-such", run_dir="/none", state_dir="/none")


class MemorySink:
    """A pipe of `room` bytes; the test reads the other end."""

    def __init__(self, room: int = 65536) -> None:
        self.room = room
        self.buffer = bytearray()
        self.closed = False
        self._changed = trio.Event()

    def write_now(self, data: memoryview) -> int:
        if self.closed:
            raise BrokenPipeError
        taken = max(0, min(len(data), self.room - len(self.buffer)))
        self.buffer += data[:taken]
        self._change()
        return taken

    async def wait_writable(self) -> None:
        await trio.lowlevel.checkpoint()
        while not self.closed and len(self.buffer) >= self.room:
            await self._changed.wait()

    def close(self) -> None:
        self.closed = True
        self._change()

    async def read_line(self) -> bytes | None:
        while b"\n" not in self.buffer:
            if self.closed:
                return None
            await self._changed.wait()
        line, _, rest = bytes(self.buffer).partition(b"\n")
        self.buffer[:] = rest
        self._change()
        return line

    def _change(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()


class MemoryChild:
    """A process in memory: ends on the signals it obeys, or when the test says so."""

    def __init__(self) -> None:
        self.pid, self.start_ticks, self.boot_id = 4711, 1, "boot"
        self.stdin = MemorySink()
        self.out, self.stdout = trio.testing.memory_stream_one_way_pair()
        self.err, self.stderr = trio.testing.memory_stream_one_way_pair()
        self.obeys: set[signal.Signals] = {signal.SIGKILL}
        self.exits_with_stdin: int | None = 0
        self.signals: list[tuple[float, str]] = []
        self.status: ExitStatus | None = None
        self._exited = trio.Event()

    def exit(self, code: int | None = 0, number: int | None = None) -> None:
        if self.status is None:
            self.status = ExitStatus(code, number)
            self.out.close()
            self.err.close()
            self._exited.set()

    async def wait_exit(self) -> ExitStatus:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._follow_stdin)
            await self._exited.wait()
            nursery.cancel_scope.cancel()
        assert self.status is not None
        return self.status

    async def _follow_stdin(self) -> None:
        while not self.stdin.closed:
            await self.stdin._changed.wait()
        if self.exits_with_stdin is not None:
            self.exit(self.exits_with_stdin)

    def signal_group(self, number: signal.Signals) -> bool:
        self.signals.append((trio.current_time(), number.name))
        if number in self.obeys:
            self.exit(None, number)
        return True

    async def close_pipes(self) -> None:
        self.stdin.close()
        await self.stdout.aclose()
        await self.stderr.aclose()

    async def read(self) -> dict[str, Any]:
        """The next message the daemon wrote."""
        line = await self.stdin.read_line()
        assert line is not None, "stdin was closed"
        message: dict[str, Any] = json.loads(line)
        return message

    async def say(self, message: dict[str, Any]) -> None:
        await self.out.send_all(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def answer(self, call: dict[str, Any], result: dict[str, Any] | None = None) -> None:
        await self.say({"id": call["id"], "result": {} if result is None else result})


class Lines:
    """A log that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, object]]] = []
        self.warnings: list[str] = []

    def info(self, event: str, **fields: object) -> None:
        self.lines.append((event, fields))

    def warning(self, event: str, **fields: object) -> None:
        self.warnings.append(event)
        self.lines.append((event, fields))

    def of(self, event: str) -> list[dict[str, object]]:
        return [fields for name, fields in self.lines if name == event]


class Stage:
    """A supervised process, its far end, and all that was reported and logged of it."""

    def __init__(self, child: MemoryChild, log: Lines, nursery: trio.Nursery) -> None:
        self.child = child
        self.log = log
        self.nursery = nursery
        self.reports: list[Report] = []
        self.process: ProviderProcess

    async def report(self, report: Report) -> None:
        await trio.lowlevel.checkpoint()
        self.reports.append(report)

    def reported(self, kind: type[Any]) -> list[Any]:
        return [report for report in self.reports if isinstance(report, kind)]


@asynccontextmanager
async def staged(
    *,
    in_flight: int | None = 8,
    spec: ProcessSpec = SPEC,
    child: MemoryChild | None = None,
    hidden: Hidden | None = None,
    **changes: Any,
) -> AsyncIterator[Stage]:
    """A supervised process in memory, past its handshake unless `in_flight` is None; it is stopped at the end."""
    async with trio.open_nursery() as nursery:
        stage = Stage(child or MemoryChild(), Lines(), nursery)
        stage.process = ProviderProcess(evolve(spec, **changes), stage.child, stage.report, stage.log, hidden=hidden)
        await nursery.start(stage.process.run)
        if in_flight is not None:
            stage.process.handshake_done(in_flight)
        yield stage
        await stage.process.stop("the test is over", orderly=False)


class Calls:
    """Calls under way and the outcomes of those that came back."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.outcomes: dict[str, Outcome] = {}
        self.took_s: dict[str, float] = {}

    def start(self, name: str, method: str = "list", timeout_s: float = 60, **how: Any) -> None:
        self.stage.nursery.start_soon(partial(self._call, name, method, timeout_s, **how))

    async def _call(self, name: str, method: str, timeout_s: float, **how: Any) -> None:
        began = trio.current_time()
        self.outcomes[name] = await self.stage.process.call(method, {"name": name}, timeout_s, **how)
        self.took_s[name] = trio.current_time() - began


async def settle() -> None:
    """Until everything that can happen now has happened."""
    await trio.testing.wait_all_tasks_blocked()
