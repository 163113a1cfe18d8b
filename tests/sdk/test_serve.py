import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.sdk.conversation import greeting, purchase

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-W", "ignore", "-m", "tests.sdk.process_provider"]
FAR_FUTURE_S = 10_000_000_000

pytestmark = pytest.mark.e2e


class Child:
    """A provider process, spoken to by hand."""

    def __init__(self, state_dir: Path) -> None:
        environment = {**os.environ, "PROVISIONER_CONTRACT": "2", "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=ROOT
        )
        self.state_dir = state_dir
        self.next_id = 0

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stderr(self) -> IO[bytes]:
        assert self.process.stderr is not None
        return self.process.stderr

    def ask(self, method: str, params: dict[str, object]) -> int:
        self.next_id += 1
        message = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()
        return self.next_id

    def tell(self, method: str, params: dict[str, object]) -> None:
        self.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")
        self.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found = json.loads(self.process.stdout.readline())
        assert isinstance(found, dict)
        return found

    def greet(self) -> dict[str, Any]:
        self.ask("initialize", greeting(self.state_dir))
        return self.read()

    def until_logged(self, text: bytes) -> list[bytes]:
        lines: list[bytes] = []
        while not lines or text not in lines[-1]:
            line = self.stderr.readline()
            assert line, f"{text!r} was never logged, but {lines!r}"
            lines.append(line)
        return lines


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Any]:
    started: list[Child] = []

    def start(folder: str = "state") -> Child:
        started.append(Child(tmp_path / folder))
        return started[-1]

    yield start
    for child in started:
        child.process.kill()
        child.process.wait(timeout=10)
        for stream in (child.process.stdin, child.process.stdout, child.process.stderr):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                assert stream is child.process.stdin


def test_fr_4_nothing_that_is_printed_reaches_the_frames(children: Any) -> None:
    child = children()
    assert child.greet()["result"]["provider"]["name"] == "plain"
    child.ask("describe", {})
    # The provider's own stdin is empty, and its plain method ran in a worker thread.
    assert child.read()["result"]["revision"] == "author: describe"
    child.ask("shutdown", {"grace_s": 5})
    assert child.read()["id"] == 3
    out, err = child.process.communicate(timeout=10)
    assert child.process.returncode == 0
    assert out == b""
    for text in (
        b"printed before serve",
        b"printed in open",
        b"put by the C library",
        b"printed by a child",
        b"written to descriptor 1",
        b"closed in order",
    ):
        assert text in err


def test_a_plain_method_that_is_busy_hears_of_its_cancellation_and_ping_is_answered(children: Any) -> None:
    child = children()
    child.greet()
    running = child.ask("request", purchase(template="until-cancelled", not_after=FAR_FUTURE_S))
    child.until_logged(b"request has begun")
    ping = child.ask("ping", {})
    answer = child.read()
    assert (answer["id"], answer["result"]["in_flight"]) == (ping, 1)
    child.tell("cancel_call", {"id": running})
    assert child.read()["result"]["outcome"] == "not_made"


def test_hs_9_no_handler_keeps_a_process_beyond_its_bound(children: Any) -> None:
    """Side by side: a method stuck in Python or in C, or one that blocks the whole run; the end of stdin or SIGTERM."""
    stuck, stuck_too = children("a"), children("b")
    blocked, blocked_too = children("c"), children("d")
    in_c, in_c_too = children("e"), children("f")
    for child in (stuck, stuck_too, blocked, blocked_too, in_c, in_c_too):
        child.greet()
    for child in (stuck, stuck_too, in_c, in_c_too):
        template = "in-c" if child in (in_c, in_c_too) else "for-ever"
        child.ask("request", purchase(template=template, not_after=FAR_FUTURE_S))
        child.until_logged(b"request has begun")
    for child in (blocked, blocked_too):
        child.ask("list", {})
        child.until_logged(b"the run is blocked")
    begun_at = time.monotonic()
    stuck.stdin.close()
    blocked.stdin.close()
    in_c.stdin.close()
    stuck_too.process.send_signal(signal.SIGTERM)
    blocked_too.process.send_signal(signal.SIGTERM)
    in_c_too.process.send_signal(signal.SIGTERM)
    for child in (stuck, stuck_too, blocked, blocked_too, in_c, in_c_too):
        assert child.process.wait(timeout=15) == 0
        assert time.monotonic() - begun_at < 10
    for child in (blocked, blocked_too):
        assert b"still busy at the end of the time to exit" in child.stderr.read()


def test_hs_8_exit_ends_a_process_with_a_busy_method_at_once(children: Any) -> None:
    child = children()
    child.greet()
    child.ask("request", purchase(template="for-ever", not_after=FAR_FUTURE_S))
    child.until_logged(b"request has begun")
    begun_at = time.monotonic()
    child.tell("exit", {})
    assert child.process.wait(timeout=10) == 0
    assert time.monotonic() - begun_at < 5
    assert b"closed in order" not in child.stderr.read()


def test_hs_9_an_idle_process_ends_at_once_and_in_order_on_sigterm(children: Any) -> None:
    child = children()
    child.greet()
    child.process.send_signal(signal.SIGTERM)
    assert child.process.wait(timeout=5) == 0
    assert b"closed in order" in child.stderr.read()


def test_hs_6_two_processes_never_serve_one_state_folder(children: Any) -> None:
    first, second = children(), children()
    first.greet()
    refused = second.greet()["error"]
    assert (refused["code"], refused["data"]["error_class"]) == (-32013, "state_locked")
    assert str(first.process.pid) in refused["data"]["detail"]
    assert second.process.wait(timeout=10) == 0
    first.process.kill()
    first.process.wait(timeout=10)
    assert "result" in children().greet()


def test_started_by_hand_a_provider_says_one_sentence_and_exits_64() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PROVISIONER_CONTRACT"}
    terminal, end = pty.openpty()
    try:
        done = subprocess.run(
            COMMAND, stdin=end, capture_output=True, timeout=30, check=False, cwd=ROOT, env=environment
        )
    finally:
        os.close(terminal)
        os.close(end)
    assert done.returncode == 64
    assert done.stderr.count(b"\n") == 1
    assert b"plain is a resource provider" in done.stderr
