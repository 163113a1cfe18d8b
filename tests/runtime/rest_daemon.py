"""A daemon for the tests of the REST interface: it decides pushes as the core does and keeps them in memory."""

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from typing import Any

import trio
from attrs import define

from provisioner.core.decide import decided
from provisioner.core.events import Moment
from provisioner.core.evolve import Reply
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_calls import LastWords
from provisioner.runtime.engine import FactsUnwritable, Push
from provisioner.runtime.rest_server import serve_rest
from provisioner.runtime.supervision import Log, Outcome, Unwritten
from tests.edge.rest_worlds import NOW

TEST_S = 30.0


class MemoryDaemon:
    """Holds a world; `why_not` makes its facts unwritable, `refusing` makes a push fail at its commit."""

    def __init__(self, settings: Settings, world: World | None) -> None:
        self.settings = settings
        self.held = world
        self.why_not: str | None = None
        self.refusing: str | None = None
        self.breaking = False
        self.words: list[LastWords] = []
        self.outcome: Outcome | None = Unwritten("its process is not there any more")
        self.asked_of: list[tuple[str, str, dict[str, object]]] = []

    def world(self) -> World | None:
        """The world; a bug on demand."""
        if self.breaking:
            raise KeyError("a-secret-of-ours")
        return self.held

    def writable(self) -> str | None:
        """As told."""
        return self.why_not

    def moment(self) -> Moment:
        """Always the same."""
        return NOW

    async def push(self, event: Push) -> tuple[Reply, ...]:
        """Decided and kept."""
        await trio.lowlevel.checkpoint()
        if self.refusing is not None:
            raise FactsUnwritable(self.refusing)
        assert self.held is not None
        draft = decided(self.held, event, NOW, self.settings)
        self.held = draft.world
        return draft.replies

    def last_words(self, provider: str) -> list[LastWords]:
        """As told."""
        return self.words

    async def ask(self, provider: str, method: str, params: Mapping[str, object]) -> tuple[int, Outcome] | None:
        """As told; None is a call that is open already."""
        await trio.lowlevel.checkpoint()
        self.asked_of.append((provider, method, dict(params)))
        return None if self.outcome is None else (7, self.outcome)


@define
class Heard:
    """What came back: the status, the headers by lower-case name, the JSON, the raw bytes."""

    status: int
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes


class SocketConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TEST_S)
        self.path = path

    def connect(self) -> None:
        """Connects to the path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TEST_S)
        self.sock.connect(self.path)


def ask(door: str, method: str, path: str, body: object = None, **headers: str) -> Heard:
    """One question to a door (`unix:PATH` or `http://HOST:PORT`); bytes are sent as they are, other bodies as JSON."""
    connection = _connection(door)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    stated = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, content, stated)
        answer = connection.getresponse()
        raw = answer.read()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Heard(answer.status, found, json.loads(raw) if raw else {}, raw)
    finally:
        connection.close()


def _connection(door: str) -> HTTPConnection:
    if door.startswith("unix:"):
        return SocketConnection(door.removeprefix("unix:"))
    host, _, port = door.removeprefix("http://").rpartition(":")
    return HTTPConnection(host, int(port), timeout=TEST_S)


@asynccontextmanager
async def served(daemon: MemoryDaemon, settings: Settings, log: Log | None = None) -> AsyncIterator[list[str]]:
    """The doors of a served daemon, closed in order at the end."""
    with trio.fail_after(TEST_S):
        async with trio.open_nursery() as nursery:
            yield await nursery.start(serve_rest, daemon, daemon, settings, log)
            nursery.cancel_scope.cancel()


async def asked(door: str, method: str, path: str, body: object = None, **headers: str) -> Heard:
    """The same as `ask`, from the trio run that serves."""

    def go() -> Heard:
        return ask(door, method, path, body, **headers)

    return await trio.to_thread.run_sync(go)
