"""The author's methods as the wire sees them: params checked, fences set, results checked and written.

Knows the methods and what the SDK vouches for on the author's behalf; must not know streams or the order of calls.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from attrs import evolve, frozen

from provider_sdk.author import AuthorThreads
from provider_sdk.call import Call
from provider_sdk.contract.codec import BadShape, decode, encode
from provider_sdk.contract.messages import (
    AskedRequest,
    CancelParams,
    PingResult,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
)
from provider_sdk.contract.methods import METHODS
from provider_sdk.contract.types import Problem, Report
from provider_sdk.contract.words import ErrorClass, Health, Outcome
from provider_sdk.dispatch import Method, Params
from provider_sdk.errors import ContractError
from provider_sdk.provider import Opened, Provider

P = ParamSpec("P")
S = TypeVar("S")
NAMES = {"return": "return_", "list": "list_"}
"""Where the name of a method differs from that on the wire."""
STATUS_ROUNDS = 3
FAULTS = 1_000


@frozen
class Owner:
    """Under whose epoch this process serves, how a fence is told, and who hears of refused credentials (SC-1)."""

    epoch: int
    boot_now: Callable[[], float]
    highest_epoch: Callable[[], int]
    on_superseded: Callable[[], None]
    damage: Callable[[], tuple[str, ...]]
    on_auth: Callable[[], None]


class ResultFault(Exception):
    """The author's method answered something that is no answer to what was asked."""


class Served:
    """The table of methods of one opened provider; `held` names the tokens that are queued or being worked on."""

    def __init__(
        self,
        provider: Provider,
        opened: Opened,
        owner: Owner,
        threads: AuthorThreads,
        held: Callable[[], frozenset[str]],
    ) -> None:
        self._provider = provider
        self._owner = owner
        self._threads = threads
        self._held = held
        self._live: dict[int, Call] = {}
        self._stopping = False
        self.methods: Mapping[str, Method] = self._table(opened)

    def ask_to_stop(self, call_id: int) -> None:
        """Tell one changing call that nobody waits for it any more (CC-6); other calls are left alone."""
        if call_id in self._live:
            self._live[call_id].ask_to_stop("cancelled")

    def ask_all_to_stop(self) -> None:
        """Tell every changing call, also one that begins later, that the process is about to end."""
        self._stopping = True
        for call in self._live.values():
            call.ask_to_stop("shutdown")

    def outcome_of_bug(self, call_id: int) -> Outcome | None:
        """What an error of this call may say of the purchase: None if the call is no purchase."""
        call = self._live.get(call_id)
        if call is None or call.method != "request":
            return None
        return Outcome.NOT_MADE if self._provider.checks_fence and not call.begun else Outcome.UNKNOWN

    def may_interrupt(self, name: str) -> bool:
        """Whether a running call can be given up at once: an `async` read; it changes nothing and blocks no thread."""
        return not METHODS[name].changing and inspect.iscoroutinefunction(
            getattr(self._provider, NAMES.get(name, name))
        )

    def forget_call(self, call_id: int) -> None:
        """The call is answered."""
        self._live.pop(call_id, None)

    async def ping(self, in_flight: int, queued: int) -> dict[str, Any]:
        """The author's word on the far side, with what the SDK knows: how busy we are, and damaged records (ST-2)."""
        found = checked(await self._run(self._provider.ping), PingResult)
        damage = self._owner.damage()
        if damage:
            detail = f"stored records were unreadable and are set aside: {', '.join(damage)}"[:500]
            found = evolve(found, health=Health.DOWN, problem=Problem(ErrorClass.INTERNAL, detail=detail))
        return encode(evolve(found, in_flight=in_flight, queued=queued))

    def _table(self, opened: Opened) -> dict[str, Method]:
        provider = self._provider
        reads: dict[str, Callable[[Any], Any]] = {
            "describe": provider.describe,
            "return_status": provider.return_status,
            "list": provider.list_,
            "quote": provider.quote,
            "forget": provider.forget,
        }
        changes: dict[str, Callable[[Any, Call], Any]] = {
            "request": provider.request,
            "return": provider.return_,
            "cancel": provider.cancel,
            "extend": provider.extend,
        }
        table = {name: self._read(name, method) for name, method in reads.items()}
        table["request_status"] = self._answer_status
        table |= {name: self._change(name, method) for name, method in changes.items()}
        return {
            name: method
            for name, method in table.items()
            if METHODS[name].required or METHODS[name].capability in opened.capabilities
        }

    def _read(self, name: str, method: Callable[[Any], Any]) -> Method:
        entry = METHODS[name]

        async def answer(call_id: int, params: Params) -> dict[str, Any]:
            asked = read_params(entry.params, params)
            return encode(checked(await self._run(method, asked), entry.result))

        return answer

    def _change(self, name: str, method: Callable[[Any, Call], Any]) -> Method:
        entry = METHODS[name]

        async def answer(call_id: int, params: Params) -> dict[str, Any]:
            asked: Any = read_params(entry.params, params)
            call = self._licence(call_id, name, asked.not_after)
            if asked.epoch != self._owner.epoch:
                outcome = Outcome.NOT_MADE if name == "request" else None
                raise ContractError(ErrorClass.FENCED, "not the epoch of this process", outcome=outcome)
            call.check_start()
            self._refuse_if_damaged(name)
            found = checked(await self._run(method, asked, call), entry.result)
            if isinstance(asked, RequestParams | CancelParams):
                _must_answer(asked, found)
            return encode(found)

        return answer

    async def _run(self, method: Callable[P, Awaitable[S] | S], *args: P.args, **kwargs: P.kwargs) -> S:
        """The author's method; where it says `auth`, as an error or as a problem, credentials are read again."""
        try:
            found = await self._threads.run(method, *args, **kwargs)
        except ContractError as refusal:
            if refusal.error_class is ErrorClass.AUTH:
                self._owner.on_auth()
            raise
        if _says_auth(found):
            self._owner.on_auth()
        return found

    def _licence(self, call_id: int, name: str, not_after: float) -> Call:
        call = Call(
            method=name,
            epoch=self._owner.epoch,
            not_after=not_after,
            boot_now=self._owner.boot_now,
            highest_epoch=self._owner.highest_epoch,
            on_superseded=self._owner.on_superseded,
        )
        if self._stopping:
            call.ask_to_stop("shutdown")
        self._live[call_id] = call
        return call

    def _refuse_if_damaged(self, name: str) -> None:
        # Without its records a provider could buy twice. Returns go on: they only ever save money.
        if name == "request" and self._owner.damage():
            detail = "stored records are unreadable: look at the files set aside in the state folder, then remove them"
            raise ContractError(ErrorClass.TRANSIENT, detail, outcome=Outcome.NOT_MADE, reason="state")

    async def _answer_status(self, call_id: int, params: Params) -> dict[str, Any]:
        return encode(await self._request_status(read_params(RequestStatusParams, params)))

    async def _request_status(self, params: RequestStatusParams) -> RequestStatusResult:
        """Ask the author, but never let him disprove a purchase that is queued or under way here (§4, CC-2).

        What he read may be older than the end of a purchase that ran meanwhile: then he is asked again.
        """
        settled: dict[str, Report] = {}
        asked = params.requests
        for _ in range(STATUS_ROUNDS):
            before = self._held()
            result = checked(
                await self._run(self._provider.request_status, RequestStatusParams(asked)), RequestStatusResult
            )
            after = self._held()
            settled |= {report.token: _as_held(report, after) for report in result.requests}
            asked = _ended_between(asked, before, after)
            if not asked:
                break
        for item in asked:  # still changing under our eyes
            if item.token in settled:
                settled[item.token] = _unproven(settled[item.token], Outcome.UNKNOWN)
        return RequestStatusResult(tuple(settled.values()))


