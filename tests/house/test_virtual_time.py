"""Virtual time passes only on a virtual clock, and in order."""

import pytest
import trio
from trio.testing import MockClock

from tests.virtual_time import pass_s


async def test_virtual_time_passes_in_order(autojump_clock: MockClock) -> None:
    seen: list[str] = []

    async def note(after_s: float, what: str) -> None:
        await pass_s(after_s)
        seen.append(what)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(note, 20.0, "later")
        nursery.start_soon(note, 10.0, "sooner")
        await pass_s(15.0)
        assert seen == ["sooner"]
    assert seen == ["sooner", "later"]
    assert trio.current_time() == pytest.approx(20.0)


async def test_a_test_on_the_real_clock_is_refused() -> None:
    with pytest.raises(AssertionError, match="waits for an event instead"):
        await pass_s(0.0)
