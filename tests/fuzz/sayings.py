"""What an honest daemon says to a provider, as streams of lines: a greeting, then calls with every example's params.

It mutates nothing.
"""

from functools import cache
from pathlib import Path
from typing import Any

from provider_sdk.contract.methods import METHODS
from tests.fuzz.honest import examples, line
from tests.sdk.conversation import asked_about, give_back, greeting, purchase

STATE = Path("/state")


def call(call_id: int, method: str, params: object) -> bytes:
    """The line of a call."""
    return line({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})


def tell(name: str, params: object) -> bytes:
    """The line of a notification."""
    return line({"jsonrpc": "2.0", "method": name, "params": params})


@cache
def streams() -> tuple[bytes, ...]:
    """Conversations after a good greeting, and greetings of every kind."""
    hello = call(1, "initialize", greeting(STATE))
    days = [hello + b"".join(lines) for lines in _days()]
    greeted = [
        hello + call(2, method, params) + call(3, "ping", {})
        for method in METHODS
        for params in examples(f"{method}.params")
    ]
    odd = [call(1, "initialize", params) + call(2, "list", {}) for params in (*_greetings(), *_example_greetings())]
    first = call(7, "initialize", greeting(STATE)) + call(1, "describe", {"known": "slow"})
    odd += [first + tell("cancel_call", {"id": True}), first + tell("cancel_call", {"id": 1})]
    return (*days, *greeted, *odd, call(1, "list", {}) + hello, hello + hello, tell("exit", {}) + hello)


def _days() -> list[list[bytes]]:
    slow = purchase("tk-9", template="slow")
    told = {"tokens": ["tk-1"], "returns": ["rt-1"]}
    whole = [
        call(2, "describe", {}),
        call(3, "list", {}),
        call(4, "request", purchase("tk-1")),
        call(5, "request_status", asked_about("tk-1", "tk-2")),
        call(6, "return", give_back("m.tk-1")),
        call(7, "return_status", {"returns": ["rt-1"]}),
        call(8, "cancel", {"request_id": "rq-1", "token": "tk-1", "epoch": 7, "not_after": 100.0}),
        call(9, "forget", told),
        call(10, "ping", {}),
        call(11, "shutdown", {"grace_s": 5}),
    ]
    return [
        whole,
        [*whole, tell("exit", {})],
        [call(2, "request", slow), call(3, "request_status", asked_about("tk-9")), call(4, "request", slow)],
        [call(2, "request", slow), tell("cancel_call", {"id": 2}), call(3, "shutdown", {"grace_s": 1})],
        [call(n, "request", {**slow, "token": f"tk-{n}"}) for n in range(2, 12)] + [tell("cancel_call", {"id": 9})],
        [call(2, "request", purchase("tk-1", template="boom")), call(2, "request", purchase("tk-1"))],
        [call(2, "request", purchase("tk-1", epoch=6)), call(3, "request", purchase("tk-1", epoch=8))],
        [call(2, "request", purchase("tk-1", not_after=1)), call(3, "return", give_back("a", not_after=1.5))],
        [call(2, "request", purchase("tk-1")), call(3, "request", purchase("tk-1", units=2))],
        [call(2, "request", slow), call(2, "list", {}), call(2, "ping", {}), call(2, "nothing", {})],
        [call(2, "describe", {"known": "slow"}), tell("cancel_call", {"id": 2}), tell("cancel_call", {"id": 2})],
        [call(2, "describe", {"known": "slow"}), tell("cancel_call", {"id": 3}), tell("cancel_call", {"id": True})],
        [call(2, "shutdown", {}), call(3, "list", {}), call(4, "shutdown", {"grace_s": 0})],
    ]


def _greetings() -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = [
        {"mode": "check"},
        {"versions": ["9.9"]},
        {"versions": []},
        {"epoch": 0},
        {"epoch": 2**53 - 1},
        {"frame_bytes": 2**53 - 1},
        {"config": {"a": {"credential": "b"}}},
        {"credentials_dir": "/cred"},
    ]
    return [greeting(STATE, **change) for change in changes]


def _example_greetings() -> list[Any]:
    return list(examples("initialize.params"))
