"""A daemon of one page: starts a provider as the daemon does, sends frames, and holds every answer to the contract.

Alone responsible for processes and frames of these tests; knows no example and no clause beyond the form of answers.
"""

import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import trio
from attrs import define, field

from provider_sdk.contract import (
    CODES,
    METHODS,
    Answer,
    ErrorAnswer,
    ErrorData,
    Frame,
    FrameReader,
    classify,
    decode,
    frame,
    request_object,
)

Params = dict[str, Any]
ANSWER_S: Final = 20.0
CLUSTER: Final = {"cluster": "lab", "lineage": "l-1", "provider": "examples"}


@define
class Reply:
    """One answer, checked: the result, or the error's data."""

    result: Params = field(factory=dict)
    error: Params = field(factory=dict)

    @property
    def error_class(self) -> str:
        """The class of the error, empty for a result."""
        return str(self.error.get("error_class", ""))


@define
class Client:
    """One conversation with one process."""

    process: trio.Process
    reader: FrameReader = field(factory=lambda: FrameReader(16 * 1024 * 1024))
    asked: dict[int, str] = field(factory=dict)
    replies: dict[int, Reply] = field(factory=dict)
    epoch: int = 1

    async def write(self, data: bytes) -> None:
        """Write raw bytes to its stdin."""
        assert self.process.stdin is not None
        await self.process.stdin.send_all(data)

    async def ask(self, method: str, params: Params | None = None) -> int:
        """Send a call and return its id."""
        call_id = len(self.asked) + 1
        self.asked[call_id] = method
        await self.write(frame(request_object(call_id, method, params or {})))
        return call_id

    async def answer(self, call_id: int) -> Reply:
        """Wait for the answer to a call; every answer that comes is decoded with the contract's own codec."""
        assert self.process.stdout is not None
        with trio.fail_after(ANSWER_S):
            while call_id not in self.replies:
                data = await self.process.stdout.receive_some(65_536)
                assert data, "stdout ended"
                for found in self.reader.feed(data):
                    assert isinstance(found, Frame), found
                    self._take(found.obj)
        return self.replies[call_id]

    async def call(self, method: str, params: Params | None = None) -> Reply:
        """Send a call and wait for its answer."""
        return await self.answer(await self.ask(method, params))

    async def ends(self, within_s: float = 5.0) -> int:
        """Wait for the end of the process and return its exit status."""
        with trio.fail_after(within_s):
            return await self.process.wait()

    async def close_stdin(self) -> None:
        """End its input."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    def _take(self, obj: Params) -> None:
        match classify(obj):
            case Answer(call_id, result):
                assert call_id not in self.replies
                decode(METHODS[self.asked[call_id]].result, result)
                self.replies[call_id] = Reply(result=dict(result))
            case ErrorAnswer(call_id, error):
                assert call_id not in self.replies
                data = decode(ErrorData, error["data"])
                assert error["code"] == CODES[data.error_class]
                assert error["message"] == data.error_class.value
                self.replies[call_id] = Reply(error=dict(obj["error"]["data"]))
            case other:
                raise AssertionError(f"no answer: {other}")


@contextlib.asynccontextmanager
async def started(command: tuple[str, ...], folder: Path) -> AsyncIterator[Client]:
    """Start a provider with the environment of §2; it and what it started are killed at the end."""
    process = await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": str(folder), "PROVISIONER_CONTRACT": "2"},
        start_new_session=True,
    )
    try:
        yield Client(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        with trio.CancelScope(shield=True):
            await process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    await pipe.aclose()


def greeting(state_dir: Path, config: Mapping[str, object], **changes: object) -> Params:
    """Return the params of `initialize`."""
    return {
        "versions": ["2.1", "2.0"],
        "mode": "serve",
        **CLUSTER,
        "owner": "prov-1",
        "epoch": 1,
        "config": dict(config),
        "state_dir": str(state_dir),
        "frame_bytes": 1_048_576,
        "answer_s_max": 600,
        **changes,
    }


def asked_about(order: Params) -> Params:
    """Return the item of `request_status` that asks about a purchase."""
    return {name: order[name] for name in ("request_id", "token", "template", "units", "mark")}


def giving(*instances: str, keep: int = 0, return_id: str = "rt-1", **changes: object) -> Params:
    """Return the params of `return`."""
    items = [{"instance": each, "keep": keep} for each in instances]
    return {"return_id": return_id, "items": items, "epoch": 1, "not_after": 9e9, **changes}
