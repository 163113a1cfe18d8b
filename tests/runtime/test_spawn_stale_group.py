"""What an earlier daemon left of a provider is proven gone, or named; strangers are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.runtime import proc_table
from provisioner.runtime.stale_group import Gone, StillThere, end_stale_group

BOOT = proc_table.boot_id()


class Left:
    """A provider-like session that is no child of ours: its parent ended at once."""

    def __init__(self, script: str, marker: str, *, reaped: bool = False) -> None:
        starter = f"""
            import os, subprocess, sys
            p = subprocess.Popen([sys.executable, "-c", {textwrap.dedent(script)!r}], start_new_session=True,
                                 stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pids = p.stdout.readline().decode().strip()
            ticks = open(f"/proc/{{p.pid}}/stat").read().rpartition(")")[2].split()[19]
            if {reaped}: p.wait()
            print(p.pid, ticks, pids, flush=True)
            os._exit(0)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(starter)],
            env={"PATH": os.defpath, "PROVISIONER_PROCESS": marker},
            stdout=subprocess.PIPE,
            check=True,
            timeout=30,
        )
        self.marker = marker
        self.pid, self.start_ticks, *self.others = (int(word) for word in done.stdout.split())

    @property
    def alive(self) -> list[int]:
        entries = (proc_table.read_entry(pid) for pid in (self.pid, *self.others))
        return [entry.pid for entry in entries if entry is not None and not entry.is_dead]


@pytest.fixture
def marker() -> Iterator[str]:
    marker = f"test-{uuid.uuid4()}"
    yield marker
    for entry in list(proc_table.every_process()):
        if proc_table.has_marker(entry.pid, f"PROVISIONER_PROCESS={marker}"):
            os.kill(entry.pid, signal.SIGKILL)


OBEYS = "import signal; print(flush=True); signal.pause()"
IGNORES = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(flush=True)
while True:
    signal.pause()
"""
WITH_CHILDREN = """
import os, signal, subprocess
inside = subprocess.Popen(["sleep", "300"])
escaped = subprocess.Popen(["sleep", "300"], start_new_session=True)
print(inside.pid, escaped.pid, flush=True)
signal.pause()
"""
LEADER_DIES = """
import subprocess
inside = subprocess.Popen(["sleep", "300"])
print(inside.pid, flush=True)
"""


@pytest.mark.parametrize("script", [OBEYS, IGNORES], ids=["obeys SIGTERM", "ignores SIGTERM"])
async def test_a_left_over_leader_is_ended_and_proven_gone(script: str, marker: str) -> None:
    left = Left(script, marker)
    assert left.alive
    assert await end_stale_group(left.pid, left.start_ticks, BOOT, grace_s=0.3) == Gone()
    assert not left.alive


async def test_members_of_the_group_and_escapees_with_the_marker_are_ended_too(marker: str) -> None:
    left = Left(WITH_CHILDREN, marker)
    assert len(left.alive) == 3
    assert await end_stale_group(left.pid, left.start_ticks, BOOT, marker=marker, grace_s=0.5) == Gone()
    assert not left.alive


async def test_members_left_by_a_dead_leader_are_known_by_the_marker(marker: str) -> None:
    left = Left(LEADER_DIES, marker, reaped=True)
    assert left.others[0] in left.alive
    assert await end_stale_group(left.pid, left.start_ticks, BOOT, marker=marker, grace_s=0.5) == Gone()
    assert not left.alive


async def test_a_member_that_cannot_be_recognised_is_named_and_left_alone(marker: str) -> None:
    left = Left(LEADER_DIES, marker, reaped=True)
    try:
        proof = await end_stale_group(left.pid, left.start_ticks, BOOT, grace_s=0.2, kill_wait_s=0.2)
        assert proof == StillThere((left.others[0],))
        assert left.others[0] in left.alive
    finally:
        os.kill(left.others[0], signal.SIGKILL)


async def test_another_process_that_got_the_same_pid_is_left_alone(marker: str) -> None:
    left = Left(OBEYS, marker)
    assert await end_stale_group(left.pid, left.start_ticks - 1, BOOT, marker="another", grace_s=0.2) == Gone()
    assert left.pid in left.alive


async def test_nothing_is_left_of_another_boot(marker: str) -> None:
    left = Left(OBEYS, marker)
    assert await end_stale_group(left.pid, left.start_ticks, "another-boot") == Gone()
    assert left.pid in left.alive


async def test_what_never_was_is_gone() -> None:
    assert await end_stale_group(2**22 + 1, 1, BOOT, marker="nobody") == Gone()


def test_a_program_name_with_brackets_and_blanks_is_read_right(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "300"]) as child:
        try:
            entry = proc_table.read_entry(child.pid)
            assert entry is not None
            assert (entry.parent, entry.pid) == (os.getpid(), child.pid)
        finally:
            child.kill()
