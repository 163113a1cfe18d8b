"""Calls to a provider over pipes in memory, under a virtual clock: what becomes of each frame."""

from __future__ import annotations

import json
import math

import pytest
import trio
from trio.testing import MockClock as Clock

from provider_sdk.contract import ErrorClass
from provisioner.edge.list_reader import PageResult
from provisioner.edge.peer import LateAnswer, Notified
from provisioner.runtime.supervision import (
    Answered,
    Failed,
    Lost,
    Outcome,
    Unwritten,
)
from tests.runtime.scripted_provider import Calls, Stage, settle, staged
from tests.virtual_time import pass_s


async def test_answers_reach_their_calls_in_any_order(autojump_clock: Clock) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        for name in "abc":
            calls.start(name)
            await settle()
        sent = [await stage.child.read() for _ in "abc"]
        await stage.child.say({"id": sent[2]["id"], "result": {"of": "c"}})
        await stage.child.say({"id": sent[0]["id"], "result": {"of": "a"}})
        await stage.child.say({"id": sent[1]["id"], "error": {"code": 1002, "message": "throttled"}})
        await settle()
        assert calls.outcomes["a"] == Answered({"of": "a"})
        assert calls.outcomes["c"] == Answered({"of": "c"})
        failed = calls.outcomes["b"]
        assert isinstance(failed, Failed)
        assert failed.error.error_class is ErrorClass.THROTTLED


async def test_cc_2_never_more_frames_are_open_than_promised(autojump_clock: Clock) -> None:
    async with staged(in_flight=2) as stage:
        calls = Calls(stage)
        for name in "abc":
            calls.start(name)
        await settle()
        first, second = [await stage.child.read() for _ in "ab"]
        assert not stage.child.stdin.buffer
        assert not stage.process.has_free_slot
        await stage.child.answer(first)
        third = await stage.child.read()
        assert {call["params"]["name"] for call in (first, second, third)} == set("abc")


async def test_the_operators_bound_on_calls_holds_over_the_promise(autojump_clock: Clock) -> None:
    async with staged(in_flight=16, calls=1) as stage:
        calls = Calls(stage)
        calls.start("a")
        calls.start("b")
        await settle()
        assert stage.child.stdin.buffer.count(b"\n") == 1


