"""`provisioner run` as an operator meets it: every refusal one sentence with its status, an orderly end, one owner."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.sources import ROOT

CONFIG = """\
version: 1
cluster: small
controller: {sqlite: facts.db}
listen: {socket: api.sock}
budgets: none
providers:
  east:
    command: [provisioner-simulated]
    config: {types: [c6i.large]}
"""
TOKEN = "correct-horse-battery-staple"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket in it."""
    made = Path(tempfile.mkdtemp(prefix="run-"))
    yield made
    shutil.rmtree(made)


def started(config: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "provisioner", "run", "-c", str(config)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def refusal(config: Path) -> tuple[int, str]:
    """Exit status and standard error of a daemon that must not run."""
    child = started(config)
    out, err = child.communicate(timeout=30)
    assert out == ""
    assert "Traceback" not in err
    return child.returncode, err


def written(folder: Path, text: str = CONFIG, name: str = "p.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def wait_for(path: Path) -> None:
    for _ in range(300):
        if path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} did not appear")


def test_every_fault_of_the_file_is_printed_with_its_place(folder: Path) -> None:
    faulty = CONFIG.replace("sqlite:", "sqlight:").replace("budgets: none\n", "budgts: none\n")
    config = written(folder, faulty)
    status, err = refusal(config)
    assert status == 64
    assert f"{config}:3:" in err
    assert f"{config}:5:" in err
    assert 'did you mean "budgets"?' in err


def test_a_file_that_is_not_there_is_one_sentence(folder: Path) -> None:
    status, err = refusal(folder / "none.yaml")
    assert (status, err.count("\n")) == (66, 1)
    assert "none.yaml can't be read: no such file or directory" in err


def test_a_file_that_is_no_text_is_one_sentence(folder: Path) -> None:
    config = folder / "p.yaml"
    config.write_bytes(b"version: 1\n\xff\xfe")
    status, err = refusal(config)
    assert status == 64
    assert "no text in UTF-8" in err


def test_facts_in_a_folder_that_is_not_there_are_one_sentence_with_the_remedy(folder: Path) -> None:
    status, err = refusal(written(folder, CONFIG.replace("facts.db", "no/such/facts.db")))
    assert (status, err.count("\n")) == (74, 1)
    assert "Make the folder first" in err


def test_a_file_that_holds_no_facts_is_left_alone(folder: Path) -> None:
    (folder / "facts.db").write_text("a letter to my aunt, and longer than any header of a database could ever be " * 9)
    status, err = refusal(written(folder))
    assert (status, err.count("\n")) == (65, 1)
    assert (folder / "facts.db").read_text().startswith("a letter")


def test_a_socket_that_somebody_answers_on_is_one_sentence(folder: Path) -> None:
    config = written(folder)
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(folder / "api.sock"))
        taken.listen()
        status, err = refusal(config)
    assert status == 69
    assert "somebody answers on the socket" in err


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [(None, 0, "can't be read"), ("", 0o600, "0 characters"), (TOKEN, 0o644, "open to other users")],
    ids=["missing", "empty", "open to others"],
)
def test_a_bad_token_file_is_refused_before_anything_is_made(
    folder: Path, content: str | None, mode: int, told: str
) -> None:
    if content is not None:
        (folder / "token").write_text(content)
        (folder / "token").chmod(mode)
    door = "listen: {socket: api.sock, http: {bind: '127.0.0.1:0', token_file: token}}"
    before = {"p.yaml", *(path.name for path in folder.iterdir())}
    status, err = refusal(written(folder, CONFIG.replace("listen: {socket: api.sock}", door)))
    assert (status, err.count("\n")) == (69, 1)
    assert told in err
    assert {path.name for path in folder.iterdir()} == before


def test_for_a_door_that_is_refused_no_provider_is_started(folder: Path) -> None:
    (folder / "api.sock").write_text("no socket")
    status, err = refusal(written(folder))
    assert (status, err.count("\n")) == (69, 1)
    assert "is no socket" in err
    assert not (folder / "providers").exists()


def test_the_log_says_where_the_daemon_listens(folder: Path) -> None:
    (folder / "token").touch(mode=0o600)
    (folder / "token").write_text(TOKEN)
    door = "listen: {socket: api.sock, http: {bind: '127.0.0.1:0', token_file: token}}"
    child = started(written(folder, CONFIG.replace("listen: {socket: api.sock}", door)))
    wait_for(folder / "api.sock")
    wait_for(folder / "providers" / "east" / "state" / "cloud")
    child.terminate()
    _, err = child.communicate(timeout=60)
    (ready,) = [line for line in map(json.loads, err.splitlines()) if line["event"] == "ready"]
    by_socket, by_port = ready["listens"]
    assert by_socket == f"unix:{folder / 'api.sock'}"
    assert by_port.startswith("http://127.0.0.1:")
    assert TOKEN not in err


def test_a_second_daemon_on_the_same_facts_is_refused_and_the_first_is_named(folder: Path) -> None:
    first = started(written(folder))
    try:
        wait_for(folder / "api.sock")
        second = written(folder, CONFIG.replace("api.sock", "other.sock"), "q.yaml")
        status, err = refusal(second)
        assert (status, err.count("\n")) == (75, 1)
        assert f"process {first.pid}" in err
    finally:
        first.terminate()
        first.communicate(timeout=60)


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_the_daemon_ends_in_order_with_its_providers_and_its_socket(folder: Path, asked: signal.Signals) -> None:
    child = started(written(folder))
    wait_for(folder / "api.sock")
    wait_for(folder / "providers" / "east" / "state" / "cloud")
    child.send_signal(asked)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (0, "")
    assert "Traceback" not in err
    assert not (folder / "api.sock").exists()
    assert not [p for p in Path("/proc").glob("[0-9]*/cwd") if _leads_into(p, folder)]


def _leads_into(link: Path, folder: Path) -> bool:
    try:
        return os.readlink(link).startswith(str(folder))
    except OSError:
        return False
