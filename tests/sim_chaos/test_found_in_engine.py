"""What random histories found in the engine, each as the smallest scenario that shows it."""

import pytest
from trio.testing import MockClock

from provisioner.core.effects import SendRequest
from provisioner.core.events import DemandPushed, SupplyPushed
from tests.core.play import cores, settings_for
from tests.runtime.engine_world import FaultyLink, engine_on, make_ready
from tests.virtual_time import pass_s


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that jumps as soon as nothing runs."""
    return MockClock(autojump_threshold=0)


async def test_a_purchase_planned_in_a_commit_that_landed_unknown_is_sent_all_the_same(
    autojump_clock: MockClock,
) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await engine.push(SupplyPushed("lsf", 0, 1, ()))
        await engine.push(DemandPushed("lsf", 0, 2, 1, (cores(3),)))
        await begun.next(SendRequest)
        await pass_s(2)
        # The next commit but one plans a purchase for the second push: nothing else touches it afterwards.
        link.faults = []
        await engine.push(SupplyPushed("lsf", 0, 3, ()))
        planned = {r.id for r in (engine.world() or pytest.fail("no world")).requests.values()}
        link.faults = ["landed"]
        await engine.tell(DemandPushed("lsf", 0, 4, 3, (cores(30),)))
        await pass_s(20)
        sent = await begun.next(SendRequest)
        assert sent.request not in planned
