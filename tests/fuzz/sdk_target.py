"""A hostile daemon before the SDK's serving half: every call owed an answer gets one, under its id, in the contract's
words; nothing is bought twice, nor under another epoch; the conversation ends in time.

A virtual clock and streams in memory; the provider behind it is honest and watches what reaches it.
"""

import atexit
import json
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import trio
import trio.testing

from provider_sdk.contract import (
    BadShape,
    CancelParams,
    Capability,
    DescribeParams,
    DescribeResult,
    ExtendParams,
    ExtendResult,
    ForgetParams,
    ForgetResult,
    Outcome,
    QuoteParams,
    QuoteResult,
    Report,
    RequestParams,
    decode,
)
from provider_sdk.contract.messages import ExtendedItem
from provider_sdk.contract.methods import METHODS
from provider_sdk.contract.types import Money
from provider_sdk.contract.words import Per
from provider_sdk.provider import Call
from provider_sdk.session import Session
from provider_sdk.stages import Ending
from tests.contract import schemas
from tests.fuzz import judge
from tests.fuzz.oracle import check, pieces, run_the_same
from tests.fuzz.reader import read_object
from tests.sdk.shop import Shop, made
from tests.virtual_time import pass_s

ENDS_WITHIN_S = 10.0
"""After the end of input (HS-9)."""
SAID_WITHIN_S = 10.0
"""In which all that is said has been said; nothing here waits for more than a purchase of 3 s."""
BOOT_S = 50.0
LOGGED_MOST = 60
SECRET = "hunter2"
MEMORY: Final = Path("/dev/shm")


class Watched(Shop):
    """A shop that keeps what it was asked to buy, and fails with a secret in its words where a template says so."""

    def __init__(self) -> None:
        optional = (Capability.CANCEL, Capability.EXTEND, Capability.FORGET, Capability.QUOTE)
        super().__init__(in_flight=4, capabilities=optional)
        self.bought: Counter[str] = Counter()
        self.asked: list[RequestParams] = []

    async def request(self, params: RequestParams, call: Call) -> Report:
        self.asked.append(params)
        if params.template.startswith("boom"):
            raise RuntimeError(SECRET)
        if params.template.startswith("slow"):
            await pass_s(3)
        call.check_fence()
        self.bought[params.token] += 1
        return made(params)

    async def describe(self, params: DescribeParams) -> DescribeResult:
        if params.known == "slow":
            await pass_s(3)
        return DescribeResult(revision="r1")

    async def cancel(self, params: CancelParams, call: Call) -> Report:
        call.check_fence()
        return Report(params.request_id, params.token, Outcome.UNKNOWN, ())

    async def extend(self, params: ExtendParams, call: Call) -> ExtendResult:
        call.check_fence()
        return ExtendResult(tuple(ExtendedItem(item.instance, item.until) for item in params.items))

    async def forget(self, params: ForgetParams) -> ForgetResult:
        return ForgetResult()

    async def quote(self, params: QuoteParams) -> QuoteResult:
        return QuoteResult("q-1", params.units, Money("1", "USD", Per.HOUR), "2031-03-04T18:01:00Z", held=False)


@cache
def folder() -> Path:
    """Where the state folders of this process lie: in memory where the machine has such a place."""
    has_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    made_for_us = tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if has_memory else None)
    atexit.register(shutil.rmtree, made_for_us, ignore_errors=True)
    return Path(made_for_us)


@contextmanager
def cleared() -> Iterator[None]:
    """While cases run; afterwards their folders are gone."""
    try:
        yield
    finally:
        shutil.rmtree(folder(), ignore_errors=True)
        folder.cache_clear()


def rooted(data: bytes, root: Path) -> bytes:
    """The stream with every folder it names moved below `root`: a hostile daemon must not write on this machine."""
    lines = data.split(b"\n")
    for at, line in enumerate(lines):
        message = read_object(line.removesuffix(b"\r"))
        params = message.get("params") if message is not None else None
        if message is None or not isinstance(params, dict):
            continue
        moved = {
            key: str(root) + value.replace("..", "__")
            for key in ("state_dir", "credentials_dir")
            if isinstance(value := params.get(key), str) and value.startswith("/")
        }
        if moved:
            lines[at] = json.dumps({**message, "params": {**params, **moved}}, ensure_ascii=False).encode()
    return b"\n".join(lines)


def run_sdk(scene: str, data: bytes) -> None:
    """Plays a daemon that says these bytes, then closes stdin; looks at all that was answered and bought."""
    root = Path(tempfile.mkdtemp(dir=folder()))
    try:
        run_the_same(_converse, rooted(data, root), root, zlib.crc32(data))
    finally:
        shutil.rmtree(root, ignore_errors=True)


