"""Reads the kernel's process table: who a pid is, who is in a group, who bears a marker.

It alone knows the form of procfs files; it signals nobody and knows nothing of providers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from attrs import frozen

__all__ = ["ProcEntry", "boot_id", "children_of_this_process", "every_process", "has_marker", "read_entry"]

_PROC = Path("/proc")
_DEAD_STATES = frozenset("ZXx")


@frozen
class ProcEntry:
    """One line of the process table; `start_ticks` is the start in clock ticks since boot and makes a pid unique."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    start_ticks: int

    @property
    def is_dead(self) -> bool:
        """True for a zombie: it holds its pid and does nothing more."""
        return self.state in _DEAD_STATES


def boot_id() -> str:
    """The kernel's random id of this boot; pids and start ticks mean nothing under another one."""
    return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def read_entry(pid: int) -> ProcEntry | None:
    """The entry of `pid` now, None if there is no such process."""
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The program's name stands in brackets and may hold anything, brackets and blanks too.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return ProcEntry(
        pid=pid,
        state=fields[0].decode("ascii"),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
    )


def every_process() -> Iterator[ProcEntry]:
    """All processes that can be seen, dead ones too, in no order."""
    for name in os.listdir(_PROC):
        if name.isdigit() and (entry := read_entry(int(name))) is not None:
            yield entry


def children_of_this_process(*, but: Collection[int] = ()) -> list[ProcEntry]:
    """Own children, adopted ones too, `but` these; from the kernel's lists by thread, else from the whole table."""
    try:
        lists = [(_PROC / "self/task" / task / "children").read_text() for task in os.listdir(_PROC / "self/task")]
    except FileNotFoundError:  # a kernel without these lists, or a thread that just ended
        me = os.getpid()
        return [entry for entry in every_process() if entry.parent == me and entry.pid not in but]
    pids = [pid for text in lists for pid in map(int, text.split()) if pid not in but]
    return [entry for pid in pids if (entry := read_entry(pid)) is not None]


def has_marker(pid: int, variable: str) -> bool:
    """Whether the environment `pid` was started with holds `variable` (NAME=value); False where it can't be read.

    A process that was killed has no environment any more: ask before ending it.
    """
    try:
        environ = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:  # gone, or another user's
        return False
    return variable.encode() in environ.split(b"\0")
