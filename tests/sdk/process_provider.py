"""A provider for tests of real processes, told by names of templates what to do; it prints wherever it can."""

# ruff: noqa: T201 - to print is what it is for

import ctypes
import os
import subprocess
import sys
import threading

from provider_sdk.contract import (
    CallsPromise,
    DescribeParams,
    DescribeResult,
    ListParams,
    ListResult,
    Outcome,
    Program,
    Promises,
    Report,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnParams,
    ReturnResult,
    ReturnStatusParams,
    ReturnStatusResult,
)
from provider_sdk.provider import Call, Opened, Provider, Start
from provider_sdk.serve import serve

print("printed before serve")


class Plain(Provider):
    """Sync methods throughout."""

    info = Program(name="plain", version="1.0")

    def open(self, start: Start) -> Opened:
        print("printed in open")
        ctypes.CDLL(None).puts(b"put by the C library")
        subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True, timeout=30)
        os.write(1, b"written to descriptor 1\n")
        return Opened(promises=Promises(calls=CallsPromise(in_flight=4)))

    def describe(self, params: DescribeParams) -> DescribeResult:
        return DescribeResult(revision=sys.stdin.read() + threading.current_thread().name)

    def request(self, params: RequestParams, call: Call) -> Report:
        print("request has begun", file=sys.stderr, flush=True)
        if params.template == "in-c":
            ctypes.CDLL(None).sleep(60)  # no Python runs in this thread, and nothing can stop it
        while not (call.pause(60) and params.template == "until-cancelled"):
            threading.Event().wait()
        return Report(params.request_id, params.token, Outcome.NOT_MADE, ())

    def request_status(self, params: RequestStatusParams) -> RequestStatusResult:
        return RequestStatusResult(
            tuple(Report(one.request_id, one.token, Outcome.UNKNOWN, ()) for one in params.requests)
        )

    def return_(self, params: ReturnParams, call: Call) -> ReturnResult:
        return ReturnResult(())

    def return_status(self, params: ReturnStatusParams) -> ReturnStatusResult:
        return ReturnStatusResult(())

    async def list_(self, params: ListParams) -> ListResult:
        print("the run is blocked", file=sys.stderr, flush=True)
        threading.Event().wait()  # what an author must never do
        raise AssertionError

    def close(self) -> None:
        print("closed in order")


if __name__ == "__main__":
    sys.exit(serve(Plain()))