async def _converse(data: bytes, root: Path, seed: int) -> None:
    shop, logged, endings = Watched(), list[str](), list[Ending]()
    to_provider, receive = trio.testing.memory_stream_one_way_pair()
    send, from_provider = trio.testing.memory_stream_one_way_pair()
    session = Session(
        shop,
        send,
        boot_now=lambda: BOOT_S,
        log=logged.append,
        on_ending=lambda ending, _: endings.append(ending),
    )
    code = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_say, to_provider, data, seed)
        with trio.move_on_after(ENDS_WITHIN_S + SAID_WITHIN_S):
            code = await session.run(receive)
        nursery.cancel_scope.cancel()
    session.release()
    await send.aclose()
    output = bytearray()
    async for part in from_provider:
        output += part
    check(code is not None, "it did not end in time after the end of its input")
    check(code in (0, 1, 78), f"it ended with {code}")
    _nothing_left(session)
    check(len(logged) <= LOGGED_MOST, f"{len(logged)} entries were logged")
    _answers(bytes(output), data, endings)
    _purchases(shop, data)


async def _say(pipe: trio.abc.SendStream, data: bytes, seed: int) -> None:
    """Says the bytes piece by piece, or line by line with a pause in which calls may end; then the input ends."""
    is_patient = seed % 3 != 0
    for piece in data.splitlines(keepends=True) if is_patient else pieces(data, seed):
        await pipe.send_all(piece)
        if is_patient:
            await trio.testing.wait_all_tasks_blocked()
    await pipe.aclose()


def _nothing_left(session: Session) -> None:
    check(session._work.count == 0 or session._ending is not Ending.INPUT_ENDED, "tasks are left")
    served = session._served
    if served is not None and session._ending is Ending.INPUT_ENDED:
        check(not session._calls, "calls are left open")
        check(not served._live, "licences of answered calls are left")
        check(not session._admission.running and not session._admission.waiting, "slots are left taken")


def _answers(output: bytes, data: bytes, endings: list[Ending]) -> None:
    check(not output or output.endswith(b"\n"), "the last frame is not whole")
    given: Counter[int] = Counter()
    asked, given_up = _asked(data), _given_up(data)
    for line in output.split(b"\n")[:-1]:
        frame = read_object(line)
        check(frame is not None, "what is written is a frame")
        assert frame is not None
        if "method" in frame:
            check("id" not in frame, "a provider asks nothing")
            continue
        given[frame["id"]] += 1
        check(schemas.accepts("frames", frame), f"no frame of the contract: {str(frame)[:200]}")
        check(SECRET not in line.decode(), "the text of a failure reached the wire")
        check("Traceback" not in line.decode(), "a traceback reached the wire")
        _is_result_of(frame, asked)
        is_cancelled = frame.get("error", {}).get("message") == "cancelled"
        check(not is_cancelled or frame["id"] in given_up, "a call is given up that nobody cancelled")
    owed = Counter(judge.asked_of_us(judge.heard(data)))
    extra = given - owed
    check(not extra, f"answers to nothing, or twice: {dict(extra)}")
    if endings[:1] == [Ending.INPUT_ENDED]:
        missing = owed - given
        check(not missing, f"calls without an answer: {dict(missing)}")


def _asked(data: bytes) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for message in judge.heard(data).messages:
        method, call_id = message.get("method"), message.get("id")
        if isinstance(method, str) and type(call_id) is int:
            found.setdefault(call_id, set()).add(method)
    return found


def _given_up(data: bytes) -> set[int]:
    params = [m.get("params") for m in judge.heard(data).messages if m.get("method") == "cancel_call"]
    ids = [each.get("id") for each in params if isinstance(each, dict)]
    return {call_id for call_id in ids if type(call_id) is int}


def _is_result_of(frame: dict[str, Any], asked: dict[int, set[str]]) -> None:
    if "result" not in frame:
        return
    methods = asked.get(frame["id"], set()) & set(METHODS)
    check(bool(methods), f"a result under {frame['id']}, which asked nothing known")
    for method in methods:
        try:
            decode(METHODS[method].result, frame["result"])
        except BadShape:
            continue
        return
    check(False, f"a result that is none of {sorted(methods)}")


def _purchases(shop: Watched, data: bytes) -> None:
    start = shop.start
    for asked in shop.asked:
        check(start is not None and asked.epoch == start.epoch, "a purchase under another epoch reached the author")
        check(asked.not_after >= BOOT_S, "a purchase past its time reached the author")
    stated = [
        message["params"]
        for message in judge.heard(data).messages
        if message.get("method") == "request" and isinstance(message.get("params"), dict)
    ]
    for token, count in shop.bought.items():
        most = sum(params.get("token") == token for params in stated)
        check(count <= most, f"{token} was bought {count} times, asked {most} times")
