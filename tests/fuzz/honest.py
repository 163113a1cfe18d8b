"""What an honest provider says, as lines of bytes: answers to open calls, errors, hints; the published examples too.

It follows a conversation to know the ids; it mutates nothing.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.core.play import Play
from tests.fuzz.daemon_side import DaemonSide

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "schemas" / "provider" / "v2" / "examples"
ROUNDS = 8


@frozen
class Fault:
    """An error in place of a result."""

    error: object


def forked(play: Play) -> Play:
    """The same moment once more; what happens to one does not happen to the other."""
    again = Play.__new__(Play)
    again.__dict__.update(play.__dict__)
    again.effects, again.replies = dict(play.effects), []
    return again


def spoken(play: Play, said: Mapping[str, object]) -> bytes:
    """All that a provider says from this moment on, call by call: by method what is given, else what is honest."""
    side = DaemonSide(forked(play))
    stream = b""
    for _ in range(ROUNDS):
        calls = side.peer.open_calls
        for call in calls:
            result = said.get(call.method, HONEST[call.method])
            line = failure(call.id, result.error) if isinstance(result, Fault) else answer(call, result)
            stream += line
            side.feed([line])
        if not calls:
            break
    return stream


def answer(call: Any, result: object) -> bytes:
    """The line of a result, its report made one on what was asked for."""
    return line({"jsonrpc": "2.0", "id": call.id, "result": _on(call.method, call.params, result)})


def failure(call_id: int, error: object) -> bytes:
    """The line of an error."""
    return line({"jsonrpc": "2.0", "id": call_id, "error": error})


def line(message: object) -> bytes:
    """A message as the line it is."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _on(method: str, params: Mapping[str, Any], result: Any) -> Any:
    if not isinstance(result, dict):
        return result
    match method:
        case "request" | "cancel":
            return _report_on(params, result)
        case "request_status" if isinstance(result.get("requests"), list):
            pairs = zip(params["requests"], result["requests"], strict=False)
            return {**result, "requests": [_report_on(asked, report) for asked, report in pairs]}
        case "return" if isinstance(result.get("items"), list):
            return {**result, "items": _items_on(params["items"], result["items"])}
        case "return_status" if isinstance(result.get("returns"), list):
            ids = zip(params["returns"], result["returns"], strict=False)
            return {**result, "returns": [{**status, "return_id": id} for id, status in ids]}
        case _:
            return result


def _report_on(asked: Mapping[str, Any], report: Any) -> Any:
    return (
        {**report, "request_id": asked["request_id"], "token": asked["token"]} if isinstance(report, dict) else report
    )


def _items_on(asked: Sequence[Mapping[str, Any]], items: Sequence[Any]) -> list[Any]:
    return [{**item, "instance": each["instance"]} for each, item in zip(asked, items, strict=False)]


@cache
def examples(name: str) -> tuple[Any, ...]:
    """The values of all published examples of one schema: good, of a later version, bad."""
    found = []
    for folder in ("good", "grown", "bad"):
        for path in sorted((EXAMPLES / folder).glob(f"{name}--*.json")):
            text = json.loads(path.read_text())
            found.append(text if folder == "good" else text["value"])
    return tuple(found)


def results_of(method: str) -> tuple[Any, ...]:
    """Every way we know to answer a method, bad ones too."""
    known: dict[str, list[Any]] = {
        "request": [*REPORTS],
        "request_status": [{"requests": [report]} for report in (*REPORTS, *examples("request.result"))],
        "return": [*RETURNS],
        "return_status": [{"returns": [{"return_id": "rt-1", **each}]} for each in (*RETURNS, {})],
        "list": [*LISTS],
        "ping": [{"health": word, "problem": {"error_class": "auth"}} for word in ("ok", "degraded", "down", "new")],
    }
    return (*known.get(method, ()), *examples(f"{method}.result"))


def hints() -> tuple[bytes, ...]:
    """What a provider may say unasked, and what it may not."""
    notices = {"items": [{"instance": "i-1", "kind": kind} for kind in ("reclaim", "price", "withdrawn", "new")]}
    named = {"what": ["instances"], "instances": ["i-1"], "requests": ["rq-1"]}
    many = {"what": ["instances"], "instances": [f"i-{n}" for n in range(1000)]}
    told = [("notice", notices), ("changed", named), ("changed", many), ("log", {"level": "info", "text": "hello"})]
    told += [
        (name, value) for name in ("changed", "notice", "progress", "log") for value in examples(f"{name}.notification")
    ]
    asked = line({"jsonrpc": "2.0", "id": 5, "method": "ping"})
    return (asked, *(line({"jsonrpc": "2.0", "method": name, "params": params}) for name, params in told))


# --- honest words

