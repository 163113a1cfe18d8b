"""What is left of a purchase when the process dies or ends in the middle of it, and what goes on beside it."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.examples.client import Client, asked_about, giving, greeting, started
from tests.examples.subjects import EXAMPLES, NODE, PERL, SH, Example

pytestmark = pytest.mark.e2e


async def recorded(example: Example, state_dir: Path) -> None:
    """Wait until the record is on the disk that stands before the act: for the tool, that of its first call."""
    record = example.record_of(state_dir, "tk-1")
    sign = '"calls":1' if example is PERL else '"tk-1"'
    with trio.fail_after(10):
        while not record.exists() or sign not in record.read_text():
            await trio.lowlevel.checkpoint()


async def killed_before_the_act(example: Example, state_dir: Path) -> None:
    """Kill -9 a process after its record is on the disk and before anything has happened at the far side."""
    async with started(example.command, state_dir) as client:
        await client.call("initialize", greeting(state_dir, example.slow(30)))
        await client.ask("request", example.order())
        await recorded(example, state_dir)
        client.process.kill()
        await client.process.wait()


async def successor(example: Example, client: Client, state_dir: Path) -> dict[str, Any]:
    """Start over under the next epoch; return the report on the purchase that was cut off."""
    await client.call("initialize", greeting(state_dir, example.config, epoch=2))
    asked = {"requests": [asked_about(example.order())]}
    report: dict[str, Any] = (await client.call("request_status", asked)).result["requests"][0]
    return report


async def test_an_exact_purchase_cut_off_before_the_act_is_made_once_when_sent_again(tmp_path: Path) -> None:
    NODE.need()
    await killed_before_the_act(NODE, tmp_path)
    async with started(NODE.command, tmp_path) as client:
        assert (await successor(NODE, client, tmp_path))["outcome"] == "unknown"
        order = NODE.order(epoch=2)  # the old mark under the new epoch (EP-5)
        made = await client.call("request", order)
        assert made.result["outcome"] == "made"
        assert len(made.result["instances"]) == 2
        again = await client.call("request", order)
        assert again.result["instances"] == made.result["instances"]
        assert len((await client.call("list")).result["instances"]) == 2


async def test_what_was_half_done_is_found_at_the_far_side_and_not_done_twice(tmp_path: Path) -> None:
    NODE.need()
    async with started(NODE.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, NODE.slow(1)))
        await client.ask("request", NODE.order())
        with trio.fail_after(10):
            while not (await client.call("list")).result["instances"]:
                await trio.lowlevel.checkpoint()
        client.process.kill()
        await client.process.wait()
    async with started(NODE.command, tmp_path) as client:
        report = await successor(NODE, client, tmp_path)
        assert (report["outcome"], len(report["instances"])) == ("unknown", 1)
        made = await client.call("request", NODE.order(epoch=2))
        assert (made.result["outcome"], len(made.result["instances"])) == ("made", 2)
        assert len((await client.call("list")).result["instances"]) == 2


async def test_an_exact_pool_settles_what_was_cut_off_by_what_it_holds(tmp_path: Path) -> None:
    SH.need()
    await killed_before_the_act(SH, tmp_path)
    async with started(SH.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, SH.config, epoch=2))
        made = await client.call("request", SH.order(epoch=2))
        assert (made.result["outcome"], made.result["instances"][0]["units"]) == ("made", 2)
        assert (await client.call("request", SH.order(epoch=2))).result == made.result
    # And killed between the act and the record of it: the pool holds the grant, the ledger says `open`.
    ledger = tmp_path / "ledger.json"
    content = json.loads(ledger.read_text())
    content["tokens"]["tk-1"]["outcome"] = "open"
    ledger.write_text(json.dumps(content))
    async with started(SH.command, tmp_path) as client:
        report = await successor(SH, client, tmp_path)
        assert (report["outcome"], report["instances"][0]["units"]) == ("made", 2)
        assert (await client.call("list")).result["instances"][0]["units"] == 2


async def test_a_tool_without_tokens_is_never_called_again_for_what_may_have_been_made(tmp_path: Path) -> None:
    PERL.need()
    await killed_before_the_act(PERL, tmp_path)
    async with started(PERL.command, tmp_path) as client:
        assert (await successor(PERL, client, tmp_path))["outcome"] == "unknown"
        again = await client.call("request", PERL.order(epoch=2))
        assert (again.result["outcome"], again.result["instances"]) == ("unknown", [])
        assert list((tmp_path / "desk").iterdir()) == []
        assert (await client.call("request", PERL.order("tk-2", epoch=2))).result["outcome"] == "made"


async def test_busy_examples_end_within_ten_seconds_of_the_end_of_stdin_or_of_sigterm(tmp_path: Path) -> None:
    async def end_busy(example: Example, ending: str) -> None:
        place = tmp_path / f"{example.name}-{ending}"
        place.mkdir()
        async with started(example.command, place) as client:
            await client.call("initialize", greeting(place, example.slow(60)))
            await client.ask("request", example.order())
            await recorded(example, place)
            if ending == "sigterm":
                client.process.send_signal(signal.SIGTERM)
            else:
                await client.close_stdin()
            assert await client.ends(within_s=10) == 0

    for example in EXAMPLES:
        example.need()
    async with trio.open_nursery() as nursery:  # at once, since each takes most of its ten seconds
        for example in EXAMPLES:
            nursery.start_soon(end_busy, example, "stdin")
            nursery.start_soon(end_busy, example, "sigterm")


async def test_questions_are_answered_beside_a_purchase_which_can_be_cancelled(tmp_path: Path) -> None:
    NODE.need()
    async with started(NODE.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, NODE.slow(30)))
        order = NODE.order()
        slow = await client.ask("request", order)
        assert (await client.call("ping")).result["in_flight"] == 1
        asked = {"requests": [asked_about(order)]}
        assert (await client.call("request_status", asked)).result["requests"][0]["outcome"] == "pending"
        assert slow not in client.replies
        fence = {"epoch": 1, "not_after": 9e9}
        cancelled = await client.call("cancel", {"request_id": "rq-1", "token": "tk-1", **fence})
        assert cancelled.result["outcome"] == "not_made"
        assert (await client.answer(slow)).result["outcome"] == "not_made"
        other = await client.ask("request", NODE.order("tk-2"))
        await client.write(b'{"jsonrpc":"2.0","method":"cancel_call","params":{"id":%d}}\n' % other)
        assert (await client.answer(other)).result["problems"][0]["error_class"] == "cancelled"
        never = await client.call("cancel", {"request_id": "rq-3", "token": "tk-3", **fence})
        assert never.result["outcome"] == "not_made"
        assert (await client.call("request", NODE.order("tk-3"))).result["outcome"] == "not_made"  # CN-3


async def test_shutdown_is_answered_after_the_purchase_it_stops(tmp_path: Path) -> None:
    NODE.need()
    async with started(NODE.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, NODE.slow(30)))
        slow = await client.ask("request", NODE.order())
        began = time.monotonic()
        assert (await client.call("shutdown", {"grace_s": 8})).result["open"] == 0
        assert time.monotonic() - began < 8
        assert list(client.replies) == [1, slow, slow + 1]
        await client.close_stdin()
        assert await client.ends() == 0


async def test_units_are_kept_by_an_absolute_number_that_only_falls(tmp_path: Path) -> None:
    SH.need()
    async with started(SH.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, SH.config))
        grant = (await client.call("request", SH.order(units=3))).result["instances"][0]
        assert (grant["units"], grant["access"]) == (3, {"LM_PROJECT": "lic.tk-1"})
        short = await client.call("request", SH.order("tk-2"))
        assert (short.error_class, short.error["outcome"]) == ("no_capacity", "not_made")
        for keep, left in ((1, 1), (2, 1), (1, 1), (0, 0), (5, 0)):
            given = await client.call("return", giving("lic.tk-1", keep=keep, return_id=f"rt-{keep}-{left}"))
            assert given.result["items"] == [{"instance": "lic.tk-1", "state": "returned", "units": left}]
        made = await client.call("request", SH.order("tk-3", units=3))
        assert made.result["instances"][0]["units"] == 3
        less = await client.call("return", giving("lic.tk-3", keep=2, return_id="rt-9"))
        assert less.result["items"][0]["units"] == 2
        some = await client.call("request", SH.order("tk-4", units=2))  # one is free: short, with the reason
        assert some.result["instances"][0]["units"] == 1
        assert some.result["problems"] == [{"error_class": "no_capacity", "units": 1}]


@pytest.mark.parametrize("whole", [NODE, PERL], ids=lambda each: str(each.name))
async def test_whole_machines_are_not_given_back_in_part(whole: Example, tmp_path: Path) -> None:
    whole.need()
    async with started(whole.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, whole.config))
        one = (await client.call("request", whole.order(units=1))).result["instances"][0]["instance"]
        item = (await client.call("return", giving(one, keep=1))).result["items"][0]
        assert (item["state"], item["problem"]["error_class"]) == ("failed", "unsupported")
        assert len((await client.call("list")).result["instances"]) == 1


async def test_ot_1_a_purchase_whose_report_is_kept_no_longer_keeps_its_word_and_its_token(
    example: Example, tmp_path: Path
) -> None:
    order = example.order()
    asked = {"requests": [asked_about(order)]}
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        made = (await client.call("request", order)).result
        await client.call("return", giving(*(each["instance"] for each in made["instances"])))
    record = example.record_of(tmp_path, "tk-1")
    aged = re.sub(r'"(at|closed_at)":[0-9.e+]+', r'"\1":1', record.read_text())
    record.write_text(aged)
    for _ in range(2):  # made small, and read again when it is small
        async with started(example.command, tmp_path) as client:
            await client.call("initialize", greeting(tmp_path, example.config))
            report = (await client.call("request_status", asked)).result["requests"][0]
            assert (report["outcome"], report["instances"]) == ("made", [])
            assert (await client.call("request", order)).result["outcome"] == "made"
            assert (await client.call("request", {**order, "units": 1})).error_class == "token_conflict"
            assert (await client.call("list")).result["instances"] == []
        assert len(record.read_text()) < len(aged)
