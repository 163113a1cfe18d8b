import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.typed import typed, typed_beside
from tests.edge.rest_worlds import empty_world, settings_for
from tests.runtime.rest_daemon import MemoryDaemon, served

CONFIG = """
version: 1
cluster: clu
controller: {{sqlite: {folder}/facts.db}}
listen: {{socket: {folder}/api.sock}}
budgets: none
providers:
  east: {{command: [{program}]}}
"""


@pytest.fixture(autouse=True)
def no_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROVISIONER_SOCKET", raising=False)


def config_in(folder: Path, program: str = sys.executable) -> Path:
    file = folder / "clu.yaml"
    file.write_text(CONFIG.format(folder=folder, program=program), encoding="utf-8")
    return file


def test_an_unreachable_daemon_is_one_sentence_that_names_the_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "status", "--socket", tmp_path / "none.sock")
    assert (ran.code, ran.out) == (3, "")
    assert len(ran.err.splitlines()) == 1
    assert str(tmp_path / "none.sock") in ran.err
    assert "provisioner run -c FILE" in ran.err


def test_a_dead_socket_and_a_plain_file_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(tmp_path / "dead.sock"))
    (tmp_path / "file").write_text("", encoding="ascii")
    assert "nobody answers" in typed(capsys, "costs", "--socket", tmp_path / "dead.sock").err
    assert "that is no socket" in typed(capsys, "costs", "--socket", tmp_path / "file").err
    assert typed(capsys, "costs", "--url", "http://127.0.0.1:1").code == 3


@pytest.mark.parametrize("door", [("--socket", "x" * 300), ("--url", "http://[::1"), ("--url", "http://127.0.0.1:x")])
def test_a_door_that_can_not_be_one_is_a_wrong_command_line(
    door: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = typed(capsys, "costs", *door)
    assert said.code == 2
    assert said.err.count("\n") == 1


def test_an_error_is_json_too_where_json_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = typed(capsys, "costs", "--json", "--socket", tmp_path / "none.sock")
    assert json.loads(ran.out)["error"]["code"] == "unreachable"


async def test_the_door_is_found_by_configuration_and_by_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(socket=str(tmp_path / "api.sock"))
    async with served(MemoryDaemon(settings, empty_world()), settings):
        assert (await typed_beside(capsys, "costs", "-c", config_in(tmp_path))).code == 0
        monkeypatch.setenv("PROVISIONER_SOCKET", str(tmp_path / "api.sock"))
        assert (await typed_beside(capsys, "costs")).code == 0
        monkeypatch.setenv("PROVISIONER_SOCKET", str(tmp_path / "other.sock"))
        assert (await typed_beside(capsys, "costs")).code == 3
        assert (await typed_beside(capsys, "costs", "--socket", tmp_path / "api.sock")).code == 0


@pytest.mark.parametrize(
    "words",
    [
        "frobnicate", "costs --frob", "costs --socket a --url http://127.0.0.1:1", "costs --url ftp://x", "costs --url http://h:x",
        "check", "check a -c b", "decisions --limit 0", "demand", "run",
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(capsys, *words.split()).code == 2


def test_help_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    ran = typed(capsys, "--help")
    assert ran.code == 0
    for command in "run demo check status providers requests instances costs decisions demand supply".split():
        assert f"\n  {command} " in ran.out


def test_a_faulty_configuration_is_not_taken_for_a_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = config_in(tmp_path)
    file.write_text(file.read_text(encoding="utf-8") + "colour: red\n", encoding="utf-8")
    ran = typed(capsys, "status", "-c", file)
    assert ran.code == 64
    assert "colour" in ran.err


def test_check_says_what_was_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("check", config_in(tmp_path)), ("check", "-c", config_in(tmp_path))):
        ran = typed(capsys, *words)
        assert ran.code == 0
        assert "no fault was found" in " ".join(ran.out.split())
        assert "not checked" in ran.out


def test_check_prints_every_fault_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = config_in(tmp_path)
    file.write_text(file.read_text(encoding="utf-8") + "colour: red\npolicy: {tick: soon}\n", encoding="utf-8")
    ran = typed(capsys, "check", file)
    assert ran.code == 1
    assert [line for line in ran.out.splitlines() if line.startswith(f"{file}:") and "colour" in line]
    assert "policy.tick" in ran.out
    listed = json.loads(typed(capsys, "check", file, "--json").out)
    assert {fault["field"] for fault in listed["faults"]} == {"colour", "policy.tick"}


def test_check_names_what_the_machine_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = typed(capsys, "check", config_in(tmp_path, program="provisioner-nowhere"))
    assert ran.code == 1
    assert "the program provisioner-nowhere is not found" in " ".join(ran.out.split())


def test_check_of_a_file_that_is_not_there_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "check", tmp_path / "none.yaml")
    assert ran.code == 2
    assert "no such file" in ran.err


def test_the_module_runs_as_the_command_does(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "provisioner", "costs", "--socket", str(tmp_path / "none.sock")]
    ran = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("provisioner: no daemon on the socket")
