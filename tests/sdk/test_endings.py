from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, memory_stream_one_way_pair

from provider_sdk.call import Call
from provider_sdk.contract import DescribeParams, DescribeResult, Report, RequestParams, ShutdownParams, ShutdownResult
from provider_sdk.session import FINISH_S, Session
from provider_sdk.stages import Ending
from tests.sdk.conversation import conversation, error_class, purchase
from tests.sdk.shop import Gate, Shop, made
from tests.virtual_time import pass_s


async def test_hs_8_shutdown_begins_nothing_queued_lets_running_calls_finish_and_is_answered_last(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    shop = Shop(in_flight=1, request=gate.request)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1"))
        queued = await daemon.ask("request", purchase("tk-2"))
        shutdown = await daemon.ask("shutdown", {"grace_s": 20})
        refused = await daemon.answer_to(queued)
        assert (refused["error"]["code"], error_class(refused)) == (-32001, "shutting_down")
        assert gate.calls["tk-1"].stopping
        assert error_class(await daemon.call("describe")) == "shutting_down"
        gate.at("tk-1")[1].set()
        assert (await daemon.next_frame())["id"] == running
        assert (await daemon.next_frame())["id"] == shutdown
        await daemon.tell("exit")
        assert await daemon.exit() == 0
    assert shop.begun == ["request tk-1"]


class Tidy(Shop):
    """Counts what stays open."""

    async def shutdown(self, params: ShutdownParams) -> ShutdownResult:
        return ShutdownResult(open=3)


async def test_hs_8_shutdown_tells_what_stays_open_and_end_of_input_follows(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Tidy()) as daemon:
        await daemon.greet(tmp_path)
        assert (await daemon.call("shutdown", {"grace_s": 20}))["result"] == {"open": 3}
        await daemon.end_input()
        assert await daemon.exit() == 0


async def test_hs_8_shutdown_is_answered_within_its_grace_even_if_a_call_never_ends(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def endless(params: RequestParams, call: Call) -> Report:
        await trio.sleep_forever()
        raise AssertionError

    async with conversation(Unhurried(request=endless)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase())
        asked_at = trio.current_time()
        assert "result" in await daemon.call("shutdown", {"grace_s": 20})
        assert 15 < trio.current_time() - asked_at <= 20


class Unhurried(Shop):
    """Takes its time to say what stays open."""

    async def shutdown(self, params: ShutdownParams) -> ShutdownResult:
        await pass_s(0.5)
        return ShutdownResult(open=1)


class Slow(Shop):
    """Never says what stays open."""

    async def shutdown(self, params: ShutdownParams) -> ShutdownResult:
        await trio.sleep_forever()
        raise AssertionError


async def test_hs_8_a_provider_that_hangs_in_shutdown_is_answered_for(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Slow()) as daemon:
        await daemon.greet(tmp_path)
        asked_at = trio.current_time()
        assert error_class(await daemon.call("shutdown", {"grace_s": 20})) == "transient"
        assert trio.current_time() - asked_at <= 20


async def test_hs_9_at_the_end_of_input_queued_calls_are_dropped_and_running_ones_answered(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    shop = Shop(in_flight=1, request=gate.request)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1"))
        queued = await daemon.ask("request", purchase("tk-2"))
        await daemon.end_input()
        assert error_class(await daemon.answer_to(queued)) == "shutting_down"
        gate.at("tk-1")[1].set()
        assert (await daemon.answer_to(running))["result"]["outcome"] == "made"
        assert await daemon.exit() == 0
        assert daemon.endings == [(Ending.INPUT_ENDED, 0)]
    assert shop.begun == ["request tk-1"]


async def test_hs_9_a_call_that_never_ends_does_not_hold_up_the_exit(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def endless(params: RequestParams, call: Call) -> Report:
        await trio.sleep_forever()
        raise AssertionError

    async with conversation(Shop(request=endless)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase())
        await daemon.end_input()
        ended_at = trio.current_time()
        assert await daemon.exit() == 0
        assert trio.current_time() - ended_at == pytest.approx(FINISH_S)


async def test_hs_9_the_end_of_input_during_the_handshake_ends_the_process(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.end_input()
        assert await daemon.exit() == 0


async def test_exit_waits_for_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def endless(params: DescribeParams) -> DescribeResult:
        await trio.sleep_forever()
        raise AssertionError

    async with conversation(Shop(describe=endless)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("describe")
        begun_at = trio.current_time()
        await daemon.tell("exit")
        assert await daemon.exit() == 0
        assert trio.current_time() == begun_at


async def test_a_daemon_that_reads_no_more_is_no_error(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    async with conversation(Shop(request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase("tk-1"))
        await gate.at("tk-1")[0].wait()
        await daemon.stop_reading()
        gate.at("tk-1")[1].set()
        await daemon.end_input()
        assert await daemon.exit() == 0
        assert daemon.logged == ["provider: nobody reads the answers any more"]


async def test_a_thousand_calls_at_once_are_all_answered(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def quick(params: RequestParams, call: Call) -> Report:
        await pass_s(1)
        return made(params)

    async with conversation(Shop(in_flight=16, request=quick)) as daemon:
        await daemon.greet(tmp_path)
        asked = [await daemon.ask("request", purchase(f"tk-{n}")) for n in range(1_000)]
        answers = [await daemon.next_frame() for _ in asked]
        assert sorted(answer["id"] for answer in answers) == asked
        assert all("result" in answer for answer in answers)


async def test_a_queue_that_is_full_refuses_without_beginning(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    async with conversation(Shop(in_flight=1, request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        for number in range(1 + 1_024):
            await daemon.ask("request", purchase(f"tk-{number}"))
        one_more = (await daemon.call("request", purchase("tk-x")))["error"]["data"]
        assert (one_more["error_class"], one_more["outcome"], one_more["retry_after_s"]) == ("throttled", "not_made", 1)
        assert "result" in await daemon.call("ping")


async def test_hs_9_a_signal_before_the_first_read_ends_the_process_too(autojump_clock: MockClock) -> None:
    to_provider, receive = memory_stream_one_way_pair()
    send, _ = memory_stream_one_way_pair()
    session = Session(Shop(), send, boot_now=lambda: 0.0, log=lambda line: None)
    session.end_from_anywhere(Ending.TERMINATED)
    with trio.fail_after(5):
        assert await session.run(receive) == 0
    await to_provider.aclose()
