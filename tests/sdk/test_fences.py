from pathlib import Path

from trio.testing import MockClock

from provider_sdk.call import Call
from provider_sdk.contract import Report, RequestParams
from provider_sdk.errors import StateFull
from provider_sdk.stages import Ending
from provider_sdk.state import StateFolder
from tests.sdk.conversation import conversation, error_class, give_back, purchase
from tests.sdk.shop import Gate, Shop


async def test_ep_4_a_call_after_its_time_or_of_another_epoch_begins_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        daemon.boot_s = 100.0
        late = await daemon.call("request", purchase(not_after=100.0))
        assert (late["error"]["code"], late["error"]["data"]["outcome"]) == (-32012, "not_made")
        other = await daemon.call("request", purchase(epoch=6, not_after=200))
        assert (error_class(other), other["error"]["data"]["outcome"]) == ("fenced", "not_made")
        assert error_class(await daemon.call("return", give_back("m.1"))) == "fenced"
    assert shop.begun == []


async def test_ep_4_the_fence_falls_between_the_begin_of_a_call_and_its_far_side_change(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    async with conversation(Shop(request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1", not_after=60.5))
        await gate.at("tk-1")[0].wait()
        daemon.boot_s = 61.0
        gate.at("tk-1")[1].set()
        answer = await daemon.answer_to(running)
        assert (error_class(answer), answer["error"]["data"]["outcome"]) == ("fenced", "not_made")


async def test_a_fence_after_a_first_far_side_change_never_says_not_made(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def twice(params: RequestParams, call: Call) -> Report:
        call.check_fence()
        daemon.boot_s = 101.0
        call.check_fence()
        raise AssertionError

    async with conversation(Shop(request=twice)) as daemon:
        await daemon.greet(tmp_path)
        answer = await daemon.call("request", purchase())
        assert (error_class(answer), answer["error"]["data"]["outcome"]) == ("transient", "unknown")


async def test_ep_2_a_higher_stored_epoch_fences_the_call_and_ends_the_process(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    async with conversation(Shop(request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1"))
        await gate.at("tk-1")[0].wait()
        StateFolder(tmp_path).claim_epoch("l-1", 8)  # as another machine with the folder shared would
        gate.at("tk-1")[1].set()
        answer = await daemon.answer_to(running)
        assert (error_class(answer), answer["error"]["data"]["outcome"]) == ("fenced", "not_made")
        assert await daemon.exit() == 0
        assert daemon.endings == [(Ending.SUPERSEDED, 0)]


async def test_a_bug_in_a_purchase_is_internal_with_a_ref_and_an_unknown_outcome(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def buggy(params: RequestParams, call: Call) -> Report:
        raise ExceptionGroup("outer", [ValueError("secret hunter2")])

    async with conversation(Shop(request=buggy)) as daemon:
        await daemon.greet(tmp_path)
        answer = await daemon.call("request", purchase())
        data = answer["error"]["data"]
        assert (answer["error"]["code"], data["error_class"], data["outcome"]) == (-32603, "internal", "unknown")
        assert "hunter2" not in str(answer)
        assert data["ref"] in daemon.logged[0]
        assert "hunter2" in daemon.logged[0]


class Careful(Shop):
    """Vows to check the fence before every far-side change."""

    checks_fence = True


async def test_a_careful_provider_that_fails_before_its_first_check_has_made_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def full_disk(params: RequestParams, call: Call) -> Report:
        if params.token == "tk-2":
            call.check_fence()
        raise StateFull("ledger.json can't be stored: No space left on device")

    async with conversation(Careful(request=full_disk)) as daemon:
        await daemon.greet(tmp_path)
        before = (await daemon.call("request", purchase("tk-1")))["error"]["data"]
        after = (await daemon.call("request", purchase("tk-2")))["error"]["data"]
        assert (before["error_class"], before["outcome"], before["reason"]) == ("transient", "not_made", "state")
        assert "No space left" in before["detail"]
        assert after["outcome"] == "unknown"


async def test_ep_2_a_memory_that_was_taken_away_fences_too(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        (tmp_path / "sdk-memory.json").unlink()
        answer = await daemon.call("request", purchase())
        assert (error_class(answer), answer["error"]["data"]["outcome"]) == ("fenced", "not_made")
