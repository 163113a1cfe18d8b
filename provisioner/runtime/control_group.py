"""One control group of the kernel (cgroup v2) for one provider: bounded memory, and a way to end all that is in it.

It alone knows the files of cgroupfs. It must not know providers, pipes or signals, nor whether a group is wanted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import trio
from attrs import frozen

__all__ = ["ControlGroup", "NoGroups", "find_room_for_groups"]

_LOOK_AGAIN_S = 0.05
_OWN_GROUP = "daemon"
_PROC = Path("/proc")
_SYSTEMD = Path("/run/systemd/system")
_DELEGATED = ("user.delegate", "trusted.delegate")
"""systemd marks a control group that it leaves to a service (Delegate=yes) so; others are its own."""


class NoGroups(Exception):
    """There is no place for control groups of ours; the text is one sentence that says why."""


@frozen
class ControlGroup:
    """A group made for one process and what it starts; `ended_before` is what was counted in it earlier."""

    folder: Path
    ended_before: int = 0

    @classmethod
    def make(cls, parent: Path, name: str, memory_bytes: int) -> ControlGroup:
        """A group in which nothing runs, also where one of that name is left; raises OSError."""
        folder = parent / name
        folder.mkdir(exist_ok=True)
        group = cls(folder, _ended_by_memory(folder))
        if group.members():  # of an earlier daemon, which was killed
            group._end_members()
        (group.folder / "memory.max").write_text(str(memory_bytes), encoding="ascii")
        # What is over the limit must end, and whole: not be swapped out, and not lose one process of many.
        for file, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            if (group.folder / file).exists():
                (group.folder / file).write_text(value, encoding="ascii")
        return group

    def take(self, pid: int) -> None:
        """Puts a process into the group; what it starts from now on is in it too."""
        (self.folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def ended_by_memory(self) -> int:
        """How many processes of the group the kernel ended because the group was over its memory."""
        return _ended_by_memory(self.folder) - self.ended_before

    def members(self) -> tuple[int, ...]:
        """The processes in it now, dead ones not."""
        text = (self.folder / "cgroup.procs").read_text(encoding="ascii")
        return tuple(int(pid) for pid in text.split())

    def _end_members(self) -> None:
        (self.folder / "cgroup.kill").write_text("1", encoding="ascii")

    async def remove(self, *, within_s: float) -> Sequence[int]:
        """Ends whatever is left in the group and takes the group away; the processes that would not end.

        Nothing can leave a group by itself, so an empty one proves that nothing of the provider is left.
        """
        give_up_at = trio.current_time() + within_s
        left: tuple[int, ...] = ()
        while True:
            try:
                left = self.members()
                if left:
                    self._end_members()
                else:
                    self.folder.rmdir()
                    return ()
            except FileNotFoundError:
                return ()
            except OSError:  # still busy: its last process is on its way out
                pass
            if trio.current_time() >= give_up_at:
                return left
            await trio.sleep(_LOOK_AGAIN_S)


def find_room_for_groups(proc: Path = _PROC, systemd: Path = _SYSTEMD) -> Path:
    """The group in which groups with bounded memory can be made; the daemon moves into one of its own for it.

    The kernel shares memory out only from a group without processes. `systemd` is what exists where systemd rules
    over all groups. Raises NoGroups with a sentence.
    """
    own = _own_group(proc)
    if _shares_memory(own.parent) and _is_delegated(
        own.parent, systemd
    ):  # started in a leaf, by the system or by this function
        return own.parent
    if not _is_delegated(own, systemd) and not _belongs_to_this_user(own):
        raise NoGroups(f"the control group {own} is not left to the daemon (a systemd unit says Delegate=yes)")
    if _shares_memory(own):
        return own
    if "memory" not in _words(own / "cgroup.controllers"):
        raise NoGroups(f"the control group {own} has no memory controller")
    try:
        leaf = own / _OWN_GROUP
        leaf.mkdir(exist_ok=True)
        (leaf / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        (own / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
    except OSError as why:
        raise NoGroups(f"the control group {own} can't be divided: {os.strerror(why.errno or 0)}") from why
    return own


def _own_group(proc: Path) -> Path:
    paths = [line[3:] for line in _lines(proc / "self/cgroup") if line.startswith("0::")]
    mounts = [fields for line in _lines(proc / "self/mountinfo") if (fields := line.split(" ")) and "cgroup2" in fields]
    if not paths or not mounts:
        raise NoGroups("this machine has no control groups of version 2")
    root, mounted_at = mounts[0][3], mounts[0][4]
    below = os.path.relpath(paths[0], root) if root != "/" else paths[0].lstrip("/")
    if below.startswith(".."):
        raise NoGroups("the daemon's control group is outside of what is mounted here")
    return Path(mounted_at, below)


def _is_delegated(group: Path, systemd: Path) -> bool:
    """Whether the group is the daemon's to divide: marked so, or there is nobody else who would."""
    if not _can_divide(group):
        return False
    nobody_else = os.geteuid() == 0 and not systemd.exists()
    return nobody_else or any(_marked(group, mark) for mark in _DELEGATED)


def _belongs_to_this_user(group: Path) -> bool:
    """Older systemd shows its mark to root alone, but hands the group over to the service's user."""
    return os.geteuid() != 0 and _can_divide(group)


def _can_divide(group: Path) -> bool:
    return os.access(group, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK)


def _marked(group: Path, mark: str) -> bool:
    try:
        return os.getxattr(group, mark) == b"1"
    except OSError:
        return False


def _shares_memory(group: Path) -> bool:
    return "memory" in _words(group / "cgroup.subtree_control")


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _ended_by_memory(folder: Path) -> int:
    for line in _lines(folder / "memory.events"):
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.isdigit():
            return int(count)
    return 0
