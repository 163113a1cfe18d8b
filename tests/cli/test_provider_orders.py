"""`provisioner provider pause|resume|restart` as typed: what is printed, what is kept, and how it ends."""

import json
from pathlib import Path

import pytest

from tests.cli.typed import Ran, typed_beside
from tests.edge.rest_worlds import lively_world, settings_for
from tests.runtime.rest_daemon import MemoryDaemon, served


async def typed_at(
    capsys: pytest.CaptureFixture[str], folder: Path, *lines: str, daemon: MemoryDaemon | None = None
) -> list[Ran]:
    """Each command in turn, with one daemon."""
    settings = settings_for(socket=str(folder / "s"))
    held = daemon or MemoryDaemon(settings, lively_world())
    async with served(held, settings):
        return [await typed_beside(capsys, *line.split(" "), "--socket", folder / "s") for line in lines]


async def test_a_pause_is_told_with_its_end_and_stands_in_status_and_providers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("SUDO_USER", "alice")
    pause, status, providers, one = await typed_at(
        capsys, tmp_path, "provider pause east --for 2h --why prices", "status", "providers", "providers east"
    )
    assert pause.code == 0
    assert pause.out.splitlines()[0] == "east: ready, paused until 03-17 19:46:40"
    assert "status, lists and give-backs go on" in pause.out
    told = "paused by alice (uid "
    assert told in status.out
    assert told in providers.out
    assert "prices" in one.out


async def test_resume_and_restart_print_what_they_came_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, resume, restart = await typed_at(
        capsys, tmp_path, "provider pause west", "provider resume west", "provider restart east --json"
    )
    assert "the pause is over" in resume.out
    found = json.loads(restart.out)
    assert (found["provider"], found["order"], found["state"]) == ("east", "restart", "stopping")


async def test_a_name_nobody_knows_ends_with_the_known_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ran,) = await typed_at(capsys, tmp_path, "provider pause est")
    assert ran.code == 1
    assert "name one of those configured: east, west" in ran.err


async def test_a_faulty_duration_is_refused_by_the_daemon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ran,) = await typed_at(capsys, tmp_path, "provider pause east --for 2hours")
    assert ran.code == 4
    assert "/for" in ran.err
