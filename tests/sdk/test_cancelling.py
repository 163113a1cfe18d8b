"""What `cancel_call` must name before a call is given up."""

from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from provider_sdk.contract import DescribeParams, DescribeResult
from tests.sdk.conversation import conversation
from tests.sdk.shop import Shop


@pytest.mark.parametrize("params", [{}, {"id": True}, {"id": 1.0}, {"id": "1"}, {"id": [1]}, {"id": 0}])
async def test_cc_6_what_names_no_call_gives_none_up(
    params: dict[str, object], tmp_path: Path, autojump_clock: MockClock
) -> None:
    begun, may_end = trio.Event(), trio.Event()

    async def slow(params: DescribeParams) -> DescribeResult:
        begun.set()
        await may_end.wait()
        return DescribeResult(revision="r1")

    async with conversation(Shop(describe=slow)) as daemon:
        await daemon.greet(tmp_path)
        daemon._next_id = 0  # so that the call's id is 1, which Python holds equal to True
        running = await daemon.ask("describe")
        await begun.wait()
        await daemon.tell("cancel_call", params)
        await trio.testing.wait_all_tasks_blocked()
        may_end.set()
        assert "result" in await daemon.answer_to(running)
