"""Asks a running daemon over its Unix socket, or over loopback with a token; one connection a question.

It alone knows how the daemon is reached from a command, and what to say when it is not. It must not know what is asked.
"""

import http.client
import json
import os
import socket
import stat
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import frozen

from provisioner.cli.exits import CommandEnds, Exit

ANSWER_S: Final = 30.0
SOCKET_DEFAULT: Final = "/run/provisioner/api.sock"
BODY_BYTES_MOST: Final = 16 * 1024 * 1024
PAGES_MOST: Final = 10_000

SOCKET_PATH_BYTES_MOST: Final = 107

_CODES: Final[Mapping[int, Exit]] = {HTTPStatus.SERVICE_UNAVAILABLE: Exit.UNREACHABLE, HTTPStatus.NOT_FOUND: Exit.NO}

Body = dict[str, Any]


@frozen
class Where:
    """How the daemon is reached: by the socket's path, or by URL with the file that holds the token."""

    socket: str | None = None
    url: str | None = None
    token_file: str | None = None

    def __str__(self) -> str:
        """As it is named to people."""
        return f"the socket {self.socket}" if self.url is None else self.url


class _SocketConnection(http.client.HTTPConnection):
    def __init__(self, path: str, wait_s: float) -> None:
        super().__init__("localhost", timeout=wait_s)
        self._path, self._wait_s = path, wait_s

    def connect(self) -> None:
        """Connects to the socket's path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._wait_s)
        self.sock.connect(self._path)


class Client:
    """Questions to one daemon; every refusal and every silence is a CommandEnds."""

    def __init__(self, where: Where) -> None:
        self._where = where
        self._token = _token(where.token_file) if where.token_file is not None else None

    def get(self, path: str) -> Body:
        """The answer to a GET."""
        return self._ask("GET", path, None)

    def get_if_there(self, path: str) -> Body | None:
        """The answer to a GET, None if there is nothing of that name."""
        try:
            return self.get(path)
        except CommandEnds as end:
            if end.error.get("code") == "not_found":
                return None
            raise

    def get_all(self, path: str, name: str) -> list[Body]:
        """All records of a list, page by page."""
        found: list[Body] = []
        following: str | None = path
        for _ in range(PAGES_MOST):
            if following is None:
                break
            page = self.get(following)
            found += page[name]
            following = page["next"]
        return found

    def put(self, path: str, body: object) -> Body:
        """The answer to a push."""
        content = json.dumps(body).encode()
        if len(content) > BODY_BYTES_MOST:
            raise CommandEnds(Exit.USAGE, f"the snapshot is over {BODY_BYTES_MOST // 2**20} MiB, which no daemon takes")
        return self._ask("PUT", path, content)

    def post(self, path: str, body: object, wait_s: float = ANSWER_S) -> Body:
        """The answer to an order, waited for so long."""
        return self._ask("POST", path, json.dumps(body).encode(), wait_s)

    def _ask(self, method: str, path: str, content: bytes | None, wait_s: float = ANSWER_S) -> Body:
        headers = {"Accept": "application/json"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        connection = self._connection(wait_s)
        try:
            connection.request(method, path, content, headers)
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise CommandEnds(Exit.UNREACHABLE, self._silence(error, wait_s)) from None
        finally:
            connection.close()
        return self._judged(status, body)

    def _connection(self, wait_s: float) -> http.client.HTTPConnection:
        if self._where.url is None:
            path = self._where.socket or SOCKET_DEFAULT
            if (length := len(os.fsencode(path))) > SOCKET_PATH_BYTES_MOST:
                sentence = f"the socket's path is {length} bytes long, and no Unix socket's has more than "
                raise CommandEnds(Exit.USAGE, f"{sentence}{SOCKET_PATH_BYTES_MOST}; name another one")
            return _SocketConnection(path, wait_s)
        try:
            url = urlsplit(self._where.url)
            scheme, host, port = url.scheme, url.hostname, url.port
        except ValueError:
            scheme, host, port = "", None, None
        if scheme != "http" or not host:
            raise CommandEnds(Exit.USAGE, f"{self._where.url!r} is no URL of a daemon; write http://127.0.0.1:8642")
        return http.client.HTTPConnection(host, port, timeout=wait_s)

    def _judged(self, status: int, body: bytes) -> Body:
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise CommandEnds(Exit.UNREACHABLE, f"what answers on {self._where} is no provisioner; name its socket")
        if status < HTTPStatus.MULTIPLE_CHOICES:
            return found
        error = found.get("error")
        if not isinstance(error, dict):
            error = {"code": f"http_{status}", "message": f"answered with status {status}"}
        raise CommandEnds(_CODES.get(status, Exit.REFUSED), _sentence(error), error)

    def _silence(self, error: Exception, wait_s: float) -> str:
        match error:
            case FileNotFoundError():
                why = "it does not exist"
            case ConnectionRefusedError():
                why = "nobody answers"
            case PermissionError():
                why = "it is another user's"
            case TimeoutError():
                why = f"no answer within {wait_s:.0f} s"
            case _:
                why = "the connection was cut"
        path = Path(self._where.socket) if self._where.url is None and self._where.socket else None
        if path is not None and path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
            why = "that is no socket"
        advice = "start one with `provisioner run -c FILE`, or name its door with --socket, --url or -c"
        return f"no daemon on {self._where}: {why}; {advice}"


def _sentence(error: Body) -> str:
    """The daemon's error as people read it: message, what to do, and each fault on a line of its own."""
    lines = [f"{error.get('message')}; {error.get('remedy')}" if error.get("remedy") else str(error.get("message"))]
    lines += [f"  {f.get('field') or '/'}: {f.get('message')}; {f.get('remedy')}" for f in error.get("faults", [])]
    if error.get("current"):
        lines.append(f"  what stands: {json.dumps(error['current'])}")
    return "\n".join(lines)


def _token(path: str) -> str:
    try:
        token = Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise CommandEnds(
            Exit.USAGE, f"the token file {path} can't be read as text; name the one of listen.http"
        ) from None
    if not token or not token.isprintable():
        raise CommandEnds(Exit.USAGE, f"the token file {path} holds no token; name the one of listen.http")
    return token
