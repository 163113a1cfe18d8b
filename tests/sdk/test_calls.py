from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from provider_sdk.call import Call
from provider_sdk.contract import (
    AskedRequest,
    Capability,
    DescribeParams,
    DescribeResult,
    Instance,
    InstanceState,
    Outcome,
    Report,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnParams,
)
from provider_sdk.errors import ContractError, ErrorClass
from tests.sdk.conversation import asked_about, conversation, error_class, give_back, purchase
from tests.sdk.shop import Gate, Shop, made, report


async def test_a_purchase_is_reported_as_the_author_said(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        result = (await daemon.call("request", purchase()))["result"]
        assert (result["token"], result["outcome"]) == ("tk-1", "made")
        assert result["instances"] == [
            {"instance": "m.tk-1", "units": 1, "state": "running", "template": "t.small"},
        ]


async def test_unknown_methods_are_refused_and_so_are_undeclared_ones(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        for method in ("fly", "quote", "cancel", "open", "_table"):
            answer = await daemon.call(method)
            assert (answer["error"]["code"], error_class(answer)) == (-32601, "unknown_method")


async def test_bad_params_are_refused_with_every_fault_and_begin_nothing(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        answer = await daemon.call("request", purchase(units=0, template=5))
        assert (answer["error"]["code"], error_class(answer)) == (-32602, "bad_params")
        assert {fault["path"] for fault in answer["error"]["data"]["faults"]} == {"/units", "/template"}
    assert shop.begun == []


async def test_fr_4_junk_is_skipped_and_a_good_frame_after_it_counts(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        await daemon.say(b"Traceback (most recent call last):\n\xff\xfe\n[1,2]\n\n{}\n" + b"x" * 2_000_000 + b"\n")
        assert "result" in await daemon.call("ping")
        assert len(daemon.logged) == 5


async def test_fr_5_what_is_no_request_is_never_answered(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        await daemon.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        await daemon.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "bad_message"}})
        await daemon.tell("weather", {"sun": True})
        await daemon.call("ping")
        assert daemon.passed_over() == []


async def test_params_that_are_no_object_are_a_bad_message(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with conversation(Shop()) as daemon:
        await daemon.greet(tmp_path)
        await daemon.send({"jsonrpc": "2.0", "id": 70, "method": "ping", "params": [1]})
        assert (await daemon.answer_to(70))["error"]["code"] == -32600


async def test_fr_5_answers_come_in_the_order_of_their_ends(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    async with conversation(Shop(in_flight=2, request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        slow = await daemon.ask("request", purchase("tk-1"))
        fast = await daemon.ask("request", purchase("tk-2"))
        gate.at("tk-2")[1].set()
        assert (await daemon.next_frame())["id"] == fast
        gate.at("tk-1")[1].set()
        assert (await daemon.next_frame())["id"] == slow


async def test_more_calls_than_promised_wait_and_ping_is_answered_all_the_while(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    async with conversation(Shop(in_flight=1, request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        first = await daemon.ask("request", purchase("tk-1"))
        second = await daemon.ask("request", purchase("tk-2"))
        ping = (await daemon.call("ping"))["result"]
        assert (ping["in_flight"], ping["queued"]) == (1, 1)
        assert not gate.at("tk-2")[0].is_set()
        for token in ("tk-1", "tk-2"):
            gate.at(token)[1].set()
        assert (await daemon.answer_to(first))["result"]["outcome"] == "made"
        assert (await daemon.answer_to(second))["result"]["outcome"] == "made"


async def test_cc_3_calls_on_one_token_never_run_side_by_side(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    shop = Shop(in_flight=4, request=gate.request)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase("tk-1"))
        again = await daemon.ask("request", purchase("tk-1"))
        await daemon.ask("request", purchase("tk-2"))
        await gate.at("tk-2")[0].wait()
        assert shop.begun == ["request tk-1", "request tk-2"]
        gate.at("tk-1")[1].set()
        assert (await daemon.answer_to(again))["result"]["outcome"] == "made"
        assert shop.begun == ["request tk-1", "request tk-2", "request tk-1"]


async def test_cc_3_returns_with_a_common_instance_never_run_side_by_side(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    may_end = trio.Event()

    async def wait(params: ReturnParams, call: Call) -> None:
        await may_end.wait()

    shop = Shop(in_flight=4, return_=wait)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        for names in (("a", "b"), ("b", "c"), ("c",), ("d",)):
            await daemon.ask("return", give_back(*names))
        await trio.testing.wait_all_tasks_blocked()
        # (c) stands behind (b, c), which stands behind (a, b): waiting calls are not overtaken either.
        assert shop.begun == ["return a b", "return d"]
        may_end.set()
        await daemon.call("ping")
        await trio.testing.wait_all_tasks_blocked()
        assert shop.begun == ["return a b", "return d", "return b c", "return c"]


class Trusting(Shop):
    """Looks after the order itself."""

    serialises_itself = True


async def test_a_provider_may_serialise_by_itself(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    shop = Trusting(in_flight=4, request=gate.request)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase("tk-1"))
        await daemon.ask("request", purchase("tk-1"))
        await trio.testing.wait_all_tasks_blocked()
        assert shop.begun == ["request tk-1", "request tk-1"]


async def test_a_cancelled_call_that_waits_is_never_begun(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    shop = Shop(in_flight=1, request=gate.request)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase("tk-1"))
        queued = await daemon.ask("request", purchase("tk-2"))
        await daemon.tell("cancel_call", {"id": queued})
        answer = await daemon.answer_to(queued)
        assert (answer["error"]["code"], answer["error"]["data"]["outcome"]) == (-32800, "not_made")
        gate.at("tk-1")[1].set()
        await daemon.call("describe")
    assert shop.begun == ["request tk-1", "describe"]


async def test_a_cancelled_call_that_waits_lets_those_behind_it_begin(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    may_end = trio.Event()

    async def wait(params: ReturnParams, call: Call) -> None:
        await may_end.wait()

    shop = Shop(in_flight=4, return_=wait)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("return", give_back("a"))
        waiting = await daemon.ask("return", give_back("a", "b"))
        await daemon.ask("return", give_back("b"))
        await daemon.tell("cancel_call", {"id": waiting})
        assert error_class(await daemon.answer_to(waiting)) == "cancelled"
        await trio.testing.wait_all_tasks_blocked()
        assert shop.begun == ["return a", "return b"]


async def test_cc_6_a_running_change_is_told_and_still_answers(tmp_path: Path, autojump_clock: MockClock) -> None:
    gate = Gate()
    async with conversation(Shop(request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1"))
        await gate.at("tk-1")[0].wait()
        before = gate.calls["tk-1"].cancelled
        await daemon.tell("cancel_call", {"id": running})
        await gate.calls["tk-1"].wait_to_stop()
        assert (before, gate.calls["tk-1"].cancelled) == (False, True)
        gate.at("tk-1")[1].set()
        assert (await daemon.answer_to(running))["result"]["outcome"] == "made"


async def test_cc_6_a_running_read_is_given_up(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def endless(params: DescribeParams) -> DescribeResult:
        await trio.sleep_forever()
        raise AssertionError

    async with conversation(Shop(describe=endless)) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("describe")
        await trio.testing.wait_all_tasks_blocked()
        await daemon.tell("cancel_call", {"id": running})
        assert error_class(await daemon.answer_to(running)) == "cancelled"
        assert "result" in await daemon.call("list")


async def test_a_typed_refusal_goes_out_as_it_is(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def sold_out(params: RequestParams, call: Call) -> Report:
        raise ContractError(ErrorClass.NO_CAPACITY, "none left", outcome=Outcome.NOT_MADE, retry_after_s=30)

    async with conversation(Shop(request=sold_out)) as daemon:
        await daemon.greet(tmp_path)
        error = (await daemon.call("request", purchase()))["error"]
        assert (error["code"], error["message"]) == (1001, "no_capacity")
        assert error["data"] == {
            "error_class": "no_capacity",
            "outcome": "not_made",
            "retry_after_s": 30,
            "detail": "none left",
        }


async def test_an_answer_of_another_type_or_about_another_purchase_is_a_bug(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def confused(params: RequestParams, call: Call) -> Any:
        return None if params.token == "tk-1" else Report("rq-1", "tk-9", Outcome.MADE, ())

    async with conversation(Shop(request=confused)) as daemon:
        await daemon.greet(tmp_path)
        for token in ("tk-1", "tk-2"):
            assert error_class(await daemon.call("request", purchase(token))) == "internal"


async def test_an_answer_longer_than_agreed_becomes_too_large(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def verbose(params: DescribeParams) -> DescribeResult:
        return DescribeResult(revision="r", removed=tuple(f"template-{'x' * 100}-{n}" for n in range(10_000)))

    async with conversation(Shop(describe=verbose)) as daemon:
        await daemon.greet(tmp_path)
        answer = await daemon.call("describe")
        assert (answer["error"]["code"], error_class(answer)) == (-32003, "too_large")


async def test_an_answer_that_is_no_json_becomes_internal(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def odd(params: DescribeParams) -> DescribeResult:
        return DescribeResult(revision="\ud800")

    async with conversation(Shop(describe=odd)) as daemon:
        await daemon.greet(tmp_path)
        assert error_class(await daemon.call("describe")) == "internal"


async def test_a_purchase_under_way_is_pending_whatever_the_author_reads(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    async with conversation(Shop(in_flight=2, request=gate.request)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase("tk-1"))
        await gate.at("tk-1")[0].wait()
        answer = await daemon.call("request_status", asked_about("tk-1", "tk-2"))
        outcomes = {one["token"]: one["outcome"] for one in answer["result"]["requests"]}
        assert outcomes == {"tk-1": "pending", "tk-2": "not_made"}


async def test_a_status_that_was_read_before_the_purchase_ended_is_read_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    gate = Gate()
    reads: list[int] = []

    async def stale(params: RequestStatusParams) -> RequestStatusResult:
        asked: AskedRequest = params.requests[0]
        reads.append(len(params.requests))
        if len(reads) == 1:
            gate.at("tk-1")[1].set()
            await daemon.answer_to(running)
            return RequestStatusResult(tuple(report(one, Outcome.NOT_MADE) for one in params.requests))
        return RequestStatusResult((made(asked),))

    async with conversation(Shop(in_flight=2, request=gate.request, request_status=stale)) as daemon:
        await daemon.greet(tmp_path)
        running = await daemon.ask("request", purchase("tk-1"))
        await gate.at("tk-1")[0].wait()
        status = await daemon.ask("request_status", asked_about("tk-1", "tk-2"))
        while len(reads) < 2:
            await trio.lowlevel.checkpoint()
        answer = await daemon.answer_to(status)
        outcomes = {one["token"]: one["outcome"] for one in answer["result"]["requests"]}
        assert outcomes == {"tk-1": "made", "tk-2": "not_made"}
        assert reads == [2, 1]


async def test_st_2_damaged_records_stop_purchases_and_show_in_ping_but_returns_go_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        (tmp_path / "ledger.json").write_bytes(b"\x00\x00")
        assert shop.start is not None
        shop.start.state.set_aside("ledger.json", "is not JSON")
        refused = (await daemon.call("request", purchase()))["error"]["data"]
        assert (refused["error_class"], refused["outcome"], refused["reason"]) == ("transient", "not_made", "state")
        ping = (await daemon.call("ping"))["result"]
        assert ping["health"] == "down"
        assert "ledger.json.unreadable-1" in ping["problem"]["detail"]
        assert "result" in await daemon.call("return", give_back("m.1"))


async def test_optional_methods_are_served_once_declared(tmp_path: Path, autojump_clock: MockClock) -> None:
    class Cancelling(Shop):
        """Cancels."""

        async def cancel(self, params: Any, call: Call) -> Report:
            call.check_fence()
            return Report(params.request_id, params.token, Outcome.NOT_MADE, ())

    async with conversation(Cancelling(capabilities=(Capability.CANCEL,))) as daemon:
        assert (await daemon.greet(tmp_path))["result"]["capabilities"] == ["cancel"]
        params = {"request_id": "rq-1", "token": "tk-1", "epoch": 7, "not_after": 100}
        assert (await daemon.call("cancel", params))["result"]["outcome"] == "not_made"
        daemon.boot_s = 101.0
        refused = (await daemon.call("cancel", params))["error"]
        assert (refused["code"], "outcome" in refused["data"]) == (-32012, False)


async def test_rs_4_a_report_that_does_not_fit_tells_the_least_of_each_instance(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def bulky(params: RequestParams, call: Call) -> Report:
        call.check_fence()
        return bulk(params, 1_000)

    async with conversation(Shop(request=bulky)) as daemon:
        await daemon.greet(tmp_path)
        result = (await daemon.call("request", purchase()))["result"]
        assert result["outcome"] == "made"
        assert len(result["instances"]) == 1_000
        assert result["instances"][0] == {"instance": "m.tk-1.0", "state": "running", "units": 1}


async def test_rs_1_of_reports_that_do_not_fit_the_first_are_told(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def bulky(params: RequestStatusParams) -> RequestStatusResult:
        return RequestStatusResult(tuple(bulk(asked, 1_000) for asked in params.requests))

    async with conversation(Shop(request_status=bulky)) as daemon:
        await daemon.greet(tmp_path)
        tokens = [f"tk-{number}" for number in range(50)]
        result = (await daemon.call("request_status", asked_about(*tokens)))["result"]
        told = [report["token"] for report in result["requests"]]
        assert 1 <= len(told) < 50
        assert told == tokens[: len(told)]


def bulk(asked: RequestParams | AskedRequest, count: int) -> Report:
    machines = tuple(
        Instance(
            f"m.{asked.token}.{n}",
            1,
            InstanceState.RUNNING,
            template="t" * 200,
            name="n" * 253,
            reason="r" * 500,
            access={"k": "v" * 200},
        )
        for n in range(count)
    )
    return Report(asked.request_id, asked.token, Outcome.MADE, machines)
