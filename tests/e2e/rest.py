"""The least of a client: questions and pushes over a daemon's Unix socket, silence told apart from refusals."""

import http.client
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

Json = Mapping[str, Any]

ANSWER_WITHIN_S = 25.0
_UNAVAILABLE = 503


class Unanswered(Exception):
    """Nobody answered, or the daemon said that it can't now; asking again may help."""


@frozen
class Heard:
    """The status and the JSON of one answer."""

    status: int
    body: dict[str, Any]

    @property
    def code(self) -> str:
        """The stable code of a refusal."""
        return str(self.body["error"]["code"])

    @property
    def message(self) -> str:
        """The sentence of a refusal."""
        return str(self.body["error"]["message"])


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=ANSWER_WITHIN_S)
        self._path = path

    def connect(self) -> None:
        """Connects to the path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(ANSWER_WITHIN_S)
        self.sock.connect(str(self._path))


@frozen
class Rest:
    """One daemon's REST interface."""

    socket: Path

    def ask(self, method: str, target: str, body: object = None) -> Heard:
        """Any answer, refusals too; raises Unanswered if there is none."""
        return exchange(UnixConnection(self.socket), method, target, body)

    def get(self, target: str) -> dict[str, Any]:
        """A good answer; raises Unanswered."""
        return _good(self.ask("GET", target))

    def put(self, target: str, body: object) -> dict[str, Any]:
        """What came of a push that counts; raises Unanswered."""
        return _good(self.ask("PUT", target, body))

    def every(self, target: str) -> list[dict[str, Any]]:
        """All pages of a listing; raises Unanswered where one is missing."""
        found: list[dict[str, Any]] = []
        following: str | None = target
        while following:
            page = self.get(following)
            found += next(value for value in page.values() if isinstance(value, list))
            following = page["next"]
        return found


def exchange(
    connection: http.client.HTTPConnection, method: str, target: str, body: object = None, **headers: str
) -> Heard:
    """One question over a connection that is closed afterwards; raises Unanswered."""
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, target, content, headers)
        answer = connection.getresponse()
        data = answer.read()
    except (OSError, http.client.HTTPException) as why:
        raise Unanswered(f"{method} {target}: {why!r}") from None
    finally:
        connection.close()
    return Heard(answer.status, json.loads(data))


def _good(heard: Heard) -> dict[str, Any]:
    if heard.status == _UNAVAILABLE:
        raise Unanswered(heard.message)
    assert heard.status == http.HTTPStatus.OK, heard
    return heard.body
