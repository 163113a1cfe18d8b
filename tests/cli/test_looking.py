import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from immutables import Map

from provisioner.core.facts import DemandFact, FactKind
from provisioner.core.model import Kind, Line
from provisioner.core.reasons import Reason, Why
from provisioner.core.world import Heard, LineStatus, PlanView, World
from tests.cli.typed import Ran, typed_beside
from tests.edge.rest_worlds import NOW, instance, lively_world, settings_for, with_facts, with_instances
from tests.runtime.rest_daemon import MemoryDaemon, served

COMMANDS = {
    "status": None,
    "providers": "providers",
    "providers east": "templates",
    "requests": "requests",
    "requests rq-one": "id",
    "requests --all": "requests",
    "instances": "instances",
    "instances in-a": "id",
    "instances --all --state gone": "instances",
    "costs": "total",
    "decisions": "decisions",
    "decisions --subject lsf/queue --limit 1": "decisions",
    "demand show": "sources",
    "demand show --source lsf": "sources",
    "supply show": "sources",
    "supply show --source lsf": "sources",
}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("PROVISIONER_SOCKET", raising=False)


def planned_world() -> World:
    """The lively world with a line of which two are open."""
    lines = (Line("queue", Kind.HOST, 5, since=NOW.at - 300),)
    world = with_facts(lively_world(), [(FactKind.DEMAND, "lsf", DemandFact(0, 3, 7, NOW.at - 9, lines))])
    status = LineStatus("lsf", "queue", 5, 2, 1, 2, Reason(Why.CAPACITY, "small of east"))
    heard = Map({"lsf": Heard(demand_boot_s=NOW.boot_s - 4, supply_boot_s=NOW.boot_s - 5)})
    return evolve(world, seen=evolve(world.seen, plan=PlanView(lines=(status,)), heard=heard))


async def run(capsys: pytest.CaptureFixture[str], folder: Path, world: World | None, words: str) -> Ran:
    settings = settings_for(socket=str(folder / "api.sock"))
    async with served(MemoryDaemon(settings, world), settings):
        return await typed_beside(capsys, *words.split(), "--socket", folder / "api.sock")


@pytest.mark.parametrize("words", sorted(COMMANDS))
async def test_people_read_within_80_columns(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = await run(capsys, tmp_path, planned_world(), words)
    assert ran.err == ""
    assert len(ran.out.splitlines()) >= 2
    assert [line for line in ran.out.splitlines() if len(line) > 80] == []
    assert ran.code == (1 if words == "status" else 0)


@pytest.mark.parametrize("words", sorted(COMMANDS))
async def test_programs_read_the_daemons_own_json(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = await run(capsys, tmp_path, planned_world(), f"{words} --json")
    found: Mapping[str, Any] = json.loads(ran.out)
    assert (COMMANDS[words] or "health") in found


async def test_status_answers_in_order_and_says_what_to_ask_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = await run(capsys, tmp_path, planned_world(), "status")
    lines = ran.out.splitlines()
    labels = [line.split()[0] for line in lines if not line.startswith(" ") and not line.startswith("→")]
    wanted = ["verdict", "burn", "demand", "sources", "providers", "facts"]
    assert [label for label in labels if label in wanted] == wanted
    assert ran.out.count("→ provisioner ") == len(wanted)
    said = " ".join(ran.out.split())
    assert "degraded: provider west is not ready: its process is backing off (exit status 1)" in said
    assert "4 USD/h now" in said
    assert "2 uncovered for 5m: 2 × has no capacity left (small of east)" in said
    assert "provisioner decisions --subject lsf/queue" in said
    assert "lsf: demand 4s, supply 5s" in said
    assert "1 of 2 ready: west is backing off" in said


async def test_status_is_no_while_starting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = await run(capsys, tmp_path, None, "status")
    assert ran.code == 1
    assert "starting: the facts are being loaded" in ran.out


async def test_other_commands_are_told_to_come_again_while_starting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = await run(capsys, tmp_path, None, "costs")
    assert (ran.code, ran.out) == (3, "")
    assert "starting" in ran.err


async def test_what_is_not_there_is_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("instances in-none", "requests ../../x", "providers nobody", "demand show --source nobody"):
        ran = await run(capsys, tmp_path, lively_world(), words)
        assert ran.code == 1, words
        assert "there is no" in ran.err


async def test_a_faulty_filter_is_refused_by_the_daemon(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = await run(capsys, tmp_path, lively_world(), "instances --state tired --json")
    assert ran.code == 4
    assert json.loads(ran.out)["error"]["faults"][0]["field"] == "state"
    assert "write booting or running" in ran.err


async def test_texts_of_others_can_not_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = evolve(instance("in-a"), name="\x1b]0;owned\x07[bold]h[/bold]\n\x1b[2J")
    ran = await run(capsys, tmp_path, with_instances(lively_world(), evil), "instances in-a")
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    assert "[bold]h[/bold]" in ran.out
