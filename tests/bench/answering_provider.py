"""A provider written with the SDK that knows a thousand purchases and answers at once, with `async` methods.

Knows what a report of about 300 bytes looks like. Must not know what is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from provider_sdk.contract.messages import (
    DescribeParams,
    DescribeResult,
    ListParams,
    ListResult,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnParams,
    ReturnResult,
    ReturnStatusParams,
    ReturnStatusResult,
)
from provider_sdk.contract.promises import CallsPromise
from provider_sdk.contract.types import Address, Instance, Report
from provider_sdk.contract.words import AddressScope, InstanceState, Outcome
from provider_sdk.provider import Call, Opened, Promises, Provider, ProviderInfo, Start
from provider_sdk.serve import serve

TEMPLATE = "r6i.large@us-east-1a/spot"
PURCHASES = 1_000
IN_FLIGHT = 64


def request_id(number: int) -> str:
    """The name of a purchase."""
    return f"rq-01jq8w3k5m{number:05d}"


def token(number: int) -> str:
    """The token of a purchase."""
    return f"tk-01jq8w3k5m7n9p{number:05d}"


def report(number: int) -> Report:
    """What is told of one purchase: it was made, and its host runs."""
    host = Instance(
        instance=f"i-0123456789ab{number:05d}",
        template=TEMPLATE,
        units=1,
        state=InstanceState.RUNNING,
        name=f"node-{number:05d}.cluster.example",
        addresses=(Address(f"10.0.{number // 250}.{number % 250}", AddressScope.PRIVATE),),
        made_at="2031-03-04T17:58:12Z",
        billed_from="2031-03-04T17:58:12Z",
    )
    return Report(request_id(number), token(number), Outcome.MADE, (host,))


class Answering(Provider):
    """Reports on what it knows, at once."""

    info = ProviderInfo("answering", "1")

    def __init__(self) -> None:
        made = map(report, range(PURCHASES))
        self._reports: Mapping[str, Report] = {each.token: each for each in made}

    def open(self, start: Start) -> Opened:
        return Opened(promises=Promises(calls=CallsPromise(in_flight=IN_FLIGHT)))

    async def describe(self, params: DescribeParams) -> DescribeResult:
        return DescribeResult(revision="r1", templates=())

    async def request(self, params: RequestParams, call: Call) -> Report:
        call.check_fence()
        return Report(params.request_id, params.token, Outcome.NOT_MADE, ())

    async def request_status(self, params: RequestStatusParams) -> RequestStatusResult:
        return RequestStatusResult(tuple(self._reports[item.token] for item in params.requests))

    async def return_(self, params: ReturnParams, call: Call) -> ReturnResult:
        return ReturnResult(())

    async def return_status(self, params: ReturnStatusParams) -> ReturnStatusResult:
        return ReturnStatusResult(())

    async def list_(self, params: ListParams) -> ListResult:
        return ListResult(instances=(), age_s=0, complete=True)


if __name__ == "__main__":
    sys.exit(serve(Answering()))