_MACHINE = {"instance": "i-7", "template": "small", "units": 1, "state": "running", "made_at": "2031-03-04T17:58:12Z"}
_TEMPLATE = {
    "template": "small",
    "kind": "host",
    "unit": "machine",
    "units_per_instance": 1,
    "attributes": {"cores": 4, "memory": {"value": 16, "unit": "GiB"}},
    "granularity": {"max_units": 100},
    "price": {"amount": "1", "currency": "USD", "per": "hour", "once": "0.5"},
    "lead_time": {"typical_s": 30, "worst_s": 60},
}
_REPORT: dict[str, Any] = {"request_id": "rq", "token": "tk", "outcome": "made", "instances": [_MACHINE]}
_EXACT = {
    "token": {"replay": "exact", "lifetime_s": 86_400},
    "mark": {"kept": "far_side"},
    "list": {"covers": "far_side", "delay_s": 10},
    "memory": {"where": "far_side"},
    "return": {"observed": True},
    "calls": {"in_flight": 8, "late_effect_s": 5},
}
_RETURNED = {"instance": "i-1", "state": "returned", "units": 0}
HONEST: Final[Mapping[str, object]] = {
    "initialize": {
        "version": "2.0",
        "provider": {"name": "honest", "version": "1"},
        "kinds": ["host", "grant"],
        "state_id": "0123456789abcdef",
        "capabilities": ["cancel", "forget", "describe.delta", "list.state"],
        "promises": _EXACT,
    },
    "describe": {"revision": "r1", "templates": [_TEMPLATE]},
    "list": {"instances": [], "age_s": 0, "complete": True},
    "request": _REPORT,
    "request_status": {"requests": [_REPORT]},
    "return": {"items": [_RETURNED]},
    "return_status": {"returns": [{"return_id": "rt", "items": [_RETURNED]}]},
    "cancel": {**_REPORT, "outcome": "not_made", "instances": []},
    "forget": {},
    "ping": {"health": "ok"},
}
REPORTS: Final = (
    {**_REPORT, "outcome": "pending", "instances": [], "poll_after_s": 60, "progress": {"phase": "bidding"}},
    {**_REPORT, "outcome": "pending"},
    {**_REPORT, "outcome": "not_made", "instances": []},
    {**_REPORT, "outcome": "not_made", "instances": [], "problems": [{"error_class": "no_capacity", "units": 1}]},
    {**_REPORT, "outcome": "unknown", "instances": []},
    {**_REPORT, "instances": [_MACHINE, {**_MACHINE, "instance": "i-8"}]},
    {**_REPORT, "instances": [], "gone_units": 1},
    {**_REPORT, "instances": [{**_MACHINE, "state": "gone", "charged": {"amount": "0.5", "currency": "USD"}}]},
    {**_REPORT, "instances": [{**_MACHINE, "kind": "remnant"}, {**_MACHINE, "units": 0}]},
)
RETURNS: Final = tuple(
    {"items": [{**_RETURNED, "state": state, "problem": {"error_class": "held", "retry_after_s": wait_s}}]}
    for state in ("returning", "held", "failed", "not_found", "unknown", "returned", "moving")
    for wait_s in (60, 2**53 - 1)
)
_SEEN = tuple(
    {"instances": [{**_MACHINE, "instance": id, "state": state, **more}], "age_s": 0, "complete": True}
    for id, state, more in (
        ("i-1", "running", {}),
        ("i-1", "gone", {"reason": "reclaimed"}),
        ("i-1", "returning", {"notice": {"kind": "reclaim", "deadline": "2031-03-04T18:20:11Z"}}),
        ("i-9", "running", {"mark": {"token": "tk-0"}}),
        ("i-9", "running", {}),
    )
)
LISTS: Final = (*_SEEN, {"instances": [], "age_s": 5, "complete": True, "next": "c-2"})
ERRORS: Final = tuple(
    {"code": code, "message": "x", "data": {"error_class": word, **more}}
    for code, word, more in (
        (1001, "no_capacity", {"outcome": "not_made"}),
        (1001, "no_capacity", {}),
        (1002, "throttled", {"outcome": "not_made", "retry_after_s": 30}),
        (-32602, "bad_params", {"faults": [{"path": "/units", "detail": "too many"}]}),
        (-32602, "no_capacity", {}),
        (-32603, "internal", {"outcome": "unknown", "ref": "r1"}),
        (1005, "bad_request", {"outcome": "not_made", "scope": {"template": "small", "place": {"zone": "a"}}}),
        (1004, "auth", {"outcome": "not_made", "scope": {"provider": True}}),
        (-32800, "cancelled", {"outcome": "unknown"}),
        (77, "brand_new", {}),
    )
)
