"""Ledgers and purchases for tests: what they share, and nothing of what they show."""

from collections.abc import Callable
from pathlib import Path

from provider_sdk.call import Call
from provider_sdk.contract import (
    AskedRequest,
    Instance,
    InstanceState,
    Mark,
    Outcome,
    Report,
    RequestParams,
    RequestStatusParams,
)
from provider_sdk.ledger import Ledger
from provider_sdk.state import StateFolder

NAME = "ledger.jsonl"


class Killed(BaseException):
    """Stands for the end of the process at this very place."""


def params(token: str = "tk-1", units: int = 2, **more: object) -> RequestParams:
    mark = Mark("clu-a", "l-1", "east", "rq-1", token, 7)
    return RequestParams("rq-1", token, "small", units, mark, 7, 100.0, **more)  # type: ignore[arg-type]


def asked(token: str = "tk-1") -> RequestStatusParams:
    return RequestStatusParams((AskedRequest("rq-1", token, "small", 2, params(token).mark),))


def machine(name: str, state: InstanceState = InstanceState.RUNNING) -> Instance:
    return Instance(name, 1, state, template="small")


def licence() -> Call:
    return Call(
        method="request",
        epoch=7,
        not_after=100.0,
        boot_now=lambda: 50.0,
        highest_epoch=lambda: 7,
        on_superseded=lambda: None,
    )


def opened(path: Path, **more: Callable[[], float]) -> Ledger:
    ledger = Ledger(StateFolder(path), **more)  # type: ignore[arg-type]
    ledger.open()
    return ledger


def buy(ledger: Ledger, *names: str, wanted: RequestParams | None = None) -> Report:
    call = licence()
    with ledger.purchase(wanted or params(), call) as purchase:
        if purchase.new:
            call.check_fence()
            purchase.saw(*map(machine, names))
            purchase.made()
    return purchase.report


def outcome(ledger: Ledger, token: str = "tk-1") -> Outcome:
    return ledger.status(asked(token)).requests[0].outcome
