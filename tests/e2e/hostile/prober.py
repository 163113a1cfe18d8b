"""Asks a daemon for its health every 50 ms, in a process of its own: `python -m … SOCKET`, until stdin ends.

It prints, as JSON, how long each answer took, and how late each of its own waits ended: what this machine alone is to
blame for. It must not know what the daemon is burdened with.
"""

import contextlib
import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

from attrs import define, field, frozen

from tests.house.sources import ROOT

EVERY_S = 0.05
PATIENCE_S = 30.0
QUESTION = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@frozen
class Seen:
    """What one prober saw, in seconds; `unanswered` counts questions that nobody answered in time."""

    latencies_s: list[float] = field(factory=list)
    lateness_s: list[float] = field(factory=list)
    unanswered: int = 0

    @property
    def worst_s(self) -> float:
        """The longest answer."""
        return max(self.latencies_s, default=PATIENCE_S)

    def quantile_s(self, share: float) -> float:
        """The time within which this share of the answers came."""
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else PATIENCE_S


@define(eq=False)
class Prober:
    """A running prober."""

    path: Path
    _child: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    def begin(self) -> None:
        """Starts it."""
        command = [sys.executable, "-m", "tests.e2e.hostile.prober", str(self.path)]
        self._child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self) -> Seen:
        """Ends it; what it saw."""
        assert self._child is not None
        out, _ = self._child.communicate(timeout=2 * PATIENCE_S)
        return Seen(**json.loads(out))


def ask(path: str) -> bool:
    """One question on a connection of its own; whether it was answered with 200."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(path)
        connection.sendall(QUESTION)
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer.startswith(b"HTTP/1.1 200")
    return False


def main() -> None:
    """Asks until stdin ends."""
    latencies, lateness, unanswered = list[float](), list[float](), 0
    due_s = time.monotonic()
    while True:
        due_s = max(due_s + EVERY_S, time.monotonic())
        ended = select.select([sys.stdin], [], [], max(0.0, due_s - time.monotonic()))[0]
        if ended:
            break
        began_s = time.monotonic()
        lateness.append(began_s - due_s)
        if ask(sys.argv[1]):
            latencies.append(time.monotonic() - began_s)
        else:
            unanswered += 1
    print(json.dumps({"latencies_s": latencies, "lateness_s": lateness, "unanswered": unanswered}))


if __name__ == "__main__":
    main()
