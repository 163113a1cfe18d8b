"""Proves that what an earlier start of the daemon left of a provider's process is gone, and ends it if it is not.

These are not our children: they are known by pid, start time and boot, and by their environment marker. It must not
signal a process it has not recognised, since pids are used again.
"""

from __future__ import annotations

import os
import signal
from typing import TypeAlias

import trio
from attrs import frozen

from provisioner.runtime import proc_table
from provisioner.runtime.environment import marker_variable
from provisioner.runtime.proc_table import ProcEntry

__all__ = ["Gone", "GroupProof", "StillThere", "end_stale_group"]

_LOOK_AGAIN_S = 0.25
"""New members may be forked while old ones are ended; the table is read again at least this often."""


@frozen
class Gone:
    """No process of that incarnation exists any more."""


@frozen
class StillThere:
    """Processes that could not be ended in time, or that could not be recognised and were left alone."""

    pids: tuple[int, ...]


GroupProof: TypeAlias = Gone | StillThere


@frozen
class _Old:
    pid: int
    start_ticks: int
    marker: str | None

    async def members(self) -> tuple[list[ProcEntry], list[ProcEntry]]:
        """The living processes that are surely of this incarnation, and those that may be (its group, not known).

        In a thread: a machine with thousands of processes takes a tenth of a second to be looked through.
        """
        return await trio.to_thread.run_sync(self._members)

    def _members(self) -> tuple[list[ProcEntry], list[ProcEntry]]:
        alive = [entry for entry in proc_table.every_process() if not entry.is_dead]
        leader = proc_table.read_entry(self.pid)
        same_leader = leader is not None and leader.start_ticks == self.start_ticks
        # A pid is not given out again while a group or session bears it: a stranger as leader means ours was empty.
        group_is_ours = leader is None or same_leader
        sure, unsure = [], []
        for entry in alive:
            in_group = group_is_ours and self.pid in (entry.group, entry.session)
            if (in_group and same_leader) or self._bears_marker(entry):
                sure.append(entry)
            elif in_group:
                unsure.append(entry)
        return sure, unsure

    def _bears_marker(self, entry: ProcEntry) -> bool:
        return self.marker is not None and proc_table.has_marker(entry.pid, marker_variable(self.marker))


async def end_stale_group(
    pid: int,
    start_ticks: int,
    boot_id: str,
    *,
    marker: str | None = None,
    grace_s: float = 2.0,
    kill_wait_s: float = 5.0,
) -> GroupProof:
    """Ends the group led by (pid, start_ticks) of boot `boot_id`: SIGTERM, `grace_s`, SIGKILL, `kill_wait_s`.

    Gone at once if the machine was booted since. Processes that left the group are found by `marker`. When the
    leader is dead and a member bears no marker it can't be told from a stranger's: it is named and left alone.
    """
    if boot_id != proc_table.boot_id():
        return Gone()
    old = _Old(pid, start_ticks, marker)
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, kill_wait_s)):
        if not await _end_members(old, number, wait_s):
            break
    sure, unsure = await old.members()
    left = tuple(sorted(entry.pid for entry in (*sure, *unsure)))
    return StillThere(left) if left else Gone()


async def _end_members(old: _Old, number: signal.Signals, wait_s: float) -> bool:
    """Signals every recognised member and waits until there is none; True if some are left when time is over."""
    deadline = trio.current_time() + wait_s
    while sure := (await old.members())[0]:
        if trio.current_time() >= deadline:
            return True
        async with trio.open_nursery() as nursery:
            for entry in sure:
                nursery.start_soon(_signal_and_wait, entry, number, min(deadline, trio.current_time() + _LOOK_AGAIN_S))
    return False


async def _signal_and_wait(entry: ProcEntry, number: signal.Signals, deadline: float) -> None:
    try:
        pidfd = os.pidfd_open(entry.pid)
    except ProcessLookupError:
        return
    try:
        now = proc_table.read_entry(entry.pid)
        # The pidfd stands for whoever had the pid when it was opened: compared after that, no stranger is hit.
        if now is None or now.start_ticks != entry.start_ticks:
            return
        signal.pidfd_send_signal(pidfd, number)
        with trio.move_on_at(deadline):
            await trio.lowlevel.wait_readable(pidfd)
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)
