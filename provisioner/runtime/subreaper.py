"""Adopts what children leave behind, reaps it, and ends what escaped from a provider's session.

The daemon is a subreaper: processes whose parent died become its children. It must not touch children that some
library started in the daemon's own session; those have a waiter.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Sequence

import trio
from attrs import frozen

from provisioner.runtime import proc_table
from provisioner.runtime.environment import marker_variable
from provisioner.runtime.proc_table import ProcEntry
from provisioner.runtime.spawn import leaders

__all__ = ["Escapees", "become_subreaper", "end_escapees", "reap_adopted"]

_PR_SET_CHILD_SUBREAPER = 36
_ROUND_S = 0.05


def become_subreaper() -> bool:
    """Makes this process the one that orphans of its descendants fall to; False where the kernel refuses."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
    return bool(prctl(_PR_SET_CHILD_SUBREAPER, one, none, none, none) == 0)


@frozen
class Escapees:
    """Processes found outside the session of an ended provider: those that ended, and those that would not."""

    ended: tuple[int, ...]
    left: tuple[int, ...]

    def with_left(self, left: Sequence[int]) -> Escapees:
        """With others that were found and would not end."""
        return Escapees(self.ended, tuple(sorted({*self.left, *left})))


async def end_escapees(marker: str, *, grace_s: float, kill_wait_s: float) -> Escapees:
    """Ends adopted children that bear `marker`, and what they leave in turn.

    SIGTERM, `grace_s`, SIGKILL, `kill_wait_s`. Call it only after the incarnation's leader is reaped. Nothing is found
    unless this process is a subreaper.
    """
    started = trio.current_time()
    seen: set[int] = set()
    alive: set[int] = set()
    asked: set[int] = set()
    while True:
        # Found before they are killed, since a killed one has no environment to be known by.
        found = _escapees(marker)
        seen |= found
        alive = {pid for pid in alive | found if not _reap(pid)}
        past_s = trio.current_time() - started
        if not alive or past_s > grace_s + kill_wait_s:
            return Escapees(ended=tuple(sorted(seen - alive)), left=tuple(sorted(alive)))
        for pid in alive if past_s >= grace_s else alive - asked:
            asked.add(pid)
            _signal_own_child(pid, signal.SIGKILL if past_s >= grace_s else signal.SIGTERM)
        await trio.sleep(_ROUND_S)


async def reap_adopted(*, every_s: float = 5.0) -> None:
    """For ever: reaps adopted children that were dead at two looks in a row.

    A child that has a waiter, a provider's leader above all, is reaped by it long before the second look.
    """
    session = os.getsid(0)
    dead_before: set[ProcEntry] = set()
    while True:
        adopted = proc_table.children_of_this_process(but=leaders())
        dead = {child for child in adopted if child.is_dead and child.session != session}
        for entry in dead & dead_before:
            _reap(entry.pid)
        dead_before = dead
        await trio.sleep(every_s)


def _escapees(marker: str) -> set[int]:
    variable = marker_variable(marker)
    children = proc_table.children_of_this_process(but=leaders())
    return {child.pid for child in children if not child.is_dead and proc_table.has_marker(child.pid, variable)}


def _signal_own_child(pid: int, number: signal.Signals) -> None:
    # Only we can reap it, so the pid can't be another's.
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _reap(pid: int) -> bool:
    """True if `pid` is no child of ours any more."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True
