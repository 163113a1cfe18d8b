"""What keeps a provider, an offer or a source from being used is told with its end and with what to do."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

from provisioner.cli.amiss import blocked_text
from provisioner.core.facts import FactKind
from provisioner.core.model import Place, Problem
from provisioner.core.process import ProcessState
from provisioner.core.world import End, Heard, ListView, ProcessView, World
from tests.cli.typed import typed_beside
from tests.edge.rest_worlds import lively_world, settings_for, with_facts
from tests.runtime.rest_daemon import MemoryDaemon, served

RESUME = "`provisioner provider resume west`"
STANDING: Mapping[str, tuple[ProcessView, str]] = {
    "parked": (
        ProcessView(state=ProcessState.PARKED, number=1, last_end="exit status 78"),
        f"exit status 78; correct its program, then {RESUME}; or its configuration, then restart the daemon",
    ),
    "quarantined": (
        ProcessView(state=ProcessState.QUARANTINED, number=5, wait_until_boot_s=5_600.0, last_end="exit status 1"),
        f"exit status 1; started again at 03-17 17:56:40, or at once by {RESUME}",
    ),
    "backing off": (
        ProcessView(state=ProcessState.BACKING_OFF, number=3, wait_until_boot_s=5_030.0, last_end="exit status 1"),
        f"exit status 1; started again at 03-17 17:47:10, or at once by {RESUME}",
    ),
    "ready": (
        ProcessView(state=ProcessState.READY, number=1, is_running=True, auth_failed=True),
        f"its credentials are refused; put them right, then {RESUME}",
    ),
}


def world_with(view: ProcessView) -> World:
    world = lively_world()
    return evolve(world, seen=evolve(world.seen, processes=world.seen.processes.set("west", view)))


@pytest.mark.parametrize("state", sorted(STANDING))
@pytest.mark.parametrize("words", ["status", "providers", "providers west"])
async def test_a_provider_that_is_not_ready_is_told_with_until_when_and_what_to_do(
    words: str, state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    view, told = STANDING[state]
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world_with(view)), settings):
        said = (await typed_beside(capsys, *words.split(), "--socket", tmp_path / "s")).out
    assert told in said
    assert state in said.replace("_", " ")
    assert "all of west is parked until its description changes or the provider is started anew" in said
    if words != "providers west":
        assert "east/big is left alone until 03-17 17:56:40, then tried again: 3 × no_capacity (none)" in said


def test_an_offer_that_is_parked_is_told_with_what_frees_it() -> None:
    offer = {"template": "big", "parked": True, "until": None, "failures": 10, "error_class": "bad", "detail": None}
    told = blocked_text("east", offer)
    assert told.startswith("east/big is parked until its description changes or the provider is started anew")
    assert "provisioner provider resume east" in told


async def test_a_source_that_was_not_heard_since_the_start_is_not_said_never_to_have_been(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = lively_world()
    world = evolve(world, seen=evolve(world.seen, heard=world.seen.heard.set("lsf", Heard())))
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world), settings):
        status = (await typed_beside(capsys, "status", "--socket", tmp_path / "s")).out
        supply = (await typed_beside(capsys, "supply", "show", "--socket", tmp_path / "s")).out
    assert "lsf: supply not since the start (silent)" in status
    assert "lsf was not heard since the start: it is taken as silent until it is" in supply
    assert "never" not in status + supply


async def test_a_list_that_is_incomplete_is_told_with_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    world = lively_world()
    partial = ListView(passes=2, problems=(Problem("auth"),), missing=(Place(region="eu", zone="b"),))
    world = evolve(world, seen=evolve(world.seen, lists=world.seen.lists.set("east", partial)))
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world), settings):
        said = (await typed_beside(capsys, "providers", "--socket", tmp_path / "s")).out
    assert "its list is incomplete (not read: eu/b; auth)" in said


async def test_a_quarantine_tells_how_often_what_was_open_the_last_line_and_the_next_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    end = End(4_990.0, "exit status 1", ("request rq-1", "list"), 2, "KeyError: 'zone'")
    view = evolve(STANDING["quarantined"][0], ends=(end,) * 5)
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world_with(view)), settings):
        status = (await typed_beside(capsys, "status", "--socket", tmp_path / "s")).out
        one = (await typed_beside(capsys, "providers", "west", "--socket", tmp_path / "s")).out
    told = "5 ends, the last: exit status 1, with request rq-1, list open; it said last \"KeyError: 'zone'\""
    for said in (status, one):
        assert told in said
        assert "provisioner provider resume west" in said
        assert "provisioner provider logs west" in said
    assert one.count("exit status 1, with request rq-1, list open: KeyError: 'zone'") == 5


async def test_what_is_parked_is_told_with_what_releases_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    world = lively_world()
    parked = evolve(world.requests["rq-two"], crashes=2)
    world = with_facts(world, [(FactKind.REQUEST, "rq-two", parked)])
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world), settings):
        for words in ("status", "providers", "providers east"):
            said = (await typed_beside(capsys, *words.split(), "--socket", tmp_path / "s")).out
            assert "1 parked: rq-two; released by `provisioner provider resume east`" in said
        requests = (await typed_beside(capsys, "requests", "--socket", tmp_path / "s")).out
    assert "parked: open at 2 ends of its process, never sent again by itself" in requests
