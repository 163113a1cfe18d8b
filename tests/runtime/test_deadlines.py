"""One timer for many waits."""

import pytest
import trio
from trio.testing import MockClock as Clock

from provisioner.runtime.deadlines import Deadlines
from tests.virtual_time import pass_s


async def test_each_event_is_set_at_its_own_time_in_whatever_order_they_came(autojump_clock: Clock) -> None:
    deadlines, told = Deadlines(), []
    begun = trio.current_time()
    async with trio.open_nursery() as nursery:

        async def wait(due_s: float) -> None:
            event = trio.Event()
            deadlines.watch(event, begun + due_s)
            await event.wait()
            told.append((due_s, trio.current_time() - begun))
            if len(told) == 4:
                nursery.cancel_scope.cancel()

        nursery.start_soon(deadlines.run)
        for due_s in (30.0, 5.0, 60.0, 5.0):
            nursery.start_soon(wait, due_s)
    assert told == [(5.0, 5.0), (5.0, 5.0), (30.0, 30.0), (60.0, 60.0)]


async def test_who_let_go_is_not_told_and_others_are_on_time(autojump_clock: Clock) -> None:
    deadlines, answered, late = Deadlines(), trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        deadlines.watch(answered, trio.current_time() + 10)
        await pass_s(1)
        deadlines.let_go(answered)
        deadlines.watch(late, trio.current_time() + 60)
        await pass_s(59)
        assert not late.is_set()
        await pass_s(1.5)
        assert late.is_set()
        assert not answered.is_set()
        nursery.cancel_scope.cancel()


async def test_long_times_that_are_over_within_a_second_are_over_together_and_short_ones_when_they_are(
    autojump_clock: Clock,
) -> None:
    deadlines, told = Deadlines(), []
    begun = trio.current_time()
    assert begun == int(begun)
    async with trio.open_nursery() as nursery:

        async def wait(due_s: float) -> None:
            event = trio.Event()
            deadlines.watch(event, begun + due_s)
            await event.wait()
            told.append((due_s, trio.current_time() - begun))

        nursery.start_soon(deadlines.run)
        for due_s in (9.3, 20.7, 20.2):
            nursery.start_soon(wait, due_s)
        await pass_s(30)
        nursery.cancel_scope.cancel()
    assert sorted(told) == [(9.3, pytest.approx(9.3)), (20.2, 21.0), (20.7, 21.0)]
