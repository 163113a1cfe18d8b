import json
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from provisioner.core.settings import Address, HttpBind, Listen
from tests.cli.typed import typed, typed_beside
from tests.edge.rest_worlds import empty_world, settings_for
from tests.runtime.rest_daemon import MemoryDaemon, served

TOKEN = "0123456789abcdef-token"
LINES = [{"id": "queue", "kind": "host", "count": 3, "expires": "2031-01-01T00:00:00Z"}]


async def test_a_snapshot_without_a_revision_follows_the_one_that_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    daemon = MemoryDaemon(settings, empty_world())
    file = tmp_path / "demand.json"
    async with served(daemon, settings):
        door = ("--socket", tmp_path / "s")
        file.write_text(json.dumps(LINES), encoding="utf-8")
        first = await typed_beside(capsys, "demand", "push", file, *door)
        assert (first.code, first.out) == (0, "taken in as revision 1 of ops\n")
        file.write_text(json.dumps({"revision": 7, "incarnation": 2, "lines": LINES}), encoding="utf-8")
        await typed_beside(capsys, "demand", "push", file, *door)
        file.write_text(json.dumps({"lines": []}), encoding="utf-8")
        third = await typed_beside(capsys, "demand", "push", file, "--json", *door)
        assert json.loads(third.out)["current"] == {"incarnation": 2, "revision": 8}
        assert daemon.held is not None
        assert daemon.held.demands["ops"].lines == ()
        file.write_text(json.dumps({"revision": 1, "lines": []}), encoding="utf-8")
        stale = await typed_beside(capsys, "demand", "push", file, *door)
        assert stale.code == 4
        assert 'what stands: {"incarnation": 2, "revision": 8}' in stale.err


async def test_supply_pushed_by_hand_names_what_is_not_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    file = tmp_path / "supply.json"
    file.write_text(json.dumps([{"instance": "in-x", "state": "idle"}]), encoding="utf-8")
    async with served(MemoryDaemon(settings, empty_world()), settings):
        ran = await typed_beside(capsys, "supply", "push", file, "--source", "lsf", "--socket", tmp_path / "s")
    assert ran.code == 0
    assert "in-x is none of the provisioner's" in ran.out


async def test_every_fault_of_a_snapshot_is_printed_and_nothing_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    daemon = MemoryDaemon(settings, empty_world())
    file = tmp_path / "demand.json"
    file.write_text('{"lines": [{"id": "a", "kind": "host"}, {"kind": "hst"}]}', encoding="utf-8")
    async with served(daemon, settings):
        ran = await typed_beside(capsys, "demand", "push", file, "--source", "lsf", "--socket", tmp_path / "s")
    assert ran.code == 4
    for field in ("/lines/0/count", "/lines/1/id", "/lines/1/kind"):
        assert field in ran.err
    assert daemon.held == empty_world()


async def test_facts_that_can_not_be_written_are_a_reason_to_come_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    daemon = MemoryDaemon(settings, empty_world())
    daemon.refusing = "the disk is full"
    file = tmp_path / "demand.json"
    file.write_text('{"revision": 1, "lines": []}', encoding="utf-8")
    async with served(daemon, settings):
        ran = await typed_beside(capsys, "demand", "push", file, "--socket", tmp_path / "s")
    assert ran.code == 3
    assert "the disk is full" in ran.err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{\n  'lines': []}", ":2:3: no JSON"),
        (b"\xff\xfe", "no text in UTF-8"),
        (b"7", "holds no snapshot"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (16 * 2**20 + 1), "over 16 MiB"),
    ],
)
def test_a_file_that_holds_no_snapshot_is_a_wrong_command_line(
    content: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "demand.json"
    file.write_bytes(content)
    ran = typed(capsys, "demand", "push", file, "--socket", tmp_path / "none")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_file_that_is_not_there_is_a_wrong_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = typed(capsys, "supply", "push", tmp_path / "none.json", "--socket", tmp_path / "none")
    assert ran.code == 2
    assert "no such file" in ran.err


async def test_standard_input_is_taken_for_a_hyphen(tmp_path: Path) -> None:
    settings = settings_for(socket=str(tmp_path / "s"))
    asked = [sys.executable, "-m", "provisioner", "demand", "push", "-", "--socket", str(tmp_path / "s")]

    def go() -> subprocess.CompletedProcess[bytes]:
        snapshot = b'{"revision": 5, "lines": []}'
        return subprocess.run(asked, input=snapshot, capture_output=True, timeout=60, check=False)

    async with served(MemoryDaemon(settings, empty_world()), settings):
        ran = await trio.to_thread.run_sync(go)
    assert (ran.returncode, ran.stdout) == (0, b"taken in as revision 5 of ops\n")


async def test_loopback_is_asked_with_the_token_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    for file, token in ((right, TOKEN), (wrong, "another-token-of-length")):
        file.write_text(token, encoding="ascii")
        file.chmod(0o600)
    http = HttpBind(bind=Address(host="127.0.0.1", port=0), token_file=str(right))
    settings = settings_for(listen=Listen(http=http))
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        shown = await typed_beside(capsys, "costs", "--url", door, "--token-file", right)
        assert shown.code == 0
        refused = await typed_beside(capsys, "costs", "--url", door, "--token-file", wrong)
        assert refused.code == 4
        assert "token" in refused.err
        assert "another-token" not in refused.err
        assert (await typed_beside(capsys, "costs", "--url", door)).code == 4
        missing = await typed_beside(capsys, "costs", "--url", door, "--token-file", tmp_path / "none")
        assert missing.code == 2
