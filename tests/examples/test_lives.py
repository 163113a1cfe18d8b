"""What every example does in the life of a purchase and of a process, seen from the daemon's side of the pipe."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from provider_sdk.contract import DAEMON_FRAME_BYTES, frame, request_object
from tests.examples.client import Params, asked_about, giving, greeting, started
from tests.examples.subjects import ROOT, Example

pytestmark = pytest.mark.e2e
SCHEMAS = ROOT.parents[2] / "schemas" / "provider" / "v2" / "examples" / "bad"


def bad_params(method: str) -> list[Params]:
    """Return the published examples of bad params of a method."""
    return [json.loads(path.read_text())["value"] for path in sorted(SCHEMAS.glob(f"{method}.params--*.json"))]


async def test_a_purchase_is_made_once_listed_with_its_mark_and_given_back(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        hello = await client.call("initialize", greeting(tmp_path, example.config))
        assert hello.result["version"] == "2.0"
        template = (await client.call("describe")).result["templates"][0]
        assert (template["template"], template["price"]) == (example.template, example.price)

        order = example.order()
        made = await client.call("request", order)
        assert made.result["outcome"] == "made"
        ids = sorted(each["instance"] for each in made.result["instances"])
        assert sum(each["units"] for each in made.result["instances"]) == 2

        again = await client.call("request", {**order, "min_units": 1, "consumer": None, "not_after": 8e9})
        assert sorted(each["instance"] for each in again.result["instances"]) == ids  # RQ-1
        for change in ({"units": 1}, {"data": {"line": "7"}}):
            assert (await client.call("request", {**order, **change})).error_class == "token_conflict"

        page = await client.call("list", {"limit": 1})
        rest = [] if page.result["complete"] else [await client.call("list", {"cursor": page.result["next"]})]
        listed = [each for reply in (page, *rest) for each in reply.result["instances"]]
        assert [each["instance"] for each in listed] == ids
        assert all(each["mark"] == order["mark"] for each in listed)
        assert (rest or [page])[-1].result["complete"] is True

        given = await client.call("return", giving(*ids, "never-there"))
        words = {each["instance"]: each["state"] for each in given.result["items"]}
        assert words == {**dict.fromkeys(ids, "returned"), "never-there": "not_found"}  # RT-4
        status = await client.call("return_status", {"returns": ["rt-1", "rt-2"]})
        assert [len(each.get("items") or []) for each in status.result["returns"]] == [len(ids) + 1, 0]

        report = (await client.call("request_status", {"requests": [asked_about(order)]})).result["requests"][0]
        assert report["outcome"] == "made"  # RP-1
        assert {each["state"] for each in report["instances"]} == {"gone"}
        assert sorted(each["instance"] for each in report["instances"]) == ids  # RP-2
        replayed = await client.call("request", order)
        assert {each["state"] for each in replayed.result["instances"]} == {"gone"}
        assert (await client.call("list")).result["instances"] == []


async def test_bad_params_are_refused_whole_and_nothing_is_done(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        for method in ("describe", "request", "request_status", "return", "return_status", "list", "shutdown"):
            for params in bad_params(method):
                reply = await client.call(method, params)
                assert reply.error_class == "bad_params", (method, params)
                assert reply.error["faults"], (method, params)
        two = await client.call("return", {"return_id": "UPPER", "items": [{"instance": "x", "keep": -1}]})
        paths = {fault["path"] for fault in two.error["faults"]}
        assert paths == {"/return_id", "/items/0/keep", "/epoch", "/not_after"}
        assert (await client.call("list")).result["instances"] == []


async def test_before_and_beside_the_handshake_nothing_is_begun(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.write(b'{"jsonrpc":"2.0","method":"cancel_call","params":{"id":1}}\n')
        assert (await client.call("list")).error_class == "not_initialized"
        assert (await client.call("request", example.order())).error_class == "not_initialized"
        opened = (await client.call("initialize", greeting(tmp_path, example.config))).result
        assert opened["version"] == "2.0"
        assert (await client.call("initialize", greeting(tmp_path, example.config))).error_class == "bad_message"
        for method in {"quote", "extend", "forget"} - set(opened.get("capabilities", ())):
            assert (await client.call(method)).error_class == "unknown_method"
        assert (await client.call("ping")).result["health"] == "ok"


async def test_a_handshake_that_can_not_be_is_refused_and_ends_the_process(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        reply = await client.call("initialize", greeting(tmp_path, example.config, versions=["3.0"], later=1))
        assert (reply.error_class, reply.error["supported"]) == ("version", ["2.0"])
        assert await client.ends() == 78
    async with started(example.command, tmp_path) as client:
        reply = await client.call("initialize", greeting(tmp_path, example.bad_config))
        assert reply.error_class == "config"
        assert {fault["path"] for fault in reply.error["faults"]} == example.faults
        assert await client.ends() == 78
    async with started(example.command, tmp_path) as client:
        reply = await client.call("initialize", greeting(tmp_path, example.config, epoch="7", mode="later"))
        assert {fault["path"] for fault in reply.error["faults"]} == {"/epoch", "/mode"}
        assert await client.ends() == 1


async def test_one_folder_has_one_process_and_no_epoch_goes_back(example: Example, tmp_path: Path) -> None:
    state_dir = tmp_path / "state"
    async with started(example.command, tmp_path) as first:
        born = await first.call("initialize", greeting(state_dir, example.config, epoch=9))
        async with started(example.command, tmp_path) as second:
            assert (await second.call("initialize", greeting(state_dir, example.config, epoch=10))).error_class == (
                "state_locked"
            )
            assert await second.ends() == 0
    async with started(example.command, tmp_path) as late:
        assert (await late.call("initialize", greeting(state_dir, example.config, epoch=8))).error_class == "fenced"
        assert await late.ends() == 0
    async with started(example.command, tmp_path) as successor:
        again = await successor.call("initialize", greeting(state_dir, example.config, epoch=9))
        assert again.result["state_id"] == born.result["state_id"]


async def test_nothing_is_begun_beyond_a_fence_a_cap_or_a_deadline(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        refused: tuple[tuple[str, Params], ...] = (
            ("fenced", {"epoch": 2}),
            ("fenced", {"not_after": 0.5}),
            ("price", {"price_cap": {**example.price, "amount": "0.049999999"}}),
            ("price", {"price_cap": {**example.price, "currency": "EUR"}}),
            ("bad_params", {"price_cap": None}),
            ("transient", {"deadline": "2001-02-03T04:05:06Z"}),
            ("unknown_template", {"template": "no-such"}),
            ("quote_gone", {"quote": "q-1"}),
            ("bad_request", {"units": 1_000}),
        )
        for number, (error_class, change) in enumerate(refused):
            order = example.order(f"tk-{number}", **change)
            reply = await client.call("request", order)
            assert reply.error_class == error_class
            assert reply.error_class == "bad_params" or reply.error["outcome"] == "not_made"
            asked = {"requests": [asked_about(example.order(f"tk-{number}"))]}
            assert (await client.call("request_status", asked)).result["requests"][0]["outcome"] == "not_made"
            tombstone = await client.call("request", example.order(f"tk-{number}"))  # what was called not made stays so
            assert tombstone.result["outcome"] == "not_made"
        given = await client.call("return", giving("anything", not_after=0.5))
        assert given.error_class == "fenced"


async def test_lines_that_are_no_frames_are_skipped_and_what_follows_counts(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        await client.write(b"\n\r\nnot JSON\n17\n\xff\xfe\n[]\n" + b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}\n')
        await client.write(b'{"jsonrpc":"2.0","id":77,"result":{}}\n{"jsonrpc":"2.0","method":"x-later","params":{}}\n')
        await client.write(
            b'{"jsonrpc":"2.0","id":78,"method":"ping","params":{"x":"' + b"y" * DAEMON_FRAME_BYTES + b'"}}\n'
        )
        client.asked[5] = "ping"
        data = frame(request_object(5, "ping", {"x-text": "a\u2028b\u0085c\u0000d\u00fc"}))
        cut = data.index("\u00fc".encode()) + 1  # in the middle of a character
        await client.write(data[:cut])
        await client.write(data[cut:-1] + b"\r\n")
        assert (await client.answer(5)).result["health"] == "ok"
        assert set(client.replies) == {1, 5}


async def test_a_check_changes_nothing_and_shutdown_is_the_end(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config, mode="check", epoch=0))
        assert (await client.call("request", example.order(epoch=0))).error_class == "bad_message"
        assert (await client.call("describe")).result["templates"]
        assert (await client.call("shutdown", {"grace_s": 5})).result["open"] == 0
        assert (await client.call("list")).error_class == "shutting_down"
        await client.write(b'{"jsonrpc":"2.0","method":"exit","params":{}}\n')
        assert await client.ends() == 0


async def test_damaged_records_are_told_and_never_read_as_none(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        order = example.order()
        assert (await client.call("request", order)).result["outcome"] == "made"
    record = example.record_of(tmp_path, order["token"])
    record.write_bytes(b"\x00garbage{")
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        assert (await client.call("ping")).result["health"] == "down"
        status = await client.call("request_status", {"requests": [asked_about(order)]})
        assert status.result["requests"][0]["outcome"] == "unknown"
        refused = await client.call("request", example.order("tk-2"))
        assert (refused.error_class, refused.error["outcome"]) == ("transient", "not_made")
    assert record.with_name(f"{record.name}.unreadable").read_bytes() == b"\x00garbage{"


async def test_a_far_side_that_is_not_there_is_no_empty_one(example: Example, tmp_path: Path) -> None:
    config = {**example.config, example.far_side: str(tmp_path / "not-mounted" / "far-side")}
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, config))  # HS-4: no failure of the handshake
        assert (await client.call("ping")).result["health"] == "down"
        listed = (await client.call("list")).result
        assert (listed["complete"], listed["instances"]) == (False, [])
        assert "available" not in (await client.call("describe")).result["templates"][0].get("capacity", {})
        reply = await client.call("request", example.order())
        assert reply.result.get("outcome", reply.error.get("outcome")) == "not_made"
        assert not (tmp_path / "not-mounted").exists()


def test_started_by_hand_it_says_one_sentence_and_ends(example: Example) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            example.command,
            stdin=theirs,
            capture_output=True,
            timeout=20,
            env={"PATH": os.environ["PATH"]},
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, done.stdout) == (64, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"provider" in done.stderr


async def test_half_a_frame_is_nothing_and_the_end_of_input_is_the_end(example: Example, tmp_path: Path) -> None:
    async with started(example.command, tmp_path) as client:
        await client.call("initialize", greeting(tmp_path, example.config))
        await client.write(frame(request_object(2, "request", example.order()))[:-1])
        await client.close_stdin()
        assert await client.ends() == 0
    assert (
        not example.record_of(tmp_path, "tk-1").exists()
        or "tk-1" not in example.record_of(tmp_path, "tk-1").read_text()
    )
