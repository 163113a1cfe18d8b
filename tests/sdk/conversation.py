"""A daemon for tests: speaks frames to a session over memory streams."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from provider_sdk.provider import Provider
from provider_sdk.session import Session
from provider_sdk.stages import Ending

MARK = {
    "cluster": "clu-a",
    "lineage": "l-1",
    "provider": "east",
    "request_id": "rq-1",
    "token": "tk-1",
    "epoch": 7,
}


def greeting(state_dir: Path, **changes: object) -> dict[str, object]:
    """Params of `initialize`."""
    return {
        "versions": ["2.1", "2.0"],
        "mode": "serve",
        "cluster": "clu-a",
        "lineage": "l-1",
        "provider": "east",
        "owner": "prov-1",
        "epoch": 7,
        "config": {},
        "state_dir": str(state_dir),
        "frame_bytes": 1_048_576,
        "answer_s_max": 600,
        **changes,
    }


def purchase(token: str = "tk-1", **changes: object) -> dict[str, object]:
    """Params of `request`."""
    return {
        "request_id": "rq-1",
        "token": token,
        "template": "t.small",
        "units": 1,
        "mark": {**MARK, "token": token},
        "epoch": 7,
        "not_after": 100.0,
        **changes,
    }


def give_back(*instances: str, **changes: object) -> dict[str, object]:
    """Params of `return`."""
    items = [{"instance": instance, "keep": 0} for instance in instances]
    return {"return_id": "rt-1", "items": items, "epoch": 7, "not_after": 100.0, **changes}


def asked_about(*tokens: str) -> dict[str, object]:
    """Params of `request_status`."""
    items = [
        {"request_id": "rq-1", "token": token, "template": "t.small", "units": 1, "mark": {**MARK, "token": token}}
        for token in tokens
    ]
    return {"requests": items}


def error_class(frame: dict[str, Any]) -> str:
    """The class of an error frame, its code checked to be there."""
    assert isinstance(frame["error"]["code"], int)
    return str(frame["error"]["data"]["error_class"])


class Daemon:
    """The daemon's end of one conversation; `boot_s` is the boot clock that the session reads."""

    def __init__(self, to_provider: trio.abc.SendStream, from_provider: trio.abc.ReceiveStream) -> None:
        self._to_provider = to_provider
        self._from_provider = from_provider
        self._buffer = bytearray()
        self._next_id = 0
        self._seen: list[dict[str, Any]] = []
        self.boot_s = 50.0
        self.logged: list[str] = []
        self.endings: list[tuple[Ending, int]] = []
        self.exit_code: int | None = None
        self.ended = trio.Event()

    async def say(self, line: bytes) -> None:
        """Send bytes as they are."""
        await self._to_provider.send_all(line)

    async def send(self, message: Mapping[str, object]) -> None:
        """Send one frame."""
        await self.say(json.dumps(message).encode() + b"\n")

    async def tell(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def ask(self, method: str, params: Mapping[str, object] | None = None) -> int:
        """Send a request; answers its id."""
        self._next_id += 1
        await self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}})
        return self._next_id

    async def call(self, method: str, params: Mapping[str, object] | None = None) -> dict[str, Any]:
        """Send a request and read its whole answer frame."""
        return await self.answer_to(await self.ask(method, params))

    async def answer_to(self, call_id: int) -> dict[str, Any]:
        """Read until the answer with this id; what comes before it is kept for `frames`."""
        while True:
            found = await self.next_frame()
            if found.get("id") == call_id and "method" not in found:
                return found
            self._seen.append(found)

    def passed_over(self) -> list[dict[str, Any]]:
        """Frames that `answer_to` read on the way."""
        found, self._seen = self._seen, []
        return found

    async def next_frame(self) -> dict[str, Any]:
        """Read one frame."""
        while b"\n" not in self._buffer:
            data = await self._from_provider.receive_some(65_536)
            assert data, "the provider's output has ended"
            self._buffer += data
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    async def greet(self, state_dir: Path, **changes: object) -> dict[str, Any]:
        """Do the handshake; answers the whole answer frame."""
        return await self.call("initialize", greeting(state_dir, **changes))

    async def end_input(self) -> None:
        """Close the provider's stdin."""
        await self._to_provider.aclose()

    async def stop_reading(self) -> None:
        """Close the provider's stdout."""
        await self._from_provider.aclose()

    async def exit(self) -> int:
        """Wait for the end; answers the exit code."""
        await self.ended.wait()
        assert self.exit_code is not None
        return self.exit_code


@asynccontextmanager
async def conversation(
    provider: Provider,
    limit_s: float = 100,
    output: Callable[[trio.abc.SendStream], trio.abc.SendStream] = lambda pipe: pipe,
) -> AsyncIterator[Daemon]:
    """One session and the daemon's end of it; what still runs at the end, or at the limit, is cut."""
    to_provider, receive = trio.testing.memory_stream_one_way_pair()
    send, from_provider = trio.testing.memory_stream_one_way_pair()
    daemon = Daemon(to_provider, from_provider)
    session = Session(
        provider,
        output(send),
        boot_now=lambda: daemon.boot_s,
        log=daemon.logged.append,
        on_ending=lambda ending, code: daemon.endings.append((ending, code)),
    )

    async def run() -> None:
        daemon.exit_code = await session.run(receive)
        session.release()
        await send.aclose()
        daemon.ended.set()

    with trio.fail_after(limit_s):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            try:
                yield daemon
            finally:
                nursery.cancel_scope.cancel()
                session.release()
