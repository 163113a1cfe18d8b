"""Nothing of a provider outlives it unseen: escapees, adopted children, a killed daemon, and no fork on the way."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from provisioner.runtime import proc_table
from provisioner.runtime.environment import marker_variable
from provisioner.runtime.proc_table import has_marker
from provisioner.runtime.stale_group import Gone, end_stale_group
from provisioner.runtime.subreaper import become_subreaper, reap_adopted
from provisioner.runtime.supervision import (
    Answered,
)
from tests.runtime.real_provider import ROOT, is_alive, running, started

pytestmark = pytest.mark.e2e


@pytest.fixture
def subreaper() -> Iterator[None]:
    assert become_subreaper()
    yield
    ctypes.CDLL(None).prctl(36, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


LEAVES = """
def leave(message):
    inside = subprocess.Popen(["sleep", "300"])
    escaped = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 300 & sleep 300"], start_new_session=True)
    say({"id": message["id"], "result": {"inside": inside.pid, "escaped": escaped.pid}})
serve(leave)
"""


async def test_what_a_provider_leaves_behind_in_or_out_of_its_session_is_ended_and_named(
    tmp_path: Path, subreaper: None
) -> None:
    async with running(tmp_path, LEAVES) as run:
        outcome = await run.call()
        assert isinstance(outcome, Answered)
        pids = outcome.result
        began = trio.current_time()
        ended = await run.process.stop("over")
        assert trio.current_time() - began < 5
    assert not is_alive(int(str(pids["inside"])))
    assert not is_alive(int(str(pids["escaped"])))
    assert pids["escaped"] in ended.escapees.ended
    assert (ended.escapees.left, ended.is_gone) == ((), True)
    assert run.log.of("provider_left_processes")


async def test_a_process_that_escaped_and_holds_the_pipes_cannot_block_the_end(tmp_path: Path) -> None:
    async with running(tmp_path, LEAVES) as run:
        outcome = await run.call()
        assert isinstance(outcome, Answered)
        began = trio.current_time()
        await run.process.stop("over")
        assert trio.current_time() - began < 2
        identity = run.process.identity
        # Without a subreaper the marker still finds it, over the whole table.
        proof = await end_stale_group(
            identity.pid, identity.start_ticks, identity.boot_id, marker=identity.marker, grace_s=0.2
        )
    assert proof == Gone()
    assert not is_alive(int(str(outcome.result["escaped"])))


async def test_an_adopted_child_is_reaped_and_one_of_our_own_is_left_to_its_waiter(subreaper: None) -> None:
    starter = (
        "import os, subprocess; print(subprocess.Popen(['true'], start_new_session=True).pid, flush=True); os._exit(0)"
    )
    own = started(sys.executable, "-c", starter)
    with trio.fail_after(10):
        adopted = int(await trio.to_thread.run_sync(own.stdout.readline))  # type: ignore[union-attr]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: reap_adopted(every_s=0.05))
            while proc_table.read_entry(adopted) is not None:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert own.wait() == 0
    assert own.stdout is not None
    own.stdout.close()


async def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    marker = f"test-{uuid.uuid4()}"
    before = {child.pid for child in proc_table.children_of_this_process()}
    with trio.fail_after(30):
        with trio.CancelScope() as scope:
            scope.cancel()
            async with running(tmp_path, "serve(echo)", marker=marker):
                pass
    assert scope.cancelled_caught
    assert not [entry for entry in proc_table.every_process() if has_marker(entry.pid, marker_variable(marker))]
    assert {child.pid for child in proc_table.children_of_this_process()} <= before


DAEMON = """
import sys, trio
from provisioner.runtime.supervision import Graces, ProcessSpec
from provisioner.runtime.supervisor import open_process
from tests.runtime.scripted_provider import Lines

async def report(_): ...

async def main(run_dir, marker, wait, *argv):
    async with trio.open_nursery() as nursery:
        graces = Graces(stdin_end_s=1)
        spec = ProcessSpec("east", tuple(argv), marker, run_dir, run_dir, graces=graces)
        process = await open_process(spec, nursery, report, log=Lines())
        who = process.identity
        print(who.pid, who.start_ticks, who.boot_id, flush=True)
        if wait == "stop":
            await process.stop("over")
        else:
            await trio.sleep_forever()

trio.run(main, *sys.argv[1:])
"""


async def test_f_31_what_a_killed_daemon_left_is_proven_gone_by_the_next(tmp_path: Path) -> None:
    deaf = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    marker = f"test-{uuid.uuid4()}"
    command = [sys.executable, "-c", DAEMON, str(tmp_path), marker, "wait", sys.executable, "-c", deaf]
    daemon = started(*command)
    assert daemon.stdout is not None
    with trio.fail_after(30):
        pid, ticks, boot = (await trio.to_thread.run_sync(daemon.stdout.readline)).decode().split()
        os.kill(daemon.pid, signal.SIGKILL)
        await trio.to_thread.run_sync(daemon.wait)
        daemon.stdout.close()
        assert is_alive(int(pid))
        assert await end_stale_group(int(pid), int(ticks), boot, marker=marker, grace_s=0.2) == Gone()
        assert not is_alive(int(pid))


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_a_start_forks_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=process", "-o", str(trace)]
    done = subprocess.run(
        [*strace, sys.executable, "-c", DAEMON, str(tmp_path), "traced", "stop", "/bin/cat"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "ptrace" in done.stderr.lower() and done.returncode != 0:
        pytest.skip(f"strace may not trace here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    lines = trace.read_text().splitlines()
    started = next(index for index, line in enumerate(lines) if 'execve("/usr/bin/env"' in line or "/bin/env" in line)
    births = [line for line in lines if any(call in line for call in (" clone(", " clone3(", " fork(", " vfork("))]
    assert [line for line in births if " fork(" in line] == []
    assert [line for line in births if "clone" in line and "CLONE_VM" not in line] == []
    # The birth that led to the provider is posix_spawn's.
    assert [line for line in lines[:started] if "CLONE_VFORK" in line and "CLONE_VM" in line]
    assert any('execve("/bin/cat"' in line or 'execve("/usr/bin/cat"' in line for line in lines[started:])
