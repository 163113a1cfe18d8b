"""No provider is started by a fork of the daemon: a copy of a process with threads may hold dead locks."""

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.clouds import cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until

_CALL = re.compile(r"^(?P<pid>\d+) +(?P<call>\w+)\((?P<args>.*)$")
_RESUMED = re.compile(r"^\d+ +<\.\.\. \w+ resumed>")


def can_trace() -> bool:
    """Whether strace is here and allowed to trace."""
    if shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return tried.returncode == 0


def calls(trace: Path) -> list[tuple[int, str, str]]:
    """Every traced call as process or thread, name and arguments, in the order in which they began."""
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        if match := _CALL.match(line):
            found.append((int(match["pid"]), match["call"], match["args"]))
        else:
            assert _RESUMED.match(line) or "+++" in line or "---" in line, line
    return found


@pytest.mark.skipif(not can_trace(), reason="strace is not installed, or tracing is not allowed here")
def test_every_start_of_a_provider_shares_the_daemons_memory_until_its_exec(daemon: Daemon) -> None:
    trace = daemon.folder / "trace"
    # `exec` by strace in place of itself: the process that is signalled and waited for is the daemon.
    daemon.wrapper = ("strace", "-D", "-f", "-qq", "-o", str(trace), "-e", "trace=fork,vfork,clone,clone3,execve")
    daemon.configure(settings({"east": cloud(), "west": cloud(seed=8)}))
    child = daemon.launch()
    wait_until("the providers are ready", lambda: all_ready(daemon))
    first = daemon.signal_provider("east", signal.SIGKILL)
    wait_until("it was started again", lambda: daemon.provider("east")["pid"] not in (None, first))
    wait_until("it is ready again", lambda: all_ready(daemon))
    assert daemon.stop() == 0

    seen = calls(trace)
    # vfork shares the memory too; a library's import starts ldconfig with it.
    assert "fork" not in {call for _, call, _ in seen}
    clones = [(pid, args) for pid, call, args in seen if call in ("clone", "clone3")]
    assert [c for c in clones if "CLONE_VM" not in c[1]] == [], "a fork"
    # It was not blind: three starts of providers are among what it saw, each by the daemon or a thread of its own.
    starts = [pid for pid, args in clones if "CLONE_VFORK" in args]
    assert len(starts) >= 3
    assert child.pid in {pid for pid, call, _ in seen if call == "execve"}
    programs = [args for _, call, args in seen if call == "execve" and "provisioner-simulated" in args]
    assert len(programs) >= 3


def all_ready(daemon: Daemon) -> bool:
    """Whether every provider can be bought from."""
    return all(provider["ready"] for provider in daemon.rest.get("/v1/providers")["providers"])
