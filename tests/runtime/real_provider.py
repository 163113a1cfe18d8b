"""Providers of a few lines as real processes on the real clock, for the tests of supervision."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from provisioner.runtime import proc_table
from provisioner.runtime.supervision import (
    Answered,
    Graces,
    Outcome,
    ProcessSpec,
    Report,
)
from provisioner.runtime.supervisor import ProviderProcess, open_process
from tests.runtime.scripted_provider import Lines

ROOT = Path(__file__).resolve().parents[2]
QUICK = Graces(shutdown_s=1.0, exit_s=1.0, stdin_end_s=0.3, term_s=0.3, kill_s=5.0, last_output_s=0.3)
PRELUDE = """
import json, os, signal, subprocess, sys, time

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def say(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")

def serve(handle):
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["method"] in ("initialize", "shutdown", "ping"):
            say({"id": message["id"], "result": {}})
        elif "id" in message:
            handle(message)

def echo(message):
    say({"id": message["id"], "result": {"of": message["params"]}})

"""


class Run:
    """A started provider, and all that was reported and logged of it."""

    def __init__(self) -> None:
        self.log = Lines()
        self.reports: list[Report] = []
        self.process: ProviderProcess

    async def report(self, report: Report) -> None:
        await trio.lowlevel.checkpoint()
        self.reports.append(report)

    async def call(self, timeout_s: float = 20, **params: Any) -> Outcome:
        return await self.process.call("request", params, timeout_s)


@asynccontextmanager
async def running(tmp_path: Path, script: str, **changes: Any) -> AsyncIterator[Run]:
    """A provider with this script, past its handshake, within 30 s of the real clock."""
    program = tmp_path / "provider.py"
    program.write_text(PRELUDE + textwrap.dedent(script))
    settings: dict[str, Any] = {
        "argv": (sys.executable, str(program)),
        "marker": f"test-{uuid.uuid4()}",
        "graces": QUICK,
        "run_dir": str(tmp_path / "run"),
        "state_dir": str(tmp_path / "state"),
        **changes,
    }
    spec = ProcessSpec(provider="east", **settings)
    run = Run()
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            run.process = await open_process(spec, nursery, run.report, log=run.log)
            assert isinstance(await run.process.call("initialize", {}, 20), Answered)
            run.process.handshake_done(8)
            yield run
            await run.process.stop("the test is over", orderly=False)


def started(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def is_alive(pid: int) -> bool:
    entry = proc_table.read_entry(pid)
    return entry is not None and not entry.is_dead
