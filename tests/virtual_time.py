"""Lets virtual time pass in a test, and refuses to do so on a real clock. Knows nothing of what is tested."""

import trio
from trio.testing import MockClock


async def pass_s(seconds: float) -> None:
    """Let virtual seconds pass, everything due in between happening in its order; AssertionError on a real clock."""
    assert isinstance(trio.lowlevel.current_clock(), MockClock), "a test on the real clock waits for an event instead"
    with trio.move_on_after(seconds):
        await trio.sleep_forever()
