"""A child starts clean, is refused with a sentence, and its exit is known by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from provisioner.runtime import proc_table
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.pipes import ReadStream
from provisioner.runtime.spawn import Child, ExitStatus, prepare_descriptors, spawn

ROOT = Path(__file__).resolve().parents[2]
PATH = {"PATH": os.defpath}


@asynccontextmanager
async def started(
    script: str, cwd: Path, env: dict[str, str] = PATH, program: str = sys.executable
) -> AsyncIterator[Child]:
    flag = "-c"
    child = spawn([program, flag, textwrap.dedent(script)], env, str(cwd))
    try:
        yield child
    finally:
        with trio.CancelScope(shield=True):
            child.signal_group(signal.SIGKILL)
            await child.wait_exit()
            await child.close_pipes()


async def read_all(stream: ReadStream) -> bytes:
    data = b""
    with trio.fail_after(10):
        while piece := await stream.receive_some(65536):
            data += piece
    return data


async def test_a_child_runs_in_its_folder_with_exactly_the_given_environment(tmp_path: Path) -> None:
    script = "import os; print(os.getcwd(), sorted(k for k in os.environ if k != 'LC_CTYPE'), os.environ['A'])"
    async with started(script, tmp_path, {**PATH, "A": "b"}) as child:
        assert (await read_all(child.stdout)).decode().split("\n")[0] == f"{tmp_path} ['A', 'PATH'] b"


async def test_a_child_leads_its_own_session_with_an_empty_mask_and_sigpipe_not_ignored(tmp_path: Path) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        script = "grep -E 'Sig(Blk|Ign)' /proc/self/status; ps -o sid=,pgid= -p $$; echo $$"
        async with started(script, tmp_path, program="/bin/sh") as child:
            out = (await read_all(child.stdout)).decode().split()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    assert int(out[1], 16) == 0
    assert int(out[3], 16) & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)) == 0
    assert out[4:] == [str(child.pid)] * 3


async def test_a_child_inherits_nothing_but_its_three_pipes(tmp_path: Path) -> None:
    prepare_descriptors()  # whoever runs the tests may have left strays of its own
    script = "import os; f = '/proc/self/fd/'; print(sorted(n for n in os.listdir(f) if os.path.exists(f + n)))"
    async with started(script, tmp_path) as child:
        assert (await read_all(child.stdout)).strip() == b"['0', '1', '2']"


def test_prepare_descriptors_opens_the_standard_ones_and_keeps_strays_from_children(tmp_path: Path) -> None:
    script = """
        import os, stat
        from provisioner.runtime.spawn import prepare_descriptors
        prepare_descriptors()
        for fd in (0, 1, 2):
            assert os.get_inheritable(fd), fd
        assert stat.S_ISCHR(os.fstat(0).st_mode)
        stray = int(os.environ["STRAY"])
        assert os.fstat(stray)
        assert not os.get_inheritable(stray)
    """
    with (tmp_path / "stray").open("w") as stray:
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", textwrap.dedent(script)],
            env={**PATH, "STRAY": str(stray.fileno())},
            cwd=ROOT,
            pass_fds=[stray.fileno()],
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 0, done.stderr.decode()


async def test_the_exit_status_and_the_fatal_signal_are_told_apart(tmp_path: Path) -> None:
    async with started("raise SystemExit(78)", tmp_path) as child:
        assert await child.wait_exit() == ExitStatus(code=78, signal=None)
    async with started("import os; os.kill(os.getpid(), 9)", tmp_path) as child:
        status = await child.wait_exit()
        assert status == ExitStatus(code=None, signal=9)
        assert str(status) == "ended by signal 9 (SIGKILL)"


async def test_exit_is_seen_while_a_grandchild_in_the_group_holds_the_pipe_and_the_grandchild_ends_too(
    tmp_path: Path,
) -> None:
    async with started("sleep 300 & echo $!", tmp_path, program="/bin/sh") as child:
        with trio.fail_after(10):
            assert await child.wait_exit() == ExitStatus(code=0, signal=None)
        grandchild = int(await read_all(child.stdout))  # the end of the pipe: nobody holds it any more
        with trio.fail_after(10):  # it lets go of its descriptors before it is dead
            while (entry := proc_table.read_entry(grandchild)) is not None and not entry.is_dead:
                await trio.lowlevel.checkpoint()


async def test_any_number_of_tasks_may_wait_for_the_exit(tmp_path: Path) -> None:
    seen: list[ExitStatus] = []

    async with started("import sys; sys.stdin.read(); sys.exit(3)", tmp_path) as child:

        async def wait() -> None:
            seen.append(await child.wait_exit())

        with trio.fail_after(10):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                nursery.start_soon(wait)
                child.stdin.close()
        assert await child.wait_exit() == ExitStatus(code=3, signal=None)
    assert seen == [ExitStatus(code=3, signal=None)] * 2


async def test_a_reaped_child_is_never_signalled_again(tmp_path: Path) -> None:
    async with started("pass", tmp_path) as child:
        await child.wait_exit()
        assert not child.signal_group(signal.SIGTERM)


async def test_pid_start_time_and_boot_id_name_the_child(tmp_path: Path) -> None:
    async with started("import sys; sys.stdin.read()", tmp_path) as child:
        entry = proc_table.read_entry(child.pid)
        assert entry is not None
        assert (entry.start_ticks, entry.session, entry.group) == (child.start_ticks, child.pid, child.pid)
        assert child.boot_id == proc_table.boot_id()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["no-such-program"], "is not on the provider's PATH"),
        (["/no/such/program"], "does not exist"),
        (["plain"], "may not be executed"),
        (["folder"], "is not a file"),
        (["/" + "x" * 300], "can't be looked at .File name too long"),
        (["lost"], "names an interpreter that does not exist"),
        (["unfit"], "names an interpreter that .* may not be executed by this user"),
        (["a=b"], "equals sign"),
        ([], "the command is empty"),
        (["/bin/sh", "nul\0byte"], "an argument is not valid"),
        (["/bin/sh", "x" * 300_000], "Argument list too long"),
    ],
)
async def test_a_wrong_command_is_refused_with_a_sentence(tmp_path: Path, command: list[str], sentence: str) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "folder").mkdir()
    unfit = f"#!{tmp_path / 'plain'}\n"
    for name, text in (("lost", "#!/no/such/interpreter\n"), ("unfit", unfit), ("a=b", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    if command and command[0] in ("plain", "folder", "lost", "unfit", "a=b"):
        command = [str(tmp_path / command[0])]
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SpawnRefused, match=sentence):
        spawn(command, PATH, str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_interpreter_in_a_folder_that_may_not_be_entered_is_refused_with_a_sentence() -> None:
    script = """
        import os, sys, tempfile
        from pathlib import Path
        from provisioner.runtime.command import SpawnRefused, command_in_folder
        with tempfile.TemporaryDirectory() as made:
            locked, program = Path(made, "locked"), Path(made, "program")
            locked.mkdir()
            (locked / "interpreter").touch(mode=0o755)
            program.write_text(f"#!{locked / 'interpreter'}")
            for path in (Path(made), program):
                path.chmod(0o755)
            locked.chmod(0)
            before = os.getuid()
            if before == 0:
                os.setresuid(65534, 65534, 0)
            try:
                command_in_folder([str(program)], os.defpath, made)
            except SpawnRefused as why:
                print(why)
            os.seteuid(before)
            locked.chmod(0o700)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "may not be executed by this user" in ended.stdout


@pytest.mark.parametrize(
    ("folder", "sentence"), [("/no/such/folder", "does not exist"), ("here", "not an absolute path")]
)
async def test_a_wrong_folder_is_refused_with_a_sentence(folder: str, sentence: str) -> None:
    with pytest.raises(SpawnRefused, match=sentence):
        spawn(["/bin/sh"], PATH, folder)


async def test_a_full_pipe_takes_a_part_and_says_how_much_and_a_closed_one_says_so(tmp_path: Path) -> None:
    async with started(
        "import sys; sys.stdout.write('up'); sys.stdout.flush(); import time; time.sleep(60)", tmp_path
    ) as child:
        await child.stdout.receive_some()
        assert child.stdin.write_now(memoryview(bytes(100_000))) == 65536
        assert child.stdin.write_now(memoryview(b"x")) == 0
        with trio.move_on_after(0.05) as waiting:
            await child.stdin.wait_writable()
        assert waiting.cancelled_caught
        child.signal_group(signal.SIGKILL)
        with trio.fail_after(10):
            await child.stdin.wait_writable()
        with pytest.raises(BrokenPipeError):
            child.stdin.write_now(memoryview(b"x"))
