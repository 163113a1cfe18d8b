"""Real processes on the real clock: they die, hang, flood, leave things behind, and are ended in bounds."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from provisioner.runtime import proc_table
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.stale_group import Gone, end_stale_group
from provisioner.runtime.subreaper import become_subreaper, reap_adopted
from provisioner.runtime.supervision import (
    Answered,
    EndKind,
    Graces,
    Lost,
    Outcome,
    ProcessSpec,
    Report,
    Unwritten,
)
from provisioner.runtime.supervisor import ProviderProcess, open_process
from tests.runtime.scripted_provider import Lines

pytestmark = pytest.mark.e2e

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


async def test_an_orderly_provider_answers_and_ends_by_itself_after_shutdown(tmp_path: Path) -> None:
    async with running(tmp_path, "serve(echo)", graces=Graces()) as run:
        assert await run.call(n=1) == Answered({"of": {"n": 1}})
        ended = await run.process.stop("over")
    assert (ended.kind, str(ended.status), ended.is_gone) == (EndKind.ORDERLY, "exit status 0", True)
    assert run.log.of("provider_signalled") == []


async def test_a_provider_starts_with_its_private_folders_and_environment(tmp_path: Path) -> None:
    script = """
        def look(message):
            tmp = os.environ["TMPDIR"]
            say({"id": message["id"], "result": {"cwd": os.getcwd(), "tmp": tmp, "mode": os.stat(tmp).st_mode & 0o777,
                 "names": sorted(n for n in os.environ if n != "LC_CTYPE")}})
        serve(look)
    """
    async with running(tmp_path, script) as run:
        outcome = await run.call()
    assert outcome == Answered(
        {
            "cwd": str(tmp_path / "run"),
            "tmp": str(tmp_path / "run" / "tmp"),
            "mode": 0o700,
            "names": ["LANG", "PATH", "PROVISIONER_CONTRACT", "PROVISIONER_PROCESS", "TMPDIR", "TZ"],
        }
    )
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


async def test_a_provider_that_cannot_start_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(SpawnRefused, match="is not on the provider's PATH"), flatten_subgroups=True
    ):
        async with running(tmp_path, "", argv=("no-such-provider",)):
            pass
    with pytest.RaisesGroup(pytest.RaisesExc(SpawnRefused, match="can't be made"), flatten_subgroups=True):
        async with running(tmp_path, "", state_dir=str(tmp_path / "provider.py" / "state")):
            pass


async def test_cc_8_death_in_the_middle_of_an_answer_settles_all_calls_within_a_second(tmp_path: Path) -> None:
    script = """
        def die(message):
            if message["params"]["n"] == 4:
                sys.stderr.write("disk full\\n")
                write(b'{"jsonrpc":"2.0","id":2,"res')
                os._exit(3)
        serve(die)
    """
    outcomes: list[Outcome] = []
    async with running(tmp_path, script) as run:

        async def call(n: int) -> None:
            outcomes.append(await run.call(n=n))

        async with trio.open_nursery() as calls:
            for n in range(4):
                calls.start_soon(call, n)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            calls.start_soon(call, 4)
        took_s = trio.current_time() - began
        ended = await run.process.wait_ended()
    assert took_s < 1
    assert len(outcomes) == 5
    assert all(isinstance(outcome, Lost) and "exit status 3" in outcome.reason for outcome in outcomes)
    assert (ended.kind, ended.stderr_tail, ended.is_gone) == (EndKind.CRASH, ("disk full",), True)


async def test_the_answer_written_right_before_the_exit_counts(tmp_path: Path) -> None:
    script = """
        def answer_and_go(message):
            say({"id": message["id"], "result": {"data": "x" * 200000}})
            os._exit(0)
        serve(answer_and_go)
    """
    async with running(tmp_path, script) as run:
        assert isinstance(await run.call(), Answered)


async def test_faulty_configuration_is_told_by_the_exit_status(tmp_path: Path) -> None:
    async with running(tmp_path, "serve(lambda message: os._exit(78))") as run:
        assert isinstance(await run.call(), Lost)
        assert (await run.process.wait_ended()).kind is EndKind.FAULTY_CONFIGURATION


async def test_a_provider_that_ignores_shutdown_the_end_of_stdin_and_sigterm_is_killed_in_bounds(
    tmp_path: Path,
) -> None:
    script = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        serve(lambda message: (say({"id": message["id"], "result": {}}), [time.sleep(1) for _ in range(300)]))
    """
    async with running(tmp_path, script) as run:
        await run.call()
        began = trio.current_time()
        ended = await run.process.stop("over")
    assert trio.current_time() - began < 4
    assert (ended.kind, str(ended.status)) == (EndKind.FORCED, "ended by signal 9 (SIGKILL)")
    assert [fields["signal"] for fields in run.log.of("provider_signalled")] == ["SIGTERM", "SIGKILL"]


