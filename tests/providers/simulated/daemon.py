"""A small blocking daemon for tests with the real process: speaks frames over its pipes, with every wait bounded."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.providers.simulated.stage import CONFIG

ROOT = Path(__file__).parents[3]
LIMIT_S = 30.0


class Process:
    """One running provider process."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.stderr_file = state_dir.parent / f"stderr-{time.monotonic_ns()}.txt"
        with self.stderr_file.open("wb") as stderr:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "providers.simulated"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={"PATH": os.environ["PATH"], "PROVISIONER_CONTRACT": "2", "TZ": "UTC"},
                start_new_session=True,
            )
        self.skipped: list[bytes] = []
        self._buffer = b""
        self._last_id = 0

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *unused: object) -> None:
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(LIMIT_S)
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def greet(self, config: Mapping[str, object] | None = None, **changes: object) -> dict[str, Any]:
        """Do the handshake and return the whole answer."""
        return self.call(
            "initialize",
            versions=["2.0"],
            mode="serve",
            cluster="clu-a",
            lineage="l-1",
            provider="east",
            owner="prov-1",
            epoch=7,
            config=dict(CONFIG if config is None else config),
            state_dir=str(self.state_dir),
            frame_bytes=16 * 1_048_576,
            answer_s_max=600,
            **changes,
        )

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Send a call and return its whole answer."""
        call_id = self.send(method, **params)
        while True:
            line = self.line()
            try:
                found = json.loads(line)
            except ValueError:
                self.skipped.append(line)
                continue
            if found.get("id") == call_id and "method" not in found:
                assert isinstance(found, dict)
                return found
            self.skipped.append(line)

    def send(self, method: str, **params: object) -> int:
        """Send a call and return its id."""
        assert self.popen.stdin is not None
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.popen.stdin.write(json.dumps(message).encode() + b"\n")
        self.popen.stdin.flush()
        return self._last_id

    def buy(self, token: str, units: int = 1) -> dict[str, Any]:
        """Buy and return the whole answer."""
        return self.call("request", **purchase(token, units))

    def line(self) -> bytes:
        """Return the next line of stdout; EOFError at its end."""
        while b"\n" not in self._buffer:
            data = self.read(LIMIT_S)
            if not data:
                raise EOFError(self._buffer)
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read(self, limit_s: float) -> bytes | None:
        """Return what stdout holds, b"" at its end, None if nothing comes within the limit."""
        assert self.popen.stdout is not None
        ready, _, _ = select.select([self.popen.stdout], [], [], limit_s)
        return os.read(self.popen.stdout.fileno(), 65_536) if ready else None

    def end_input(self) -> int:
        """Close stdin and return the exit code."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        return self.popen.wait(LIMIT_S)


def purchase(token: str, units: int = 1) -> dict[str, object]:
    """Params of `request`."""
    mark = {"cluster": "clu-a", "lineage": "l-1", "provider": "east", "request_id": "rq-1", "token": token, "epoch": 7}
    return {
        "request_id": "rq-1",
        "token": token,
        "template": "c6i.large",
        "units": units,
        "mark": mark,
        "epoch": 7,
        "not_after": 1e12,
        "price_cap": {"amount": "1", "currency": "USD", "per": "hour"},
    }
