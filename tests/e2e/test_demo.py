"""The demo as a user starts it, shortened: it ends well, it can be ended early, and it leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.sim.make_sample import sample_text

LONGEST_S = 120


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for temporary files whose path is short enough for a socket in it."""
    made = Path(tempfile.mkdtemp(prefix="e2e-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A dozen jobs in six minutes."""
    rows = [f"{n} {n * 30} -1 {60 + 20 * n} {1 + 3 * (n % 4)} -1 -1 -1" for n in range(12)]
    path = tmp_path / "short.swf"
    path.write_text("; twelve jobs\n" + "\n".join(rows) + "\n")
    return path


def demo(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "provisioner", "demo", *options]
    env = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def working_in(folder: Path) -> list[int]:
    """Processes that work in this folder, as every cloud of the demo does, or are told of it, as its daemon is."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _names(entry, str(folder))]


def _names(entry: Path, folder: str) -> bool:
    try:
        return os.readlink(entry / "cwd").startswith(folder) or folder in (entry / "cmdline").read_text()
    except (OSError, UnicodeDecodeError):  # ended meanwhile, or another user's
        return False


def wait_for_work_in(folder: Path) -> None:
    for _ in range(300):
        if len(working_in(folder)) >= 3:
            return
        time.sleep(0.1)
    raise AssertionError("the daemon and its two clouds were not started")


def test_the_demo_ends_by_itself_with_everything_done_and_given_back(folder: Path, log: Path) -> None:
    child = demo(folder, "--log", str(log), "--speed", "60", "--json")
    wait_for_work_in(folder)
    out, err = child.communicate(timeout=LONGEST_S)
    assert child.returncode == 0, err
    summary = json.loads(out)
    assert summary["ok"] is True
    assert (summary["jobs"], summary["done"], summary["dropped"]) == (12, 12, 0)
    assert (summary["left_over"], summary["wrong"]) == ([], [])
    assert summary["cost"] == summary["booked"] != "0"
    assert sum(summary["hosts"].values()) >= 2
    assert list(folder.iterdir()) == []
    assert working_in(folder) == []


def test_an_interrupted_demo_gives_everything_back_first(folder: Path, tmp_path: Path) -> None:
    endless = tmp_path / "endless.swf"
    endless.write_text("".join(f"{n} 0 -1 7000 4\n" for n in range(6)))
    child = demo(folder, "--log", str(endless), "--speed", "20")
    assert child.stdout is not None
    for line in child.stdout:
        if "busy" in line:
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LONGEST_S)
    assert child.returncode == 130, (out, err)
    assert "0 of 6 done, 6 dropped" in out
    assert "given back      everything" in out
    assert list(folder.iterdir()) == []
    assert working_in(folder) == []


def test_a_demo_told_twice_to_stop_says_what_it_left_and_leaves_no_process(folder: Path, tmp_path: Path) -> None:
    endless = tmp_path / "endless.swf"
    endless.write_text("".join(f"{n} 0 -1 7000 4\n" for n in range(6)))
    child = demo(folder, "--log", str(endless), "--speed", "20")
    assert child.stdout is not None
    for line in child.stdout:
        if "busy" in line:
            break
    child.send_signal(signal.SIGTERM)
    time.sleep(1.0)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=LONGEST_S)
    assert child.returncode == 1, (out, err)
    assert "LEFT OVER" in out
    assert "told to stop twice" in out
    assert list(folder.iterdir()) == []
    assert working_in(folder) == []


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="the kernel is asked through setpriv of util-linux")
def test_the_processes_of_a_demo_that_is_killed_end_by_themselves(folder: Path, log: Path) -> None:
    child = demo(folder, "--log", str(log))
    wait_for_work_in(folder)
    child.kill()
    child.communicate(timeout=30)
    for _ in range(300):
        if not working_in(folder):
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {working_in(folder)}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--log", "/no/such.swf"], "/no/such.swf can't be read: No such file or directory"),
        (["--hours", "0"], "--hours 0 makes no sense"),
        (["--speed", "-3"], "--speed -3 makes no sense"),
        (["--speed", "nan"], "--speed nan makes no sense"),
        (["--start-hour", "40"], "the log's last one was at hour 1.0"),
    ],
)
def test_what_can_not_be_played_is_refused_in_one_sentence(folder: Path, options: list[str], sentence: str) -> None:
    child = demo(folder, *options)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err


def test_the_sample_is_an_hour_that_the_demo_plays_within_a_minute() -> None:
    last = sample_text().splitlines()[-1].split()
    assert float(last[1]) / 75.0 < 60
