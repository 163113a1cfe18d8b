"""A provider's own words over REST: its standard error, and calls by hand that are checked before they are sent."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from jsonschema import Draft202012Validator
from trio.testing import MockClock

from provider_sdk.contract import ErrorClass, ErrorData
from provider_sdk.contract.framing import DAEMON_FRAME_BYTES
from provisioner.edge.rest_calls import LastWords
from provisioner.edge.rest_reply_schema import CALLED_SCHEMA, LOGS_SCHEMA
from provisioner.runtime.log import open_log
from provisioner.runtime.rest_app import rest_app
from provisioner.runtime.rest_calls import ANSWER_S
from provisioner.runtime.supervision import Answered, Failed, Lost, Outcome
from tests.edge.rest_worlds import lively_world, settings_for
from tests.runtime.rest_daemon import Heard, MemoryDaemon, asked, served
from tests.runtime.scripted_provider import Lines
from tests.runtime.test_rest_bounds import in_memory
from tests.runtime.test_rest_server import refused, settings_in

CALL = "/v1/providers/east/call"


async def answer_to(
    folder: Path, method: str, path: str, body: object = None, *, outcome: Outcome | None = None, open_: bool = False
) -> tuple[Heard, MemoryDaemon, Lines]:
    """What one question is answered by a daemon whose provider answers a call so."""
    settings = settings_in(folder)
    daemon, log = MemoryDaemon(settings, lively_world()), Lines()
    daemon.words = [LastWords(6, "exit status 1", 1, ("old", "last word")), LastWords(7, None, 41, ("a", "b", "c"))]
    if outcome is not None or open_:
        daemon.outcome = outcome
    async with served(daemon, settings, log) as (door,):
        return await asked(door, method, path, body), daemon, log


async def test_the_last_lines_of_both_processes_are_numbered_and_cut_to_what_is_asked(tmp_path: Path) -> None:
    found, _, _ = await answer_to(tmp_path, "GET", "/v1/providers/east/logs?lines=2")
    Draft202012Validator(LOGS_SCHEMA).validate(found.body)
    assert found.body["processes"] == [
        {"process": 6, "ended": "exit status 1", "first": 1, "lines": ["old", "last word"]},
        {"process": 7, "ended": None, "first": 42, "lines": ["b", "c"]},
    ]


@pytest.mark.parametrize("query", ["lines=0", "lines=10001", "lines=ten", "lines=-1", "after=3"])
async def test_a_faulty_number_of_lines_is_refused(query: str, tmp_path: Path) -> None:
    found, _, _ = await answer_to(tmp_path, "GET", f"/v1/providers/east/logs?{query}")
    refused(found, 400, "faulty")


async def test_a_call_is_made_as_it_stands_answered_as_it_stands_and_logged(tmp_path: Path) -> None:
    result = {"instances": [], "age_s": 0, "complete": True, "x-site": 1}
    body = {"method": "list", "params": {"limit": 10, "view": "state"}, "by": "alice"}
    found, daemon, log = await answer_to(tmp_path, "POST", CALL, body, outcome=Answered(result))
    Draft202012Validator(CALLED_SCHEMA).validate(found.body)
    assert (found.body["outcome"], found.body["result"], found.body["process"]) == ("answered", result, 7)
    assert daemon.asked_of == [("east", "list", {"limit": 10, "view": "state"})]
    [line] = log.of("operator")
    assert (line["verb"], line["method"], line["outcome"]) == ("call", "list", "answered")


async def test_a_provider_s_error_is_told_by_class(tmp_path: Path) -> None:
    error = Failed(ErrorData(error_class=ErrorClass.THROTTLED, retry_after_s=9))
    found, _, _ = await answer_to(tmp_path, "POST", CALL, {"method": "ping"}, outcome=error)
    Draft202012Validator(CALLED_SCHEMA).validate(found.body)
    assert (found.body["outcome"], found.body["error"]["error_class"]) == ("refused", "throttled")


async def test_no_answer_is_told_as_lost(tmp_path: Path) -> None:
    found, _, _ = await answer_to(tmp_path, "POST", CALL, {"method": "ping"}, outcome=Lost("cut"))
    Draft202012Validator(CALLED_SCHEMA).validate(found.body)
    assert (found.body["outcome"], found.body["why"]) == ("lost", "cut")


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "changing": ({"method": "request", "params": {}}, "/method", "recorded before it is sent"),
    "changing too": ({"method": "return"}, "/method", "recorded before it is sent"),
    "the daemon's own": ({"method": "shutdown"}, "/method", "the daemon's own conversation"),
    "nobody's": ({"method": "lst"}, "/method", "is no method of the contract"),
    "none": ({}, "/method", "method is missing"),
    "wrong type": ({"method": "list", "params": {"limit": "ten"}}, "/params/limit", ""),
    "missing": ({"method": "return_status"}, "/params/returns", "is required"),
    "no such parameter": ({"method": "list", "params": {"limt": 3}}, "/params/limt", "no such parameter"),
    "none taken": ({"method": "ping", "params": {"a": 3}}, "/params/a", "no such parameter"),
    "no object": ({"method": "ping", "params": [1]}, "/params", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_call_names_the_field_and_nothing_is_sent(fault: str, tmp_path: Path) -> None:
    body, field, message = FAULTS[fault]
    found, daemon, _ = await answer_to(tmp_path, "POST", CALL, body, outcome=Answered({}))
    error = refused(found, 400, "faulty")
    assert [f["field"] for f in error["faults"]] == [field]
    assert message in error["faults"][0]["message"]
    assert daemon.asked_of == []


NO_FRAME: dict[str, tuple[object, str]] = {
    "too deep": (json.loads("[" * 31 + "]" * 31), "deeper than 32"),
    "a number of 65 bits": (1 << 64, "a number is too big"),
    "too long": ("x" * DAEMON_FRAME_BYTES, "over the 1,048,576"),
}


@pytest.mark.parametrize("what", NO_FRAME)
async def test_fr_2_fr_3_a_call_that_no_frame_can_carry_is_refused_and_nothing_is_sent(
    what: str, tmp_path: Path
) -> None:
    value, message = NO_FRAME[what]
    body = {"method": "ping", "params": {"x-site": value}}
    found, daemon, _ = await answer_to(tmp_path, "POST", CALL, body, outcome=Answered({}))
    error = refused(found, 400, "faulty")
    assert [f["field"] for f in error["faults"]] == ["/params"]
    assert message in error["faults"][0]["message"]
    assert daemon.asked_of == []


async def test_fr_2_what_is_nested_as_deep_as_a_frame_may_be_is_sent(tmp_path: Path) -> None:
    params = {"x-site": json.loads("[" * 30 + "]" * 30)}
    _, daemon, _ = await answer_to(tmp_path, "POST", CALL, {"method": "ping", "params": params}, outcome=Answered({}))
    assert daemon.asked_of == [("east", "ping", params)]


async def test_a_method_the_provider_has_not_declared_is_not_sent(tmp_path: Path) -> None:
    body = {"method": "quote", "params": {"template": "small", "units": 1}}
    found, daemon, _ = await answer_to(tmp_path, "POST", CALL, body, outcome=Answered({}))
    refused(found, 409, "not_offered")
    assert daemon.asked_of == []


async def test_a_provider_that_has_no_process_can_not_be_called_and_says_how_it_stands(tmp_path: Path) -> None:
    found, _, _ = await answer_to(tmp_path, "POST", CALL, {"method": "ping"})
    assert "(ready)" in refused(found, 409, "not_ready")["message"]


async def test_one_call_by_hand_at_a_time(tmp_path: Path) -> None:
    found, _, _ = await answer_to(tmp_path, "POST", CALL, {"method": "ping"}, open_=True)
    refused(found, 409, "call_open")


@pytest.mark.parametrize("path", ["/v1/providers/est/logs", "/v1/providers/est/call"])
async def test_a_provider_nobody_knows_is_answered_with_those_that_are(path: str, tmp_path: Path) -> None:
    method = "GET" if path.endswith("logs") else "POST"
    body = None if method == "GET" else {"method": "ping"}
    found, _, _ = await answer_to(tmp_path, method, path, body)
    assert "east, west" in refused(found, 404, "not_found")["remedy"]


class DeafDaemon(MemoryDaemon):
    """Its provider never answers."""

    async def ask(self, provider: str, method: str, params: object) -> tuple[int, Outcome] | None:
        """Waits for ever."""
        await trio.sleep_forever()
        raise AssertionError("nobody wakes it")


async def test_a_caller_is_answered_before_its_connection_would_be_closed(autojump_clock: MockClock) -> None:
    daemon = DeafDaemon(settings_for(), lively_world())
    app = rest_app(daemon, daemon, "1.0", open_log(verbose=False))
    begun = trio.current_time()
    status, body = await in_memory(app, "POST", CALL, b'{"method": "ping"}')
    assert trio.current_time() - begun == ANSWER_S
    assert (status, body["outcome"]) == (200, "lost")
