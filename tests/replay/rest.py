"""The least of a client: one GET over a Unix socket."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(str(self._path))


def get(path: Path, what: str) -> dict[str, Any] | None:
    """The answer as an object; None where nobody answers or the answer is no success."""
    connection = _Unix(path)
    try:
        connection.request("GET", what, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    found: dict[str, Any] = json.loads(data) if answer.status == 200 else {}
    return found or None
