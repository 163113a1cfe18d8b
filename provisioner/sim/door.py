"""The player's way to a provisioner: one JSON call after the other over its Unix socket, each within a bound.

It alone knows HTTP here; it must not know what is asked or answered.
"""

import http.client
import json
import socket
from typing import Any, Final

import trio
from attrs import define, field, frozen

__all__ = ["Answer", "Door", "Unanswered"]

_WITHIN_S: Final = 20.0


class Unanswered(Exception):
    """Nobody answered a call, or nothing that is JSON; the text is a sentence."""


@frozen
class Answer:
    """The status of a call and the JSON that came with it."""

    status: int
    body: Any


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_WITHIN_S)
        self.sock.connect(self._path)


@define(eq=False)
class Door:
    """A kept connection to the socket at `path`; it is opened again when it was lost."""

    path: str
    calls: int = field(default=0, init=False)
    _connection: _UnixConnection | None = field(default=None, init=False)

    async def call(self, method: str, target: str, body: object = None) -> Answer:
        """The answer to one call, whatever its status; raises Unanswered. Nothing is sent twice."""
        # The socket's own bound ends the thread's wait, so that a cancelled call leaves no thread behind.
        return await trio.to_thread.run_sync(self._call, method, target, body)

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, method: str, target: str, body: object) -> Answer:
        self.calls += 1
        if self._connection is None:
            self._connection = _UnixConnection(self.path)
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, target, text, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            return Answer(answer.status, json.loads(answer.read() or b"null"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise Unanswered(f"{method} {target}: {error!r}") from error
