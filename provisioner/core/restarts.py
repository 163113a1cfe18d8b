"""How long a provider's process is left alone once it has ended: growing pauses, quarantine, and what shortens it.

It must not know what was open at an end, nor how a process is started.
"""

from attrs import evolve

from provisioner.core import process as process_life
from provisioner.core.events import Moment
from provisioner.core.ids import digest
from provisioner.core.pauses import doubled_s
from provisioner.core.process import ProcessState, ProcessTrigger
from provisioner.core.request import RequestState
from provisioner.core.world import ProcessView, World

RESTART_FIRST_S, RESTART_MOST_S = 1.0, 60.0
QUARANTINE_AFTER, QUARANTINE_WINDOW_S, QUARANTINE_S = 5, 600.0, 900.0
"""A provider that ended so often within the window is left alone for a while (settings.md, provider restart;
quarantine)."""

OWING_FIRST_S = 60.0
"""The first quarantine of a provider of which something costs money until it answers."""

ALIVE = (ProcessState.READY, ProcessState.DEGRADED)

_T = ProcessTrigger


def moved(view: ProcessView, trigger: ProcessTrigger, now: Moment) -> ProcessView:
    """The view after one step of its life; unchanged where the table has none."""
    arc = process_life.step(view.state, trigger)
    return view if arc is None else evolve(view, state=arc.next, since_boot_s=now.boot_s)


def ended_by_order(view: ProcessView, now: Moment) -> ProcessView:
    """An end that was ordered is no failure: nothing is counted, and there is no pause."""
    after = moved(view, _T.RESET if view.state is ProcessState.PARKED else _T.ENDED, now)
    return evolve(after, restart_wanted=False, wait_until_boot_s=now.boot_s, described_boot_s=None)


def owes_money(world: World, provider: str) -> bool:
    """Whether something of a provider costs money until it answers: an open give-back, an unknown purchase."""
    return any(r.provider == provider for r in world.open_returns.values()) or any(
        r.provider == provider and r.state is RequestState.UNKNOWN for r in world.open_requests.values()
    )


def left_alone_until_boot_s(world: World, provider: str) -> float:
    """Until when a process that is not wanted back at once is left alone.

    While something costs money that only the provider can end, a quarantine is short at first and doubles with each
    in a row; each such try is one start, no more.
    """
    view = world.seen.processes.get(provider, ProcessView())
    if view.state is not ProcessState.QUARANTINED or not owes_money(world, provider):
        return view.wait_until_boot_s
    pause_s = doubled_s(OWING_FIRST_S, max(view.quarantines, 1) - 1, QUARANTINE_S)
    return min(view.wait_until_boot_s, view.since_boot_s + pause_s)


def ended(view: ProcessView, provider: str, reason: str, now: Moment, *, owes: bool) -> ProcessView:
    """The view after an end that nobody ordered: a growing pause, or quarantine; `owes` as `owes_money` says."""
    held_out = view.state in ALIVE and now.boot_s - view.since_boot_s >= QUARANTINE_WINDOW_S
    quarantines = 0 if held_out else view.quarantines
    crashes = (*(t for t in view.crashes_boot_s if now.boot_s - t < QUARANTINE_WINDOW_S), now.boot_s)
    view = evolve(view, crashes_boot_s=crashes, last_end=reason, described_boot_s=None)
    if len(crashes) >= QUARANTINE_AFTER or (owes and quarantines > 0):
        view = evolve(moved(view, _T.CRASHED_TOO_OFTEN, now), quarantines=quarantines + 1)
        return evolve(view, wait_until_boot_s=now.boot_s + QUARANTINE_S)
    view = evolve(view, quarantines=quarantines)
    spread = 1 + int(digest("restart", provider, now.seed, length=4), 36) % 20 / 100
    pause = doubled_s(RESTART_FIRST_S, len(crashes) - 1, RESTART_MOST_S) * spread
    trigger = _T.SPAWN_FAILED if view.state is ProcessState.STARTING else _T.ENDED
    return evolve(moved(view, trigger, now), wait_until_boot_s=now.boot_s + pause)
