import re
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from provider_sdk.contract import Capability
from provider_sdk.errors import ConfigFault
from provider_sdk.provider import Start
from provider_sdk.stages import Ending
from provider_sdk.state import StateFolder
from tests.sdk.conversation import conversation, error_class, greeting, purchase
from tests.sdk.shop import Shop
from tests.virtual_time import pass_s


async def test_hs_1_the_answer_to_initialize_ends_the_handshake(tmp_path: Path, autojump_clock: MockClock) -> None:
    shop = Shop(in_flight=3)
    async with conversation(shop) as daemon:
        answer = await daemon.greet(tmp_path, config={"region": "x"})
        result = answer["result"]
        assert result["version"] == "2.1"
        assert result["provider"] == {"name": "shop", "version": "1.0"}
        assert result["kinds"] == ["host"]
        assert re.fullmatch(r"[0-9a-f]{16,64}", result["state_id"])
        assert result["promises"]["calls"]["in_flight"] == 3
        assert (await daemon.call("describe"))["result"] == {"revision": "r1"}
    assert shop.start is not None
    assert shop.start.config == {"region": "x"}
    assert shop.start.state.path == tmp_path


async def test_hs_2_a_request_before_initialize_begins_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        answer = await daemon.call("request", purchase())
        assert (answer["error"]["code"], error_class(answer)) == (-32002, "not_initialized")
        await daemon.tell("cancel_call", {"id": 1})
        assert "result" in await daemon.greet(tmp_path)
    assert shop.begun == []


async def test_hs_2_while_the_provider_opens_requests_are_refused_and_a_second_initialize_too(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    opening, may_open = trio.Event(), trio.Event()

    async def slow(start: Start) -> None:
        opening.set()
        await may_open.wait()

    async with conversation(Shop(open=slow)) as daemon:
        first = await daemon.ask("initialize", greeting(tmp_path))
        await opening.wait()
        assert error_class(await daemon.call("ping")) == "not_initialized"
        second = await daemon.call("initialize", greeting(tmp_path))
        assert (second["error"]["code"], error_class(second)) == (-32600, "bad_message")
        may_open.set()
        assert "result" in await daemon.answer_to(first)
        third = await daemon.call("initialize", greeting(tmp_path))
        assert error_class(third) == "bad_message"


class SlowPipe(trio.abc.SendStream):
    """A pipe whose writer goes on long after the reader has read."""

    def __init__(self, pipe: trio.abc.SendStream) -> None:
        self.pipe = pipe

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.pipe.send_all(data)
        await pass_s(1)

    async def wait_send_all_might_not_block(self) -> None:
        await self.pipe.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        await self.pipe.aclose()


async def test_hs_1_whoever_has_read_the_answer_is_served_at_once(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop(), output=SlowPipe) as daemon:
        await daemon.greet(tmp_path)
        assert "result" in await daemon.call("describe")


async def test_hs_2_before_its_answer_a_provider_says_nothing_but_log(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def talkative(start: Start) -> None:
        start.notify.changed("description")
        start.notify.log("info", "reading prices")
        await trio.lowlevel.checkpoint()
        await trio.testing.wait_all_tasks_blocked()

    async with conversation(Shop(open=talkative)) as daemon:
        await daemon.greet(tmp_path)
        assert [frame["method"] for frame in daemon.passed_over()] == ["log"]
        assert (await daemon.next_frame())["method"] == "changed"


async def test_hs_3_without_a_common_version_both_sides_stop_for_an_operator(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Shop()) as daemon:
        answer = await daemon.greet(tmp_path, versions=["3.1", "3.0"])
        assert (answer["error"]["code"], error_class(answer)) == (-32010, "version")
        assert answer["error"]["data"]["supported"] == ["2.1", "2.0"]
        assert await daemon.exit() == 78
        assert daemon.endings == [(Ending.NOT_GREETED, 78)]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["2.1", "2.0"], "2.1"),
        (["2.0"], "2.0"),
        (["2.0", "2.1"], "2.0"),
        (["3.0", "2.0"], "2.0"),
        (["2.9", "2.1"], "2.1"),
    ],
)
async def test_hs_3_of_the_versions_offered_the_first_that_is_spoken_here_is_answered(
    offered: list[str], chosen: str, tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Shop()) as daemon:
        assert (await daemon.greet(tmp_path, versions=offered))["result"]["version"] == chosen


async def test_hs_3_the_version_is_read_even_if_a_later_initialize_has_another_shape(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Shop()) as daemon:
        answer = await daemon.call("initialize", {"versions": ["3.0"], "everything": "else"})
        assert error_class(answer) == "version"