def read_params(shape: type[S], params: Params) -> S:
    """The params in their shape; raises `bad_params` with every fault."""
    try:
        return decode(shape, params)
    except BadShape as problem:
        raise ContractError(ErrorClass.BAD_PARAMS, faults=tuple(problem.faults[:FAULTS])) from problem


def checked(found: object, shape: type[S]) -> S:
    """What the author's method answered, if it is of the agreed type; raises ResultFault."""
    if not isinstance(found, shape):
        raise ResultFault(f"the method must answer {shape.__name__}, not {type(found).__name__}")
    return found


def _says_auth(found: object) -> bool:
    problems, problem = getattr(found, "problems", ()), getattr(found, "problem", None)
    if not problems and problem is None:
        return False
    said = (*problems, problem)
    return any(isinstance(each, Problem) and each.error_class is ErrorClass.AUTH for each in said)


def token_key(token: str) -> str:
    """What a call on a token holds while it is queued or runs."""
    return f"token {token}"


def keys_of(method: str, params: Params) -> frozenset[str]:
    """What the call must have for itself (CC-3), from params that are not yet checked."""
    match method:
        case "request" | "cancel":
            return frozenset(token_key(token) for token in (params.get("token"),) if isinstance(token, str))
        case "forget":
            tokens = params.get("tokens")
            listed = tokens if isinstance(tokens, list) else []
            return frozenset(token_key(token) for token in listed if isinstance(token, str))
        case "return" | "extend":
            items = params.get("items")
            named = (
                [item.get("instance") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
            )
            return frozenset(f"instance {name}" for name in named if isinstance(name, str))
        case _:
            return frozenset()


def _must_answer(asked: RequestParams | CancelParams, found: object) -> None:
    if not isinstance(found, Report) or (found.request_id, found.token) != (asked.request_id, asked.token):
        raise ResultFault("the report is on another purchase than the one asked for")


def _as_held(report: Report, held: frozenset[str]) -> Report:
    # `made` stays: an author records it when no further unit can come, and a Yes is never taken back.
    if held and token_key(report.token) in held and report.outcome in (Outcome.NOT_MADE, Outcome.UNKNOWN):
        return _unproven(report, Outcome.PENDING)
    return report


def _ended_between(
    asked: tuple[AskedRequest, ...], before: frozenset[str], after: frozenset[str]
) -> tuple[AskedRequest, ...]:
    ended = before - after
    return tuple(item for item in asked if token_key(item.token) in ended) if ended else ()


def _unproven(report: Report, outcome: Outcome) -> Report:
    return report if report.outcome == Outcome.MADE else evolve(report, outcome=outcome)
