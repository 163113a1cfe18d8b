"""Hostile providers beside a good one: its demand is met again and again, what each of them does is told where an
operator looks, the daemon stays small and leaves nothing behind.

How fast health is answered meanwhile is measured by `python -m tests.hostile`, not here.
"""

from collections.abc import Sequence

import pytest

from tests.e2e.daemon import Daemon
from tests.e2e.hostile.calls import memory_over_calls
from tests.e2e.hostile.kinds import FAMILIES, Kind, crash_loops
from tests.e2e.hostile.stage import Stage, staged
from tests.e2e.waiting import wait_until

TOLD_WITHIN_S = 300.0
"""Who never answers is ended only after a deadline, a grace and each rung of the ladder."""
MIB = 1 << 20
GROWTH_MOST = 100 * MIB
"""Far over what a calm daemon grows by, far under what is thrown at it."""
CROWD_GROWTH_MOST = 400 * MIB
"""20,000 templates are kept, as facts and as offers."""
CALLS = 1000
CALLS_GROWTH_MOST = 8 * MIB


@pytest.mark.parametrize("family", FAMILIES)
def test_beside_hostile_providers_demand_is_met_operators_are_told_and_memory_is_bounded(
    daemon: Daemon, family: str
) -> None:
    check_beside(daemon, FAMILIES[family], CROWD_GROWTH_MOST if family == "crowds" else GROWTH_MOST)


def test_beside_fifty_providers_that_crash_at_once_demand_is_met_and_operators_are_told(daemon: Daemon) -> None:
    check_beside(daemon, crash_loops(daemon.folder), GROWTH_MOST)


def check_beside(daemon: Daemon, kinds: Sequence[Kind], growth_most: int) -> None:
    """Plays until all is told and the good provider was bought from and returned to, more than once, meanwhile."""
    with staged(daemon, kinds) as stage:
        at_first = stage.rss()
        untold = told_in_time(stage, kinds)
        assert not untold, [(kind.name, daemon.provider(kind.name)) for kind in untold]
        before = stage.good.rounds
        wait_until("demand is met beside them", lambda: stage.good.rounds >= before + 2)
        assert stage.rss() - at_first < growth_most
        assert daemon.rest.get("/v1/health")["status"] in {"ok", "degraded"}
        stage.end()
        assert daemon.stop() == 0
        wait_until("nothing is left running", lambda: not daemon.processes)


def told_in_time(stage: Stage, kinds: Sequence[Kind]) -> list[Kind]:
    """Those of which something was never told; each thing counts whenever it is told."""
    untold = list(kinds)

    def all_told() -> bool:
        untold[:] = [kind for kind in untold if not stage.told_of(kind)]
        return not untold

    try:
        wait_until("all is told", all_told, TOLD_WITHIN_S)
    except AssertionError:
        return untold
    return []


def test_a_thousand_calls_leave_the_daemon_as_small_as_it_was(daemon: Daemon) -> None:
    with staged(daemon, ()) as stage:
        stage.end()  # what is bought and given back is kept as facts for an hour
        readings = memory_over_calls(stage, CALLS)
    # The first third warms caches up.
    assert readings[-1] - readings[3] < CALLS_GROWTH_MOST, readings
