"""Calls to a provider over pipes in memory, under a virtual clock: what becomes of each frame."""

from __future__ import annotations

import math
import signal
from functools import partial
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock as Clock

from provider_sdk.contract import ErrorClass
from provisioner.edge.peer import LateAnswer, Notified
from provisioner.runtime.supervision import (
    Answered,
    Ended,
    EndKind,
    Failed,
    Graces,
    HeardAgain,
    Lost,
    Outcome,
    PingAnswered,
    Quiet,
    Unwritten,
)
from tests.runtime.scripted_provider import MemoryChild, Stage, staged


class Calls:
    """Calls under way and the outcomes of those that came back."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.outcomes: dict[str, Outcome] = {}
        self.took_s: dict[str, float] = {}

    def start(self, name: str, method: str = "list", timeout_s: float = 60, **how: Any) -> None:
        self.stage.nursery.start_soon(partial(self._call, name, method, timeout_s, **how))

    async def _call(self, name: str, method: str, timeout_s: float, **how: Any) -> None:
        began = trio.current_time()
        self.outcomes[name] = await self.stage.process.call(method, {"name": name}, timeout_s, **how)
        self.took_s[name] = trio.current_time() - began


async def settle() -> None:
    await trio.testing.wait_all_tasks_blocked()


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
        await trio.sleep(31)
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
        await trio.sleep(9)
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
        await trio.sleep(50.5)  # the ladder has begun: the provider is still read
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
        await trio.sleep(1)
        return "no longer owed"

    async def never_says() -> str | None:
        await trio.sleep(math.inf)
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
        await trio.sleep(20)
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
    await trio.sleep(after_s)
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


async def test_fr_6_a_request_of_the_provider_is_refused(autojump_clock: Clock) -> None:
    async with staged() as stage:
        await stage.child.say({"id": 77, "method": "sampling", "params": {}})
        reply = await stage.child.read()
        assert (reply["id"], reply["error"]["code"]) == (77, -32601)


async def test_fr_4_twenty_junk_lines_in_a_minute_end_the_process_and_a_good_frame_after_junk_counts(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", timeout_s=600)
        sent = await stage.child.read()
        for line in (b"banner\x1b[2J\n", b"[1,2]\n", b'{"a":1}\n', b"17\n"):
            await stage.child.out.send_all(line)
            await settle()
        await stage.child.answer(sent)
        await settle()
        assert calls.outcomes["a"] == Answered({})
        assert stage.log.of("provider_stdout_junk")[0]["text"] == "banner\\x1b[2J"
        for _ in range(15):
            await stage.child.out.send_all(b"junk\n")
        await settle()
        assert stage.process.ended is None
        await stage.child.out.send_all(b"junk\n")
        assert "no messages" in (await stage.process.wait_ended()).reason


async def test_fr_4_junk_that_is_spread_out_ends_nothing(autojump_clock: Clock) -> None:
    async with staged() as stage:
        for _ in range(40):
            await stage.child.out.send_all(b"junk\n")
            await settle()
            await stage.child.say({"method": "log", "params": {}})
            await trio.sleep(3.3)
        assert stage.process.ended is None


async def test_fr_3_a_frame_over_the_limit_settles_all_calls_at_once_and_ends_the_process(
    autojump_clock: Clock,
) -> None:
    async with staged(frame_bytes=1000) as stage:
        calls = Calls(stage)
        calls.start("a", "request")
        await stage.child.read()
        await stage.child.out.send_all(b"x" * 1001)
        await settle()
        assert calls.outcomes["a"] == Lost("frame too large (limit 1000 bytes)")
        assert (await stage.process.wait_ended()).reason == "frame too large (limit 1000 bytes)"


async def test_cc_8_the_death_of_the_process_settles_all_calls_within_a_second_with_status(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        for name in "abcde":
            calls.start(name, "request")
        await settle()
        await stage.child.err.send_all(b"Traceback\nout of memory")
        stage.child.exit(None, 9)
        await trio.sleep(1)
        assert all(isinstance(outcome, Lost) and "SIGKILL" in outcome.reason for outcome in calls.outcomes.values())
        assert len(calls.outcomes) == 5
        ended = stage.process.ended
        assert ended is not None
        assert ended.stderr_tail == ("Traceback", "out of memory")
        assert (ended.kind, ended.is_gone) == (EndKind.CRASH, True)
        assert isinstance(await stage.process.call("list", {}, 5), Unwritten)
    assert [type(report) for report in stage.reports] == [Ended]


async def test_an_answer_written_just_before_the_death_counts(autojump_clock: Clock) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", "request")
        sent = await stage.child.read()
        await stage.child.answer(sent, {"outcome": "made"})
        stage.child.exit(3)
        await stage.process.wait_ended()
        assert calls.outcomes["a"] == Answered({"outcome": "made"})


async def test_cc_7_a_silent_provider_is_asked_called_degraded_heard_again_or_ended(autojump_clock: Clock) -> None:
    async with staged() as stage:
        assert (await stage.child.read())["method"] == "ping"
        assert trio.current_time() == pytest.approx(30)
        await trio.sleep(30.5)
        assert stage.reported(Quiet) == [Quiet(30.0)]
        await trio.sleep(10)
        await stage.child.say({"id": 1, "result": {"health": "down"}})
        await settle()
        assert stage.reported(PingAnswered) == [PingAnswered({"health": "down"})]
        assert stage.reported(HeardAgain) == [HeardAgain()]
        ended = await stage.process.wait_ended()
        assert "no answer to ping" in ended.reason
        # heard at 70.5; asked at 100.5; given up at 190.5, then the ladder
        assert trio.current_time() == pytest.approx(190.5, abs=30)


async def test_cc_7_a_provider_that_speaks_or_has_no_free_slot_is_not_asked(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        for _ in range(10):
            await trio.sleep(29)
            await stage.child.say({"method": "progress", "params": {}})
            await settle()
        Calls(stage).start("a", timeout_s=500)
        await stage.child.read()
        await trio.sleep(400)
        assert not stage.child.stdin.buffer


async def test_the_ladder_goes_in_order_and_lets_running_calls_finish(autojump_clock: Clock) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", "request")
        sent = await stage.child.read()
        stage.nursery.start_soon(stage.process.stop, "configuration changed")
        shutdown = await stage.child.read()
        assert (shutdown["method"], shutdown["params"]) == ("shutdown", {"grace_s": 10})
        assert isinstance(await stage.process.call("list", {}, 5), Unwritten)
        await stage.child.answer(sent, {"outcome": "made"})
        await settle()
        assert calls.outcomes["a"] == Answered({"outcome": "made"})
        assert not stage.child.stdin.closed
        await stage.child.answer(shutdown, {"open": 0})
        ended = await stage.process.wait_ended()
        assert (ended.reason, ended.kind) == ("configuration changed", EndKind.ORDERLY)
        assert stage.child.signals == []


async def test_a_provider_whose_only_slot_is_taken_gets_shutdown_when_the_slot_is_free(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        Calls(stage).start("a", "request")
        sent = await stage.child.read()
        stage.nursery.start_soon(stage.process.stop, "over")
        await trio.sleep(4)
        assert not stage.child.stdin.buffer
        await stage.child.answer(sent)
        assert (await stage.child.read())["method"] == "shutdown"


async def test_a_process_that_does_nothing_is_ended_step_by_step_in_bounded_time(autojump_clock: Clock) -> None:
    child = MemoryChild()
    child.exits_with_stdin = None
    graces = Graces(shutdown_s=7, exit_s=1, stdin_end_s=11, term_s=3, kill_s=5)
    async with staged(child=child, graces=graces) as stage:
        ended = await stage.process.stop("over")
        assert child.signals == [(18.0, "SIGTERM"), (21.0, "SIGKILL")]
        assert (ended.kind, ended.is_gone) == (EndKind.FORCED, True)


async def test_a_process_that_cannot_be_killed_is_given_up_in_bounded_time_and_not_called_gone(
    autojump_clock: Clock,
) -> None:
    child = MemoryChild()
    child.exits_with_stdin = None
    child.obeys = set()
    async with staged(child=child) as stage:
        calls = Calls(stage)
        calls.start("a", "request", timeout_s=600)
        await settle()
        ended = await stage.process.stop("over", orderly=False)
        await settle()
        assert (ended.status, ended.is_gone) == (None, False)
        assert isinstance(calls.outcomes["a"], Lost)
        assert trio.current_time() < 30


async def test_a_process_that_exits_instead_of_answering_shutdown_is_not_waited_for(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.nursery.start_soon(stage.process.stop, "over")
        await stage.child.read()
        stage.child.exit(0)
        assert (await stage.process.wait_ended()).kind is EndKind.ORDERLY
        assert trio.current_time() < 1


@pytest.mark.parametrize(
    ("in_flight", "first"), [(None, "exit"), (8, None)], ids=["before the handshake", "lease lost"]
)
async def test_shutdown_is_left_out_where_it_is_out_of_place(
    autojump_clock: Clock, in_flight: int | None, first: str | None
) -> None:
    async with staged(in_flight=in_flight) as stage:
        await stage.process.stop("over", orderly=False)
        sent = bytes(stage.child.stdin.buffer)
        assert sent == (b"" if first is None else b'{"jsonrpc":"2.0","method":"exit","params":{}}\n')


async def test_a_cancelled_nursery_still_ends_the_process_by_the_ladder(autojump_clock: Clock) -> None:
    child = MemoryChild()
    child.obeys = {signal.SIGTERM}
    child.exits_with_stdin = None
    async with staged(child=child) as stage:
        stage.nursery.cancel_scope.cancel()
        await trio.sleep(math.inf)
    assert [name for _, name in child.signals] == ["SIGTERM"]
    assert stage.process.ended is not None
    assert stage.process.ended.reason == "the daemon is stopping"


async def test_a_fault_in_the_report_does_not_leave_the_process_running(autojump_clock: Clock) -> None:
    child = MemoryChild()

    async def faulty(stage: Stage) -> None:
        async def report(_: object) -> None:
            raise ZeroDivisionError

        stage.process._reader._report = report
        await stage.child.say({"method": "changed", "params": {}})
        await trio.sleep_forever()

    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        async with staged(child=child) as stage:
            await faulty(stage)
    assert child.signals[-1][1] == "SIGKILL"
    assert child.status is not None


async def test_a_flood_on_stderr_reaches_the_log_in_part_and_the_tail_at_its_end(autojump_clock: Clock) -> None:
    async with staged() as stage:
        for number in range(50):
            await stage.child.err.send_all(b"".join(b"%d.%d\n" % (number, line) for line in range(1000)))
            await settle()
        assert stage.process.stderr_tail[-1] == "49.999"
        assert len(stage.log.of("provider_stderr")) <= 100
        await trio.sleep(11)
        await stage.child.err.send_all(b"quiet again\n")
        await settle()
        assert stage.log.of("provider_stderr_not_logged")[0]["lines"] == 50_000 - 100
        assert stage.log.of("provider_stderr")[-1]["line"] == "quiet again"
