"""`provisioner provider pause|resume|restart|logs|call` as typed: what is printed, what is kept, and how it ends."""

import json
from pathlib import Path

import pytest

from provider_sdk.contract import ErrorClass, ErrorData
from provisioner.cli.provider_words import News
from provisioner.edge.rest_calls import LastWords
from provisioner.runtime.supervision import Answered, Failed, Lost, Outcome
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


async def test_logs_name_each_process_and_why_it_ended_and_are_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = MemoryDaemon(settings_for(socket=str(tmp_path / "s")), lively_world())
    daemon.words = [LastWords(6, "exit status 1", 1, ("KeyError", "\x1b[31mred")), LastWords(7, None, 1, ("up",))]
    plain, short = await typed_at(
        capsys, tmp_path, "provider logs east", "provider logs east -n 1 --json", daemon=daemon
    )
    assert plain.out.splitlines() == [
        "-- process 6, ended: exit status 1", "KeyError", "\ufffd[31mred", "-- process 7", "up",
    ]  # fmt: skip
    assert [p["lines"] for p in json.loads(short.out)["processes"]] == [["\x1b[31mred"], ["up"]]


def test_what_is_followed_is_shown_once_with_each_end_and_each_new_process() -> None:
    def words(process: int, first: int, *lines: str, ended: str | None = None) -> dict[str, object]:
        return {"process": process, "ended": ended, "first": first, "lines": list(lines)}

    news = News({"processes": [words(6, 10, "a", "b")]})
    assert news.of(words(6, 10, "a", "b")) == (False, [])
    assert news.of(words(6, 11, "b", "c")) == (False, ["c"])
    assert news.of(words(6, 20, "k", "l")) == (False, ["k", "l"])
    assert news.of(words(6, 20, "k", "l", "m", ended="exit status 1")) == (True, ["m"])
    assert news.of(words(6, 20, "k", "l", "m", ended="exit status 1")) == (False, [])
    assert news.of(words(7, 1, "new")) == (True, ["new"])


CALLS: dict[str, tuple[Outcome, int, str]] = {
    "answered": (Answered({"health": "ok"}), 0, '"health": "ok"'),
    "refused": (Failed(ErrorData(error_class=ErrorClass.AUTH)), 4, '"error_class": "auth"'),
    "lost": (Lost("cut"), 3, ""),
}


@pytest.mark.parametrize("outcome", CALLS)
async def test_a_call_prints_the_answer_and_its_end_says_whether_it_is_one(
    outcome: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon = MemoryDaemon(settings_for(socket=str(tmp_path / "s")), lively_world())
    daemon.outcome, code, said = CALLS[outcome]
    (ran,) = await typed_at(capsys, tmp_path, "provider call east ping", daemon=daemon)
    assert ran.code == code
    assert said in ran.out


async def test_parameters_that_are_no_json_and_methods_that_change_something_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn, changing = await typed_at(
        capsys, tmp_path, "provider call east list {limit:3}", "provider call east request {}"
    )
    assert (torn.code, changing.code) == (2, 4)
    assert "recorded before it is sent" in changing.err
