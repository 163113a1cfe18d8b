"""What a provider may say and must not, and what silence means: over pipes in memory, under a virtual clock."""

from __future__ import annotations

import pytest
import trio
from attrs import evolve
from trio.testing import MockClock as Clock

from provisioner.edge.redaction import Hidden
from provisioner.runtime.supervision import (
    Answered,
    Ended,
    EndKind,
    Failed,
    HeardAgain,
    Lost,
    PingAnswered,
    Pings,
    Quiet,
    Unwritten,
)
from tests.runtime.scripted_provider import SPEC, Calls, settle, staged
from tests.virtual_time import pass_s


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


async def test_a_passed_secret_that_comes_back_on_stdout_is_neither_logged_nor_told_to_people(
    autojump_clock: Clock,
) -> None:
    async with staged(hidden=Hidden(["tok-4711-abc"])) as stage:
        calls = Calls(stage)
        calls.start("a")
        sent = await stage.child.read()
        for line in (b"login with tok-4711-abc\n", b"x" * 194 + b"tok-4711-abc\n"):
            await stage.child.out.send_all(line)
        problem = {"error_class": "auth", "detail": "tok-4711-abc is no token"}
        await stage.child.say({"id": sent["id"], "error": {"code": 1003, "message": "auth", "data": problem}})
        await settle()
        junk = [line["text"] for line in stage.log.of("provider_stdout_junk")]
        assert junk == ["login with [hidden]", "x" * 194 + "[hidden]"[:6]]
        failed = calls.outcomes["a"]
        assert isinstance(failed, Failed)
        assert failed.error.detail == "****** is no token"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (5000, {"method": "changed", "params": {"what": ["health"]}}),
        (10, {"method": "changed", "params": {"what": ["instances"], "instances": [f"i-{n}" for n in range(1000)]}}),
        (5000, {"method": "x-unknown", "params": {}}),
        (5000, {"id": 7, "method": "initialize", "params": {}}),
        (5000, {"id": 1_000_000, "result": {}}),
    ],
)
async def test_nt_2_a_provider_that_says_too_much_is_read_no_faster_and_its_answers_count(
    autojump_clock: Clock, times: int, message: dict[str, object]
) -> None:
    async with staged() as stage:
        calls = Calls(stage)
        calls.start("a", timeout_s=600)
        sent = await stage.child.read()
        began_s = trio.current_time()
        for _ in range(times):
            await stage.child.say(message)
        await stage.child.answer(sent)
        with trio.fail_after(30):
            while "a" not in calls.outcomes:
                await pass_s(0.1)
        assert calls.outcomes["a"] == Answered({})
        assert 3.0 <= trio.current_time() - began_s <= 6.0
        assert len(stage.log.of("provider_says_too_much")) == 1
        assert stage.process.ended is None


async def test_fr_4_junk_that_is_spread_out_ends_nothing(autojump_clock: Clock) -> None:
    async with staged() as stage:
        for _ in range(40):
            await stage.child.out.send_all(b"junk\n")
            await settle()
            await stage.child.say({"method": "log", "params": {}})
            await pass_s(3.3)
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
        await pass_s(1)
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
        await pass_s(30.5)
        assert stage.reported(Quiet) == [Quiet(30.0)]
        await pass_s(10)
        await stage.child.say({"id": 1, "result": {"health": "down"}})
        await settle()
        said = [r for r in stage.reports if isinstance(r, PingAnswered | HeardAgain)]
        assert said == [HeardAgain(), PingAnswered({"health": "down"})], "the last word is the provider's"
        ended = await stage.process.wait_ended()
        assert "no answer to ping" in ended.reason
        # heard at 70.5; asked at 100.5; given up at 190.5, then the ladder
        assert trio.current_time() == pytest.approx(190.5, abs=30)


async def test_cc_7_who_falls_silent_within_the_same_second_is_asked_at_its_end_and_a_short_silence_is_exact(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        await pass_s(0.3)
        await stage.child.say({"method": "progress", "params": {}})
        await stage.child.read()
        assert trio.current_time() == pytest.approx(31)
    began = trio.current_time()
    async with staged(pings=Pings(quiet_s=0.7)) as stage:
        await stage.child.read()
        assert trio.current_time() - began == pytest.approx(0.7, abs=0.01)


async def test_cc_7_a_ping_that_finds_no_room_is_told_late_as_one_that_is_not_answered_and_ends_the_process_as_soon(
    autojump_clock: Clock,
) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        await pass_s(59.5)
        assert not stage.reported(Quiet)
        await pass_s(1)
        assert stage.reported(Quiet) == [Quiet(30.0)]
        ended = await stage.process.wait_ended()
        assert "no ping could be written for 90 s" in ended.reason
        assert trio.current_time() == pytest.approx(120, abs=30)
        assert stage.reported(Quiet) == [Quiet(30.0)]


async def test_cc_7_a_ping_written_late_and_answered_is_heard_again(autojump_clock: Clock) -> None:
    async with staged() as stage:
        stage.child.stdin.room = 0
        await pass_s(61)
        stage.child.stdin.room = 65536
        stage.child.stdin._change()
        await stage.child.answer(await stage.child.read(), {"health": "ok"})
        await settle()
        assert [type(r) for r in stage.reports] == [Quiet, HeardAgain, PingAnswered]


async def test_cc_7_a_provider_that_speaks_or_has_no_free_slot_is_not_asked(autojump_clock: Clock) -> None:
    async with staged(in_flight=1) as stage:
        for _ in range(10):
            await pass_s(29)
            await stage.child.say({"method": "progress", "params": {}})
            await settle()
        Calls(stage).start("a", timeout_s=500)
        await stage.child.read()
        await pass_s(400)
        assert not stage.child.stdin.buffer


async def test_as_much_of_stderr_is_kept_as_the_operator_says(autojump_clock: Clock) -> None:
    async with staged(spec=evolve(SPEC, tail_bytes=4096)) as stage:
        await stage.child.err.send_all(b"".join(b"%0100d\n" % n for n in range(100)))
        await stage.child.err.send_all(b"\n" * 1000 + b"last\n")
        await settle()
        kept = stage.process.stderr_tail
        assert kept[-1] == "last"
        assert sum(map(len, kept)) <= 4096
        assert len(kept) <= 64


async def test_a_flood_on_stderr_reaches_the_log_in_part_and_the_tail_at_its_end(autojump_clock: Clock) -> None:
    async with staged() as stage:
        for number in range(50):
            await stage.child.err.send_all(b"".join(b"%d.%d\n" % (number, line) for line in range(1000)))
            await settle()
        assert stage.process.stderr_tail[-1] == "49.999"
        assert len(stage.log.of("provider_stderr")) <= 100
        await pass_s(11)
        await stage.child.err.send_all(b"quiet again\n")
        await settle()
        assert stage.log.of("provider_stderr_not_logged")[0]["lines"] == 50_000 - 100
        assert stage.log.of("provider_stderr")[-1]["line"] == "quiet again"
