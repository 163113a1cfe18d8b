"""A provider's process is held to its memory: by the kernel's limit on a process, or by a control group of its own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from attrs import evolve

from provisioner.runtime.control_group import ControlGroup, NoGroups, find_room_for_groups
from provisioner.runtime.memory_limit import group_name, hold_to_memory
from provisioner.runtime.supervision import Answered
from tests.runtime.real_provider import is_alive, running, started
from tests.runtime.scripted_provider import SPEC, Lines

pytestmark = pytest.mark.e2e
MIB = 1 << 20
GREEDY = """
def take(message):
    try:
        kept = bytearray(int(message["params"]["bytes"]))
        kept[::4096] = b"x" * len(kept[::4096])
        say({"id": message["id"], "result": {"taken": len(kept)}})
    except MemoryError:
        say({"id": message["id"], "error": {"code": 1008, "message": "transient"}})
serve(take)
"""


async def test_a_process_without_a_control_group_gets_no_more_memory_than_its_limit(tmp_path: Path) -> None:
    async with running(tmp_path, GREEDY, memory_bytes=128 * MIB) as run:
        assert await run.call(bytes=16 * MIB) == Answered({"taken": 16 * MIB})
        assert not isinstance(await run.call(bytes=512 * MIB), Answered)
        assert await run.call(bytes=16 * MIB) == Answered({"taken": 16 * MIB})
        limits = await trio.Path(f"/proc/{run.process.identity.pid}/limits").read_text(encoding="ascii")
        (row,) = [line.split() for line in limits.splitlines() if line.startswith("Max data size")]
        assert row[3:5] == [str(128 * MIB), str(128 * MIB)]
        assert run.process.memory_by == "rlimit"
    assert run.log.of("provider_memory_bounded") == [{"limit": "128MiB", "by": "rlimit"}]


async def test_a_process_with_no_limit_takes_what_it_wants(tmp_path: Path) -> None:
    async with running(tmp_path, GREEDY) as run:
        assert await run.call(bytes=256 * MIB) == Answered({"taken": 256 * MIB})
        assert run.process.memory_by == "none"


async def test_a_group_that_can_not_be_made_leaves_the_limit_on_each_process(tmp_path: Path) -> None:
    async with running(tmp_path, GREEDY, memory_bytes=128 * MIB, groups_dir=str(tmp_path / "absent")) as run:
        assert run.process.memory_by == "rlimit"
        assert not isinstance(await run.call(bytes=512 * MIB), Answered)
    assert run.log.warnings == ["provider_without_control_group"]


@pytest.fixture
def room() -> Path:
    """Where control groups with bounded memory can be made; found by a process of its own, since finding moves it."""
    try:
        return find_room_for_groups()
    except NoGroups as why:
        pytest.skip(str(why))


async def test_a_process_over_the_memory_of_its_group_is_ended_whole_and_the_cause_is_told(
    tmp_path: Path, room: Path
) -> None:
    async with running(tmp_path, GREEDY, memory_bytes=64 * MIB, groups_dir=str(room)) as run:
        assert run.process.memory_by == "cgroup"
        assert await run.call(bytes=8 * MIB) == Answered({"taken": 8 * MIB})
        assert not isinstance(await run.call(bytes=512 * MIB), Answered)
        ended = await run.process.wait_ended()
    assert ended.reason.startswith("the process was ended by its memory limit of 64MiB")
    assert not await trio.Path(room / group_name(evolve(SPEC, state_dir=str(tmp_path / "state")))).exists()


# --- the kernel's groups where they can be had without bounded memory -------------------------------------------------


@pytest.fixture
def real_group() -> Iterator[ControlGroup]:
    mounts = [line.split(" ") for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    places = [Path(fields[4]) for fields in mounts if "cgroup2" in fields]
    folder = (places[0] if places else Path("/nowhere")) / f"test-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
    except OSError as why:
        pytest.skip(f"no control group can be made here: {why.strerror}")
    yield ControlGroup(folder)
    if folder.exists():
        folder.rmdir()


async def test_whatever_is_left_in_the_group_is_ended_and_the_group_taken_away(
    tmp_path: Path, real_group: ControlGroup
) -> None:
    fifo = tmp_path / "told"
    os.mkfifo(fifo)
    child = started("sh", "-c", "trap '' TERM HUP; read x < $0; sleep 300 & echo; wait", str(fifo))
    real_group.take(child.pid)
    await trio.Path(fifo).write_text("go\n")
    assert child.stdout is not None
    await trio.to_thread.run_sync(child.stdout.readline)
    members = real_group.members()
    assert child.pid in members
    with trio.fail_after(20):
        assert await real_group.remove(within_s=10) == ()
    child.wait()
    child.stdout.close()
    assert not [pid for pid in members if is_alive(pid)]
    assert not real_group.folder.exists()
    assert await real_group.remove(within_s=10) == (), "twice is as good as once"


# --- the files of the kernel's groups, as folders ---------------------------------------------------------------------


def layout(tmp_path: Path, own: str, **files: str) -> Path:
    """A proc folder by which this process is in group `own` of a tree below `tmp_path`, with these files in it."""
    tree = tmp_path / "cgroup"
    (tree / own).mkdir(parents=True)
    for name, text in {"cgroup.procs": "", "cgroup.controllers": "memory pids", **files}.items():
        (tree / own / name.replace("_", ".", 1)).write_text(text)
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"4:memory:/x\n0::/{own}\n")
    (tmp_path / "proc" / "self" / "mountinfo").write_text(f"30 23 0:26 / {tree} rw,nosuid shared:4 - cgroup2 c rw\n")
    return tmp_path / "proc"


def test_the_daemon_moves_into_a_group_of_its_own_so_that_its_group_can_share_out_memory(tmp_path: Path) -> None:
    proc = layout(tmp_path, "service")
    own = tmp_path / "cgroup" / "service"
    assert find_room_for_groups(proc, systemd=tmp_path / "absent") == own
    assert (own / "daemon" / "cgroup.procs").read_text() == str(os.getpid())
    assert (own / "cgroup.subtree_control").read_text() == "+memory"


def test_a_group_that_is_not_left_to_the_daemon_is_not_divided(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("for another user than root the right to write is the sign")
    proc = layout(tmp_path, "service")
    with pytest.raises(NoGroups, match="Delegate=yes"):
        find_room_for_groups(proc, systemd=tmp_path)
    assert not (tmp_path / "cgroup" / "service" / "daemon").exists()


def test_a_machine_without_control_groups_is_told(tmp_path: Path) -> None:
    proc = layout(tmp_path, "service")
    (proc / "self" / "mountinfo").write_text("")
    with pytest.raises(NoGroups, match="no control groups of version 2"):
        find_room_for_groups(proc, systemd=tmp_path / "absent")
    other = layout(tmp_path / "other", "service", cgroup_controllers="pids")
    with pytest.raises(NoGroups, match="no memory controller"):
        find_room_for_groups(other, systemd=tmp_path / "absent")


def test_a_process_is_put_into_a_group_whose_memory_is_bounded_and_an_end_by_it_is_told(tmp_path: Path) -> None:
    spec = evolve(SPEC, memory_bytes=64 * MIB, groups_dir=str(tmp_path))
    group = tmp_path / group_name(spec)
    group.mkdir()
    (group / "cgroup.procs").write_text("")  # the kernel makes it with the folder
    log = Lines()
    first = hold_to_memory(spec, 4_711, log)
    assert (first.by, log.warnings) == ("cgroup", [])
    assert (group / "memory.max").read_text() == str(64 * MIB)
    assert (group / "cgroup.procs").read_text() == "4711"
    assert first.why_ended() is None
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    assert first.why_ended() == "the process was ended by its memory limit of 64MiB"
    again = hold_to_memory(spec, 4_711, Lines())
    assert again.why_ended() is None, "what was counted before this process is not its own"
    assert (group / "cgroup.kill").read_text() == "1", "what was left in it is ended first"


def test_daemons_of_two_clusters_on_one_machine_use_two_groups() -> None:
    assert group_name(SPEC) != group_name(evolve(SPEC, state_dir="/elsewhere"))
