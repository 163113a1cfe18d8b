"""`provisioner provider replay` as typed: what was recorded is printed, played again, and compared."""

import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from provisioner.edge.redaction import Hidden
from provisioner.runtime.black_box import BlackBox
from tests.cli.typed import typed
from tests.runtime.real_provider import PRELUDE
from tests.runtime.scripted_provider import Lines
from tests.runtime.test_log import alarm_after_s

INITIALIZE = {
    "versions": ["2.0"],
    "mode": "serve",
    "epoch": 7,
    "state_dir": "/elsewhere",
    "config": {"key": "planted1"},
}
CONVERSATION: list[tuple[str, dict[str, object], dict[str, object] | None]] = [
    ("initialize", INITIALIZE, {"result": {"version": "2.0"}}),
    ("describe", {}, {"result": {"revision": "1", "templates": [{}, {}]}}),
    ("list", {"cursor": None}, {"result": {"instances": [], "complete": True}}),
    ("request", {"token": "t-1", "not_after": 5.0}, {"result": {"outcome": "made", "instances": [{}]}}),
    ("list", {"cursor": "c2"}, {"result": {"instances": [], "complete": True}}),
    ("ping", {}, {"result": {"health": "ok"}}),
    ("return", {"return_id": "r-1"}, None),
]
PROVIDER = """
answers = {
    "initialize": {"result": {"version": "2.0"}},
    "describe": {"result": {"revision": "2", "templates": []}},
    "list": {"result": {"instances": [], "complete": True}},
    "ping": {"result": {"health": "ok"}},
    "shutdown": {"result": {}},
    "request": {"error": {"code": 1001, "message": "no_capacity"}},
}
seen = open(sys.argv[1], "w")
for line in sys.stdin:
    message = json.loads(line)
    print(line, end="", file=seen, flush=True)
    if "id" in message:
        say({"id": message["id"], **answers[message["method"]]})
"""


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """The black box of two processes: one that died at once, and one that had a conversation."""
    folder = tmp_path / "east" / "blackbox"
    early = BlackBox(folder, most_bytes=1 << 20, number=1, hidden=Hidden(), log=Lines())
    early.heard(b"Welcome\x1b[2J!\n")
    early.note("process 10 ended (crash): exit status 3")
    early.close()
    late = BlackBox(folder, most_bytes=1 << 20, number=2, hidden=Hidden(["planted1"]), log=Lines())
    for id, (method, params, answer) in enumerate(CONVERSATION, 1):
        late.told(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": id}).encode() + b"\n")
        if answer is not None:
            late.heard(json.dumps({"jsonrpc": "2.0", "id": id, **answer}).encode() + b"\n")
    late.close()
    return folder


@pytest.fixture
def provider(tmp_path: Path) -> list[str | Path]:
    """The command of a provider that writes down what it is told."""
    program = tmp_path / "provider.py"
    program.write_text(PRELUDE + textwrap.dedent(PROVIDER))
    return [sys.executable, program, tmp_path / "seen"]


def seen(tmp_path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (tmp_path / "seen").read_text().splitlines()]


def test_a_recorded_conversation_is_printed(
    box: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ran = typed(capsys, "provider", "replay", box)
    assert ran.code == 0
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert any(line.endswith("1 < - junk - -") for line in lines)
    assert any(line.startswith("junk: not JSON") and "Welcome" in line for line in lines)
    assert "process 10 ended (crash): exit status 3" in lines
    assert any("2 > 4 request result made, 1 instance" in line for line in lines)
    assert any("2 > 7 return no answer" in line for line in lines)
    assert "\x1b" not in ran.out
    full = typed(capsys, "provider", "replay", box.parent, "--full", "--process", "2")
    assert "[hidden]" in full.out
    assert "Welcome" not in full.out
    whole = json.loads(typed(capsys, "provider", "replay", box / "frames", "--json").out)
    calls = [entry for entry in whole["entries"] if entry["kind"] == "call"]
    assert [(c["id"], c["came_to"]) for c in calls[3:5]] == [(4, "result made"), (5, "result")]


def test_a_recorded_conversation_fits_80_columns_and_its_frames_stand_whole_on_lines_of_their_own(
    box: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    plain = typed(capsys, "provider", "replay", box)
    assert all(len(line) <= 80 for line in plain.out.splitlines())
    full = typed(capsys, "provider", "replay", box, "--full", "--process", "2")
    frames = [json.loads(line[4:]) for line in full.out.splitlines() if line.startswith(("  > ", "  < "))]
    assert [frame["id"] for frame in frames] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]
    assert "�" not in full.out


@pytest.mark.e2e
def test_only_what_changes_nothing_is_played_and_in_the_mode_of_a_check(
    box: Path, provider: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "provider", "replay", box, "--", *provider)
    assert ran.code == 0, ran.out + ran.err
    assert [message["method"] for message in seen(tmp_path)] == ["initialize", "describe", "list", "ping", "shutdown"]
    params = seen(tmp_path)[0]["params"]
    assert isinstance(params, dict)
    assert (params["mode"], params["epoch"]) == ("check", 0)
    assert params["state_dir"] != "/elsewhere"
    assert not Path(params["state_dir"]).exists(), "the folder was made for this run"
    assert "4 calls were played, 0 came to something else." in ran.out
    assert "its cursor is another process's" in " ".join(ran.out.split())
    assert "replaced by [hidden]" in ran.out


@pytest.mark.e2e
def test_changing_calls_are_played_when_that_is_asked_for_and_a_difference_is_told_by_the_exit_code(
    box: Path, provider: list[str | Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "provider", "replay", box, "--changing", "--json", "--", *provider)
    assert ran.code == 1
    found = json.loads(ran.out)
    assert (found["played"], found["different"], found["skipped"]) == (5, 1, 2)
    (different,) = [one for one in found["calls"] if one["same"] is False]
    assert (different["method"], different["then"], different["now"]) == ("request", "result made", "error no_capacity")
    told = seen(tmp_path)
    assert told[0]["params"]["mode"] == "serve"  # type: ignore[index]
    assert told[3]["params"]["not_after"] > 5.0  # type: ignore[index]


@pytest.mark.e2e
def test_a_provider_that_fails_the_handshake_is_a_difference_and_its_own_words_are_shown(
    box: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "provider", "replay", box, "--", "sh", "-c", "echo no such region >&2; exit 78")
    assert ran.code == 1
    assert "no such region" in ran.err
    assert "the handshake failed" in " ".join(ran.out.split())


def test_what_can_not_be_found_is_told_with_what_to_do(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = typed(capsys, "provider", "replay", tmp_path / "absent")
    assert (ran.code, "-c FILE" in ran.err) == (2, True)
    config = tmp_path / "c.yaml"
    config.write_text(
        "cluster: demo\ncontroller: {sqlite: facts.db}\nlisten: {socket: s}\nbudgets: none\n"
        "providers: {east: {command: [p]}}\n"
    )
    assert "it has east" in typed(capsys, "provider", "replay", "west", "-c", config).err
    assert typed(capsys, "provider", "replay", "east", "-c", config).code == 2, "nothing is recorded yet"
    box.parent.parent.joinpath("providers").mkdir()
    box.parent.rename(tmp_path / "providers" / "east")
    assert typed(capsys, "provider", "replay", "east", "-c", config).code == 0
    nothing = typed(capsys, "provider", "replay", "east", "-c", config, "--process", "1", "--", "cat")
    assert (nothing.code, "--process" in nothing.err) == (1, True)
    refused = typed(capsys, "provider", "replay", "east", "-c", config, "--", "no-such-command")
    assert (refused.code, "no-such-command" in refused.err) == (2, True)


def test_a_pipe_is_no_black_box_and_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    with alarm_after_s(20):
        refused = typed(capsys, "provider", "replay", tmp_path / "pipe")
    assert (refused.code, "it is no file" in refused.err) == (2, True)
