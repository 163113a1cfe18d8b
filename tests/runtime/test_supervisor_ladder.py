"""The end of a provider process, step by step and in bounds: over pipes in memory, under a virtual clock."""

from __future__ import annotations

import math
import signal

import pytest
import trio
from trio.testing import MockClock as Clock

from provisioner.runtime.spawn import ExitStatus
from provisioner.runtime.supervision import (
    Answered,
    EndCause,
    EndKind,
    Graces,
    Lost,
    Unwritten,
    kind_of_end,
)
from tests.runtime.scripted_provider import Calls, MemoryChild, Stage, settle, staged
from tests.virtual_time import pass_s


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
        await pass_s(4)
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
        await pass_s(math.inf)
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


@pytest.mark.parametrize(
    ("code", "number", "cause", "kind"),
    [
        (0, None, EndCause.BY_ITSELF, EndKind.ORDERLY),
        (0, None, EndCause.ASKED, EndKind.ORDERLY),
        (0, None, EndCause.BROKEN_OFF, EndKind.CRASH),
        (78, None, EndCause.BY_ITSELF, EndKind.FAULTY_CONFIGURATION),
        (78, None, EndCause.ASKED, EndKind.FAULTY_CONFIGURATION),
        (3, None, EndCause.BY_ITSELF, EndKind.CRASH),
        (3, None, EndCause.ASKED, EndKind.CRASH),
        (None, 9, EndCause.BY_ITSELF, EndKind.CRASH),
        (None, 9, EndCause.ASKED, EndKind.FORCED),
        (None, 9, EndCause.BROKEN_OFF, EndKind.CRASH),
    ],
)
def test_what_an_end_means_follows_from_its_status_and_from_who_wanted_it(
    code: int | None, number: int | None, cause: EndCause, kind: EndKind
) -> None:
    assert kind_of_end(ExitStatus(code, number), cause) is kind


def test_a_process_that_would_not_end_is_never_orderly() -> None:
    assert kind_of_end(None, EndCause.ASKED) is EndKind.FORCED
    assert kind_of_end(None, EndCause.BROKEN_OFF) is EndKind.CRASH