async def test_a_call_that_gets_no_slot_in_time_was_never_written(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        calls = Calls(stage)
        calls.start("a", timeout_s=1000)
        await settle()
        calls.start("b", timeout_s=30)
        await pass_s(31)
        assert isinstance(calls.outcomes["b"], Unwritten)
        assert stage.child.stdin.buffer.count(b"\n") == 1
        assert stage.process.ended is None


async def test_cc_5_past_its_deadline_a_call_is_cancelled_and_may_still_be_answered_in_the_grace(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", "request", timeout_s=20)
        sent = await stage.child.read()
        asked = await stage.child.read()
        assert trio.current_time() == pytest.approx(20)
        assert asked == {"jsonrpc": "2.0", "method": "cancel_call", "params": {"id": sent["id"]}}
        await pass_s(9)
        await stage.child.answer(sent, {"outcome": "made"})
        await settle()
        assert calls.outcomes["a"] == Answered({"outcome": "made"})
        assert stage.process.ended is None


async def test_cc_5_without_an_answer_in_the_grace_the_call_is_lost_and_the_process_is_ended(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", "request", timeout_s=40)
        ended = await stage.process.wait_ended()
        assert isinstance(calls.outcomes["a"], Lost)
        assert calls.took_s["a"] == pytest.approx(50)
        assert "no answer to request" in ended.reason
        assert ended.is_gone


async def test_fr_5_an_answer_after_the_call_was_given_up_is_reported_if_it_may_name_a_purchase(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", "request", timeout_s=40)
        calls.start("b", "list", timeout_s=40)
        sent = [await stage.child.read() for _ in "ab"]
        await pass_s(50.5)  # the ladder has begun: the provider is still read
        for call in sent:
            await stage.child.answer(call, {"of": call["method"]})
        await settle()
        (late,) = stage.reported(LateAnswer)
        assert (late.call.method, late.call.params, late.answer) == ("request", {"name": "a"}, {"of": "request"})
        assert stage.process.counts["late"] == 2


async def test_a_call_whose_caller_was_cancelled_keeps_its_slot_until_it_is_answered(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        with trio.move_on_after(5):
            await stage.process.call("request", {}, 60)
        sent = await stage.child.read()
        assert (await stage.child.read())["method"] == "cancel_call"
        calls = Calls(stage)
        calls.start("waits for the slot")
        await settle()
        assert not stage.child.stdin.buffer
        await stage.child.answer(sent, {"outcome": "made"})
        assert (await stage.child.read())["params"] == {"name": "waits for the slot"}
        assert [late.answer for late in stage.reported(LateAnswer)] == [{"outcome": "made"}]


async def test_a_call_whose_caller_was_cancelled_still_ends_the_process_if_it_is_never_answered(
    autojump_clock: Clock,
) -> None:
    async with staged(in_flight=8) as stage:
        with trio.move_on_after(5):
            await stage.process.call("request", {}, 60)
        ended = await stage.process.wait_ended()
        assert "no answer to request" in ended.reason


async def test_a_refused_frame_is_never_written_and_frees_its_slot(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        outcome = await stage.process.call("request", {}, 60, before_write=lambda: "the fence time has passed")
        assert outcome == Unwritten("the fence time has passed")
        assert not stage.child.stdin.buffer
        assert stage.process.has_free_slot


async def test_the_check_may_be_asynchronous_and_is_bounded(autojump_clock: Clock) -> None:
    async def says_no() -> str | None:
        await pass_s(1)
        return "no longer owed"

    async def never_says() -> str | None:
        await pass_s(math.inf)
        return None

    async with staged(in_flight=1) as stage:
        assert await stage.process.call("request", {}, 60, before_write=says_no) == Unwritten("no longer owed")
        assert isinstance(await stage.process.call("request", {}, 60, before_write=never_says), Unwritten)
        assert not stage.child.stdin.buffer


async def test_the_check_is_asked_again_when_the_pipe_was_full_and_the_writing_is_told(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        asked: list[float] = []
        told: list[float] = []

        def check() -> str | None:
            asked.append(trio.current_time())
            return None

        calls = Calls(stage)
        calls.start("a", before_write=check, on_written=lambda: told.append(trio.current_time()))
        await pass_s(20)
        assert (asked, told) == ([0.0], [])
        stage.child.stdin.room = 65536
        stage.child.stdin._change()
        await stage.child.read()
        assert (asked, told) == ([0.0, 20.0], [20.0])


async def test_a_fault_of_the_check_leaves_nothing_open(autojump_clock: Clock) -> None:
    def faulty() -> str | None:
        raise ZeroDivisionError

    async with staged(in_flight=1) as stage:
        with pytest.raises(ZeroDivisionError):
            await stage.process.call("request", {}, 60, before_write=faulty)
        assert stage.process.has_free_slot


async def test_a_frame_that_found_no_room_is_unwritten_and_the_process_lives(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        assert isinstance(await stage.process.call("request", {}, 25), Unwritten)
        assert trio.current_time() == pytest.approx(25)
        stage.child.stdin.room = 65536
        Calls(stage).start("b")
        await settle()
        assert (await stage.child.read())["params"] == {"name": "b"}


async def test_a_frame_written_in_part_is_lost_and_spoils_the_pipe_for_all_others(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 10
        calls = Calls(stage)
        calls.start("a", "request", timeout_s=25)
        await settle()
        calls.start("b", "request", timeout_s=500)
        ended = await stage.process.wait_ended()
        await settle()
        assert isinstance(calls.outcomes["a"], Lost)
        assert isinstance(calls.outcomes["b"], Unwritten)
        assert ended.reason == "the provider stopped reading in the middle of a frame"


async def test_a_caller_cancelled_in_the_middle_of_a_frame_does_not_spoil_it(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 10
        with trio.move_on_after(5) as scope:
            stage.nursery.start_soon(_make_room_after, stage, 12)
            await stage.process.call("request", {"a": "b"}, 25)
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(12)
        assert (await stage.child.read())["params"] == {"a": "b"}


async def _make_room_after(stage: Stage, after_s: float) -> None:
    await pass_s(after_s)
    stage.child.stdin.room = 65536
    stage.child.stdin._change()


async def test_a_caller_cancelled_before_the_first_byte_leaves_no_trace(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        stage.child.stdin.room = 0
        with trio.move_on_after(5):
            await stage.process.call("request", {}, 25)
        assert stage.process.has_free_slot
        assert not stage.child.stdin.buffer


async def test_fr_3_a_frame_over_1_mib_is_not_sent(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        outcome = await stage.process.call("request", {"data": "x" * (1 << 20)}, 60)
        assert isinstance(outcome, Unwritten)
        assert stage.process.has_free_slot


async def test_hs_2_nothing_but_initialize_goes_out_before_the_handshake_is_over(autojump_clock: Clock) -> None:
    async with staged(in_flight=None) as stage:
        assert isinstance(await stage.process.call("list", {}, 60), Unwritten)
        calls = Calls(stage)
        calls.start("i", "initialize")
        sent = await stage.child.read()
        await stage.child.say({"method": "changed", "params": {"what": ["health"]}})
        await stage.child.say({"method": "log", "params": {"level": "info", "text": "hello"}})
        await stage.child.answer(sent)
        await settle()
        assert calls.outcomes["i"] == Answered({})
        assert [said.name for said in stage.reported(Notified)] == ["log"]
        stage.process.handshake_done(1)
        await stage.child.say({"method": "changed", "params": {"what": ["health"]}})
        await settle()
        assert [said.name for said in stage.reported(Notified)] == ["log", "changed"]


async def test_fr_5_an_answer_that_comes_before_its_frame_was_written_counts_for_nothing(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        calls = Calls(stage)
        calls.start("a", timeout_s=20)
        await settle()
        await stage.child.say({"id": 1, "result": {"of": "nothing"}})
        await settle()
        stage.child.stdin.room = 65536
        stage.child.stdin._change()
        await settle()
        outcome = calls.outcomes["a"]
        assert isinstance(outcome, Unwritten)
        assert "before it was asked" in outcome.reason
        assert not stage.child.stdin.buffer


async def test_a_call_that_was_answered_before_it_was_asked_and_finds_no_room_is_unwritten(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        calls = Calls(stage)
        calls.start("a", timeout_s=5)
        await settle()
        await stage.child.say({"id": 1, "result": {}})
        await pass_s(6)
        assert isinstance(calls.outcomes["a"], Unwritten)
        assert stage.process.has_free_slot


async def test_cc_8_what_is_open_when_the_process_ends_by_itself_is_lost_and_no_order_of_ours(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a")
        await settle()
        await stage.child.read()
        stage.child.exit(1)
        await stage.process.wait_ended()
        await settle()
        lost = calls.outcomes["a"]
        assert isinstance(lost, Lost)
        assert not lost.ordered


async def test_what_is_open_when_the_daemon_ends_the_process_is_lost_by_order(autojump_clock: Clock) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", timeout_s=600)
        await settle()
        await stage.process.stop("restarted by an operator")
        await settle()
        lost = calls.outcomes["a"]
        assert isinstance(lost, Lost)
        assert lost.ordered


async def test_a_call_without_an_answer_ends_the_process_and_is_no_order_of_ours(autojump_clock: Clock) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("slow", timeout_s=1)
        calls.start("beside", timeout_s=600)
        await stage.process.wait_ended()
        await settle()
        assert [calls.outcomes[name].ordered for name in ("slow", "beside")] == [False, False]  # type: ignore[union-attr]


async def test_a_long_list_settles_its_call_and_reads_like_any_other_answer(autojump_clock: Clock) -> None:
    hosts = [{"instance": f"i-{n}", "units": 1, "state": "running", "template": "small"} for n in range(200)]
    result = {"instances": hosts, "age_s": 1, "complete": True}
    async with staged() as stage, trio.open_nursery() as nursery:
        outcomes: list[Outcome] = []

        async def ask(method: str) -> None:
            outcomes.append(await stage.process.call(method, {}, 10))

        for method in ("list", "describe"):
            nursery.start_soon(ask, method)
            await settle()
            call = await stage.child.read()
            for call_id in (call["id"] + 100, call["id"]):  # nobody asked the first
                said = {"jsonrpc": "2.0", "id": call_id, "result": result}
                await stage.child.out.send_all(json.dumps(said, separators=(",", ":")).encode() + b"\n")
            await settle()
    by_list, by_describe = outcomes
    assert isinstance(by_list, Answered)
    assert isinstance(by_list.result, PageResult)
    assert [seen.provider_id for seen in by_list.result.page.instances] == [f"i-{n}" for n in range(200)]
    assert dict(by_list.result) == result
    assert by_describe == Answered(result)
    assert stage.process.counts["unknown_id"] == 2
