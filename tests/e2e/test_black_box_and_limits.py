"""When things are bad: a daemon whose log nobody reads serves on, and one that was killed has left its black boxes."""

import fcntl
import json
import os
import re
import subprocess
import sys
import termios
from typing import Any

import pytest

from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until
from tests.house.sources import ROOT

pytestmark = pytest.mark.e2e
# Some 1.2 MB on standard error before anything else, many times what a pipe holds.
TALKATIVE = "i=0; while [ $i -lt 300 ]; do printf '%04000d\\n' $i >&2; i=$((i+1)); done; "
BANNER = 'echo "signed in with $CLOUD_KEY"; '
MANY_A_SECOND = 1000


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the daemon's environment, which the provider prints where it must not."""
    monkeypatch.setenv("CLOUD_KEY", "planted-marker-4711")


def settings() -> dict[str, Any]:
    east = {
        "command": ["sh", "-c", f"{TALKATIVE}{BANNER}exec provisioner-simulated"],
        "credentials": {"env": ["CLOUD_KEY"]},
        "config": {"types": ["c6i.large"]},
        "limits": {"memory": "512MiB", "stderr_rate": MANY_A_SECOND},
    }
    return {
        "cluster": "small",
        "controller": {"sqlite": "facts.db"},
        "listen": {"socket": "api.sock"},
        "budgets": "none",
        "providers": {"east": east},
    }


def held_in(pipe: int) -> int:
    """How many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4), sys.byteorder)


def drained(pipe: int) -> bytes:
    os.set_blocking(pipe, False)
    read = bytearray()
    while held_in(pipe):
        read += os.read(pipe, 65536)
    return bytes(read)


def test_a_daemon_whose_log_is_a_full_pipe_serves_on_and_tells_what_was_lost(daemon: Daemon) -> None:
    daemon.configure(settings())
    reading, writing = os.pipe()
    full = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ) // 2  # lines leave gaps at the end of its pages
    child = daemon.launch(writing)
    wait_until("the pipe is full", lambda: held_in(reading) > full)
    wait_until("the provider is ready", lambda: daemon.provider("east")["ready"])
    assert daemon.rest.get("/v1/health")["status"] == "ok"
    assert held_in(reading) > full, "nobody read a thing"
    drained(reading)
    assert daemon.stop() == 0
    after = drained(reading).decode()
    os.close(reading)
    os.close(writing)
    assert sum(map(int, re.findall(r'"log_lines_lost", "lines": ([0-9]+)', after))) > 100
    assert child.returncode == 0


def test_of_a_killed_daemon_the_black_box_tells_what_was_said_and_no_secret(daemon: Daemon) -> None:
    daemon.configure(settings())
    daemon.start()
    held_to = daemon.provider("east")["held_to"]
    assert held_to["memory_bytes"] == 512 * 2**20
    assert held_to["memory_by"] in {"cgroup", "rlimit"}
    daemon.kill()
    asked = [sys.executable, "-m", "provisioner", "provider", "replay", "east", "-c", str(daemon.config), "--json"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    calls = [entry for entry in json.loads(told)["entries"] if entry["kind"] == "call"]
    assert calls[0]["came_to"].startswith("result 2.")
    assert {"initialize", "describe", "list"} <= {call["method"] for call in calls}
    assert "planted-marker" not in told
    assert "signed in with [hidden]" in told