async def test_a_provider_that_closes_its_stdout_and_lives_on_is_taken_for_dead_and_ended(tmp_path: Path) -> None:
    script = """
        def close(message):
            os.close(1)
            time.sleep(300)
        serve(close)
    """
    async with running(tmp_path, script) as run:
        began = trio.current_time()
        outcome = await run.call()
        assert trio.current_time() - began < 1
        assert isinstance(outcome, Lost)
        ended = await run.process.wait_ended()
    assert ended.reason == "the provider closed its stdout"
    assert ended.is_gone


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


async def test_f_25_a_flood_on_stderr_with_lines_without_end_blocks_nothing(tmp_path: Path) -> None:
    script = """
        def flood(message):
            sys.stderr.write("y" * 80 + "\\n")
            os.write(2, b"x" * (256 * 1024))
            os.write(2, b"".join(b"%d\\n" % n for n in range(100000)))
            echo(message)
        serve(flood)
    """
    async with running(tmp_path, script) as run:
        for n in range(20):
            assert await run.call(n=n) == Answered({"of": {"n": n}})
        assert sum(map(len, run.process.stderr_tail)) < 1 << 20
        assert len(run.log.of("provider_stderr")) <= 200


async def test_fr_4_junk_on_stdout_does_not_hide_a_good_frame_and_too_much_of_it_ends_the_process(
    tmp_path: Path,
) -> None:
    script = """
        def chatter(message):
            write(b"Welcome!\\n\\xff\\xfe\\n")
            echo(message)
        serve(chatter)
    """
    async with running(tmp_path, script) as run:
        for n in range(9):
            assert await run.call(n=n) == Answered({"of": {"n": n}})
        await run.call(n=10)
        ended = await run.process.wait_ended()
    assert "20 lines on stdout" in ended.reason
    assert len(run.log.of("provider_stdout_junk")) == 20


async def test_fr_3_an_endless_line_on_stdout_costs_the_limit_and_ends_only_this_process(tmp_path: Path) -> None:
    script = """
        def endless(message):
            while True:
                write(b"x" * 65536)
        serve(endless)
    """
    async with running(tmp_path, script, frame_bytes=1 << 20) as run:
        outcome = await run.call()
        assert outcome == Lost("frame too large (limit 1048576 bytes)")
        assert (await run.process.wait_ended()).is_gone


async def test_a_provider_that_stops_reading_gets_half_a_frame_which_is_lost_and_the_next_which_is_unwritten(
    tmp_path: Path,
) -> None:
    script = """
        write(b'{"jsonrpc":"2.0","id":1,"result":{}}\\n')
        time.sleep(300)
    """
    async with running(tmp_path, script) as run:
        outcomes: dict[str, Outcome] = {}

        async def call(name: str) -> None:
            outcomes[name] = await run.call(0.5, data="x" * 200_000)

        async with trio.open_nursery() as calls:
            calls.start_soon(call, "first")
            await trio.testing.wait_all_tasks_blocked()
            calls.start_soon(call, "second")
        ended = await run.process.wait_ended()
    assert isinstance(outcomes["first"], Lost)
    assert isinstance(outcomes["second"], Unwritten)
    assert ended.is_gone


async def test_fr_7_a_provider_that_only_writes_while_we_write_does_not_lock_both_up(tmp_path: Path) -> None:
    script = """
        def answer_at_length(message):
            say({"id": message["id"], "result": {"data": "y" * 500000}})
        serve(answer_at_length)
    """
    async with running(tmp_path, script) as run:
        done = 0

        async def call() -> None:
            nonlocal done
            assert isinstance(await run.call(data="x" * 500_000), Answered)
            done += 1

        async with trio.open_nursery() as calls:
            for _ in range(8):
                calls.start_soon(call)
        assert done == 8


async def test_a_secret_that_the_provider_prints_is_in_no_log_and_no_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_KEY", "planted-marker-4711")
    script = (
        "serve(lambda m: (sys.stderr.write('key ' + os.environ['CLOUD_KEY'] + '\\n'), sys.stderr.flush(), echo(m)))"
    )
    async with running(tmp_path, script, env_names=("CLOUD_KEY",)) as run:
        await run.call()
        ended = await run.process.stop("over")
    assert ended.stderr_tail == ("key [hidden]",)
    assert "planted-marker" not in repr((run.log.lines, run.reports))


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