async def test_hs_4_a_faulty_configuration_is_told_with_every_fault(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def picky(start: Start) -> None:
        raise ConfigFault([("/region", "is not known"), ("/zone", "must be text")])

    async with conversation(Shop(open=picky)) as daemon:
        answer = await daemon.greet(tmp_path)
        assert (answer["error"]["code"], error_class(answer)) == (-32011, "config")
        assert answer["error"]["data"]["faults"] == [
            {"path": "/region", "detail": "is not known"},
            {"path": "/zone", "detail": "must be text"},
        ]
        assert await daemon.exit() == 78


async def test_faulty_params_of_initialize_are_all_named(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        answer = await daemon.greet(tmp_path, cluster="Not A Name", epoch="seven")
        assert (answer["error"]["code"], error_class(answer)) == (-32602, "bad_params")
        assert {fault["path"] for fault in answer["error"]["data"]["faults"]} == {"/cluster", "/epoch"}
        assert await daemon.exit() == 1


async def test_a_bug_in_open_is_a_crash_that_tells_the_wire_nothing(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def buggy(start: Start) -> None:
        raise RuntimeError("password hunter2")

    async with conversation(Shop(open=buggy)) as daemon:
        answer = await daemon.greet(tmp_path)
        assert error_class(answer) == "internal"
        assert "hunter2" not in str(answer)
        assert answer["error"]["data"]["ref"] in daemon.logged[0]
        assert "hunter2" in daemon.logged[0]
        assert await daemon.exit() == 1


async def test_a_declared_capability_without_its_method_is_a_bug(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop(capabilities=(Capability.QUOTE,))) as daemon:
        assert error_class(await daemon.greet(tmp_path)) == "internal"


async def test_hs_6_two_conversations_never_serve_one_state_folder(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as first:
        assert "result" in await first.greet(tmp_path)
        async with conversation(Shop()) as second:
            answer = await second.greet(tmp_path, epoch=8)
            assert (answer["error"]["code"], error_class(answer)) == (-32013, "state_locked")
            assert await second.exit() == 0
        await first.tell("exit")
        assert await first.exit() == 0
    async with conversation(Shop()) as third:
        assert "result" in await third.greet(tmp_path)


async def test_a_refused_handshake_leaves_the_state_folder_unlocked(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def picky(start: Start) -> None:
        raise ConfigFault([("", "no")])

    async with conversation(Shop(open=picky)) as first:
        await first.greet(tmp_path)
        async with conversation(Shop()) as second:
            assert "result" in await second.greet(tmp_path)


async def test_hs_7_a_checking_process_answers_only_what_changes_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        assert "result" in await daemon.greet(tmp_path, mode="check", epoch=0)
        assert error_class(await daemon.call("request", purchase(epoch=0))) == "bad_message"
        assert "result" in await daemon.call("describe")
        assert "result" in await daemon.call("list")
        assert "result" in await daemon.call("ping")
        assert "result" in await daemon.call("shutdown", {"grace_s": 5})
    assert shop.begun == ["describe"]


async def test_ep_1_the_epoch_is_stored_before_the_answer_and_a_lower_one_is_fenced(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    stored: list[int] = []

    async def look(start: Start) -> None:
        stored.append(StateFolder(tmp_path).highest_epoch("l-1"))

    async with conversation(Shop(open=look)) as daemon:
        await daemon.greet(tmp_path, epoch=9)
    assert stored == [9]
    async with conversation(Shop()) as daemon:
        answer = await daemon.greet(tmp_path, epoch=8)
        assert (answer["error"]["code"], error_class(answer)) == (-32012, "fenced")
        assert answer["error"]["data"]["limit"] == {"name": "epoch", "value": 9, "used": 8}
        assert await daemon.exit() == 0
    async with conversation(Shop()) as daemon:
        assert "result" in await daemon.greet(tmp_path, epoch=9)


async def test_epochs_of_another_lineage_are_not_compared(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path, epoch=9)
    async with conversation(Shop()) as daemon:
        assert "result" in await daemon.greet(tmp_path, epoch=1, lineage="l-2")


async def test_st_4_the_state_id_stays_with_the_folder(tmp_path: Path, autojump_clock: MockClock) -> None:
    ids = []
    for folder in ("one", "one", "two"):
        async with conversation(Shop()) as daemon:
            ids.append((await daemon.greet(tmp_path / folder))["result"]["state_id"])
    assert ids[0] == ids[1] != ids[2]


async def test_exit_ends_a_handshake_that_does_not_end(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def endless(start: Start) -> None:
        await trio.sleep_forever()

    async with conversation(Shop(open=endless)) as daemon:
        await daemon.ask("initialize", greeting(tmp_path))
        await trio.testing.wait_all_tasks_blocked()
        await daemon.tell("exit")
        assert await daemon.exit() == 0
        assert trio.current_time() < 1
