"""The two doors: over loopback nothing is answered to who does not show the token, the socket is its owner's alone."""

import http.client
import socket
from pathlib import Path

from tests.e2e.clouds import SOURCE, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.rest import Heard, exchange

TOKEN = "correct-horse-battery-staple"
EMPTY = {"revision": 1, "lines": []}


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.socket() as asking:
        asking.bind(("127.0.0.1", 0))
        return int(asking.getsockname()[1])


def test_over_tcp_nothing_is_told_or_taken_without_the_token_and_everything_with_it(daemon: Daemon) -> None:
    port = free_port()
    token_file: Path = daemon.folder / "token"
    token_file.touch(mode=0o600)
    token_file.write_text(TOKEN + "\n")
    doors = {"socket": "api.sock", "http": {"bind": f"127.0.0.1:{port}", "token_file": "token"}}
    daemon.configure(settings({"east": cloud()}, listen=doors))
    daemon.start()

    def ask(method: str, target: str, body: object = None, **headers: str) -> Heard:
        return exchange(http.client.HTTPConnection("127.0.0.1", port, timeout=10), method, target, body, **headers)

    for shown in (
        {},
        {"Authorization": "Bearer " + TOKEN[:-1]},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
    ):
        for method, target in (("GET", "/v1/health"), ("GET", "/nowhere"), ("PUT", f"/v1/demand/{SOURCE}")):
            heard = ask(method, target, EMPTY if method == "PUT" else None, **shown)
            assert (heard.status, heard.code) == (401, "unauthorized")
    assert daemon.rest.get("/v1/demand") == {"sources": []}

    mine = {"Authorization": f"Bearer {TOKEN}"}
    assert ask("GET", "/v1/health", **mine).status == 200
    assert ask("PUT", f"/v1/demand/{SOURCE}", EMPTY, **mine).status == 200
    assert [source["source"] for source in daemon.rest.get("/v1/demand")["sources"]] == [SOURCE]
    # The socket needs none: its file's mode is the key.
    assert daemon.rest.ask("GET", "/v1/health").status == 200
    assert TOKEN not in daemon.log
    assert (daemon.folder / "api.sock").stat().st_mode & 0o777 == 0o600
    assert daemon.facts.stat().st_mode & 0o077 == 0
