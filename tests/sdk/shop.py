"""A small provider for tests, whose every method can be replaced by a function of the test."""

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from provider_sdk.contract import (
    AskedRequest,
    CallsPromise,
    Capability,
    DescribeParams,
    DescribeResult,
    Instance,
    InstanceState,
    ListParams,
    ListResult,
    Outcome,
    PingResult,
    Program,
    Report,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnedItem,
    ReturnParams,
    ReturnResult,
    ReturnState,
    ReturnStatus,
    ReturnStatusParams,
    ReturnStatusResult,
    ShutdownParams,
    ShutdownResult,
)
from provider_sdk.contract.promises import Promises
from provider_sdk.contract.words import Health
from provider_sdk.provider import Call, Opened, Provider, Start

Step = Callable[..., Awaitable[Any]]


def made(asked: RequestParams | AskedRequest) -> Report:
    """A purchase that brought one machine."""
    machine = Instance(instance=f"m.{asked.token}", units=1, state=InstanceState.RUNNING, template=asked.template)
    return Report(asked.request_id, asked.token, Outcome.MADE, (machine,))


def report(asked: AskedRequest, outcome: Outcome) -> Report:
    """A report without machines."""
    return Report(asked.request_id, asked.token, outcome, ())


class Shop(Provider):
    """Sells one machine at a time; `steps` replace methods by name, `start` is what `open` was given."""

    info = Program(name="shop", version="1.0")

    def __init__(self, in_flight: int = 1, capabilities: tuple[Capability, ...] = (), **steps: Step) -> None:
        self.steps = steps
        self.in_flight = in_flight
        self.capabilities = capabilities
        self.start: Start | None = None
        self.begun: list[str] = []

    async def open(self, start: Start) -> Opened:
        self.start = start
        if "open" in self.steps:
            await self.steps["open"](start)
        return Opened(self.capabilities, Promises(calls=CallsPromise(in_flight=self.in_flight)))

    async def describe(self, params: DescribeParams) -> DescribeResult:
        self.begun.append("describe")
        if "describe" in self.steps:
            return await self.steps["describe"](params)  # type: ignore[no-any-return]
        return DescribeResult(revision="r1")

    async def request(self, params: RequestParams, call: Call) -> Report:
        self.begun.append(f"request {params.token}")
        if "request" in self.steps:
            return await self.steps["request"](params, call)  # type: ignore[no-any-return]
        call.check_fence()
        return made(params)

    async def request_status(self, params: RequestStatusParams) -> RequestStatusResult:
        if "request_status" in self.steps:
            return await self.steps["request_status"](params)  # type: ignore[no-any-return]
        return RequestStatusResult(tuple(report(asked, Outcome.NOT_MADE) for asked in params.requests))

    async def return_(self, params: ReturnParams, call: Call) -> ReturnResult:
        self.begun.append(f"return {' '.join(item.instance for item in params.items)}")
        if "return_" in self.steps:
            await self.steps["return_"](params, call)
        call.check_fence()
        return ReturnResult(tuple(ReturnedItem(item.instance, ReturnState.RETURNED) for item in params.items))

    async def return_status(self, params: ReturnStatusParams) -> ReturnStatusResult:
        return ReturnStatusResult(tuple(ReturnStatus(return_id) for return_id in params.returns))

    async def list_(self, params: ListParams) -> ListResult:
        return ListResult(instances=(), age_s=0, complete=True)

    async def shutdown(self, params: ShutdownParams) -> ShutdownResult:
        return ShutdownResult(open=0)

    async def ping(self) -> PingResult:
        return PingResult(Health.OK)


class Gate:
    """A step of the shop that says when it has begun and waits until it may go on, by token."""

    def __init__(self) -> None:
        self.begun: dict[str, trio.Event] = {}
        self.open: dict[str, trio.Event] = {}
        self.calls: dict[str, Call] = {}

    def at(self, token: str) -> tuple[trio.Event, trio.Event]:
        """Its begin, and what lets it end."""
        return self.begun.setdefault(token, trio.Event()), self.open.setdefault(token, trio.Event())

    async def request(self, params: RequestParams, call: Call) -> Report:
        """The step."""
        begun, may_end = self.at(params.token)
        self.calls[params.token] = call
        begun.set()
        await may_end.wait()
        call.check_fence()
        return made(params)
