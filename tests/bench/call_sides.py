"""The two far sides of a call: a provider written with the SDK behind the daemon's supervision, and a plain echo.

Knows how each is started, asked and ended. Must not know what is measured.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
import trio
from structlog.testing import ReturnLogger

from provider_sdk.contract import InitializeResult, decode
from provider_sdk.contract.codec import encode
from provider_sdk.contract.framing import PROVIDER_FRAME_BYTES
from provider_sdk.contract.messages import AskedRequest, InitializeParams, RequestStatusParams
from provider_sdk.contract.types import Mark
from provider_sdk.contract.words import Mode
from provisioner.runtime.supervision import Answered, Log, ProcessSpec, Report
from provisioner.runtime.supervisor import ProviderProcess, open_process
from tests.bench.answering_provider import IN_FLIGHT, TEMPLATE, request_id, token

PROGRAM = Path(__file__).with_name("answering_provider.py")
METHOD = "request_status"
WITHIN_S = 60.0
READ_BYTES = 65_536


class NoAnswer(Exception):
    """A call of the bench was not answered as it must be."""


def questions(items: int) -> dict[str, object]:
    """The params that ask for so many purchases, about 330 bytes each."""
    return encode(RequestStatusParams(tuple(map(_asked, range(items)))))


def _asked(number: int) -> AskedRequest:
    mark = Mark("clu-a", "l-7f3c0b91", "east", request_id(number), token(number), 7)
    return AskedRequest(request_id(number), token(number), TEMPLATE, 1, mark)


class OurSide:
    """A provider as the daemon reaches it."""

    def __init__(self, process: ProviderProcess) -> None:
        self._process = process

    async def ask(self, params: dict[str, object], items: int) -> None:
        """One call, answered in full."""
        answer = await self._process.call(METHOD, params, WITHIN_S)
        if not isinstance(answer, Answered):
            raise NoAnswer(f"the call came to {answer}")
        reports = answer.result["requests"]
        if not isinstance(reports, list) or len(reports) != items:
            raise NoAnswer(f"{items} reports were asked for")


class EchoSide:
    """A process that writes what it reads, reached by trio's own streams."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._out, self._in = process.stdin, process.stdout

    async def ask(self, frame: bytes) -> None:
        """There and back again, up to the end of the line; two pipes and the echo's buffer hold 256 KiB of it."""
        await self._out.send_all(frame)
        while not (await self._in.receive_some(READ_BYTES)).endswith(b"\n"):
            pass


@asynccontextmanager
async def our_sides(folder: Path, count: int) -> AsyncIterator[list[OurSide]]:
    """So many providers, each opened and ready for `IN_FLIGHT` calls."""
    async with trio.open_nursery() as nursery:
        processes = [await _opened(folder / f"provider-{number}", nursery) for number in range(count)]
        yield [OurSide(process) for process in processes]
        async with trio.open_nursery() as ends:
            for process in processes:
                ends.start_soon(_end, process)


async def _opened(folder: Path, nursery: trio.Nursery) -> ProviderProcess:
    state = folder / "state"
    spec = ProcessSpec(
        provider="east",
        argv=(sys.executable, str(PROGRAM)),
        marker=f"bench-{uuid.uuid4()}",
        run_dir=str(folder / "run"),
        state_dir=str(state),
        calls=IN_FLIGHT,
    )
    process = await open_process(spec, nursery, _unheard, log=silent())
    params = InitializeParams(
        versions=("2.0",),
        mode=Mode.SERVE,
        cluster="clu-a",
        lineage="l-7f3c0b91",
        provider="east",
        owner="bench",
        epoch=7,
        config={},
        state_dir=str(state),
        frame_bytes=PROVIDER_FRAME_BYTES,
        answer_s_max=600,
    )
    answer = await process.call("initialize", encode(params), WITHIN_S)
    if not isinstance(answer, Answered):
        raise NoAnswer(f"the handshake came to {answer}")
    process.handshake_done(decode(InitializeResult, answer.result).promises.calls.in_flight)
    return process


async def _end(process: ProviderProcess) -> None:
    await process.stop("the bench is over")


async def _unheard(_: Report) -> None:
    await trio.lowlevel.checkpoint()


def silent() -> Log:
    """A log that is read by nobody."""
    log: Log = structlog.wrap_logger(ReturnLogger())
    return log


@asynccontextmanager
async def echo_sides(count: int) -> AsyncIterator[list[EchoSide]]:
    """So many echoes, in C: `cat` writes what it reads, once it has it."""
    async with trio.open_nursery() as nursery:
        echoes: list[trio.Process] = [await nursery.start(_echo) for _ in range(count)]
        yield [EchoSide(process) for process in echoes]
        nursery.cancel_scope.cancel()


async def _echo(task_status: trio.TaskStatus[trio.Process]) -> None:
    await trio.run_process(
        ["cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        capture_stdout=False,
        check=False,
        task_status=task_status,
    )
