import json
from pathlib import Path
from typing import Any

import trio
from trio.testing import MockClock

from provisioner.core.evolve import Reply
from provisioner.runtime.engine import Push
from provisioner.runtime.log import open_log
from provisioner.runtime.rest_app import rest_app
from provisioner.runtime.rest_exchange import PUSH_S
from provisioner.runtime.rest_server import CONNECTIONS_MOST
from tests.edge.rest_worlds import empty_world, settings_for
from tests.runtime.rest_daemon import MemoryDaemon, ask, asked, served


class SilentDaemon(MemoryDaemon):
    """Its store never acknowledges a commit."""

    async def push(self, event: Push) -> tuple[Reply, ...]:
        """Waits for ever."""
        await trio.sleep_forever()
        raise AssertionError("nobody wakes it")


async def in_memory(app: Any, method: str, path: str, body: bytes) -> tuple[int, Any]:
    """One question put to the application itself, without a connection."""
    sent: list[dict[str, Any]] = []
    received = [{"type": "http.request", "body": body, "more_body": False}]
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [],
        "scheme": "http", "root_path": "", "http_version": "1.1", "client": None, "server": None, "state": {},
        "asgi": {"version": "3.0"},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        if not received:
            await trio.sleep_forever()
        return received.pop(0)

    async def send(message: dict[str, Any]) -> None:
        await trio.lowlevel.checkpoint()
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent)
    return int(sent[0]["status"]), json.loads(content)


async def test_a_commit_that_is_not_acknowledged_is_given_up_with_what_to_do(autojump_clock: MockClock) -> None:
    daemon = SilentDaemon(settings_for(), empty_world())
    app = rest_app(daemon, daemon, "1.0", open_log(verbose=False))
    begun = trio.current_time()
    status, body = await in_memory(app, "PUT", "/v1/demand/lsf", b'{"revision": 1, "lines": []}')
    assert trio.current_time() - begun == PUSH_S
    assert (status, body["error"]["code"]) == (503, "facts_not_writable")
    assert "it may still land" in body["error"]["message"]


async def test_a_full_door_hangs_up_and_serves_again_once_there_is_room(tmp_path: Path) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        idle = []
        for _ in range(CONNECTIONS_MOST):
            stream = await trio.open_unix_socket(str(tmp_path / "s"))
            # A byte of a question keeps it open for longer than an idle one.
            await stream.send_all(b"G")
            idle.append(stream)
        extra = await trio.open_unix_socket(str(tmp_path / "s"))
        assert await extra.receive_some() == b""
        await extra.aclose()
        for stream in idle:
            await stream.aclose()
        with trio.fail_after(10):
            while (await _tried(door)) != 200:
                await trio.lowlevel.checkpoint()


async def test_connections_of_callers_that_have_left_are_gone(tmp_path: Path) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):

        def go() -> int:
            before = _descriptor_count()
            for _ in range(CONNECTIONS_MOST):
                assert ask(door, "GET", "/v1/supply").status == 200
            return _descriptor_count() - before

        assert await trio.to_thread.run_sync(go) < 10


def _descriptor_count() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def _tried(door: str) -> int:
    try:
        return (await asked(door, "GET", "/v1/costs")).status
    except OSError:
        return 0
