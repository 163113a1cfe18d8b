"""Tables keep what a reader copies whole, and say the rest within the width of the terminal."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import evolve

from provisioner.cli import look
from provisioner.cli.show import clock_text, count_text, print_json, print_table
from provisioner.core.facts import FactKind
from provisioner.core.model import Kind
from tests.cli.typed import typed_beside
from tests.edge.rest_worlds import decision, empty_world, instance, settings_for, with_facts, with_instances
from tests.runtime.rest_daemon import MemoryDaemon, served

LONG_ID = "in-uvrfmodbitewcodi"


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_name_too_long_for_its_column_ends_in_an_ellipsis_on_the_same_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("id", "of", "name"), [(LONG_ID, "o" * 40, "n" * 40)], "none")
    _, row = capsys.readouterr().out.splitlines()
    assert len(row) == 80
    assert row.startswith(LONG_ID)
    assert row.endswith("n…")
    assert "o" * 40 in row


def test_json_holds_nothing_a_terminal_would_obey_and_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"a": "\x1b[31m\x9b2J\u202eü…", "b\x85": [1, None]}
    print_json(body)
    out = capsys.readouterr().out
    assert json.loads(out) == body
    assert "ü…" in out
    assert all(c.isprintable() or c == "\n" for c in out)


def test_a_folded_column_goes_on_below_at_its_own_place(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "reason"), [("a", "word " * 30)], "none", folded="reason")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head == "id  reason"
    assert len(rows) == 2
    assert all(len(row) <= 80 and row[4:].startswith("word") for row in rows)


def test_a_column_that_must_be_whole_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "what", "since", "of"), [("i" * 30, "w" * 30, "s" * 14, "o" * 30)], "none", whole=("since",))
    row = capsys.readouterr().out.splitlines()[1]
    assert "i" * 30 in row
    assert "s" * 14 in row
    assert len(row) == 80


async def test_a_decision_is_told_with_its_reason_below_over_the_whole_width(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(UTC).timestamp()
    made = decision("dc-1", now, "rq-gibwf5qyuytr67ep")
    world = with_facts(empty_world(), [(FactKind.DECISION, "dc-1", made)])
    settings = settings_for(socket=str(tmp_path / "s"))
    async with served(MemoryDaemon(settings, world), settings):
        shown = (await typed_beside(capsys, "decisions", "--socket", tmp_path / "s")).out.splitlines()
        asked = ("decisions", "--subject", "rq-gibwf5qyuytr67ep", "--socket", tmp_path / "s")
        about_one = (await typed_beside(capsys, *asked)).out.splitlines()
    assert shown[0].split() == ["at", "(UTC)", "what", "about", "of"]
    assert shown[1].split()[-4:] == ["buy", "1", "rq-gibwf5qyuytr67ep", "east/small"]
    assert shown[2] == "  cheapest useful offer by priority, then cost (small of east)"
    assert about_one[0].split() == ["at", "(UTC)", "what", "of"]
    assert "rq-gibwf5qyuytr67ep" not in "".join(about_one)


async def test_instances_tell_the_units_of_grants_and_name_a_consumer_only_where_there_are_several(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = instance("in-a")
    grant = evolve(instance("in-g"), kind=Kind.GRANT, units=25, name=None)
    settings = settings_for(socket=str(tmp_path / "s"))
    daemon = MemoryDaemon(settings, with_instances(empty_world(), host, grant))
    async with served(daemon, settings):
        head, *rows = (await typed_beside(capsys, "instances", "--socket", tmp_path / "s")).out.splitlines()
        assert head.split() == ["instance", "state", "of", "units", "cost", "name"]
        assert [row.split()[3] for row in rows] == ["1", "25"]
        daemon.held = with_instances(empty_world(), evolve(host, consumer="team"), grant)
        head, *rows = (await typed_beside(capsys, "instances", "--socket", tmp_path / "s")).out.splitlines()
    assert head.split()[5] == "for"
    assert [row.split()[5] for row in rows] == ["team", "-"]


def test_a_request_tells_how_much_of_what(capsys: pytest.CaptureFixture[str]) -> None:
    common: dict[str, object] = {
        "state": "taken", "since": "2030-03-17T17:45:10Z", "planned_at": "2030-03-17T17:45:00Z", "provider": "east",
        "template": "small", "problems": [], "reason": None, "kind": "acquire",
    }  # fmt: skip
    rows = [
        {**common, "id": "rq-1", "thing": "host", "units": 1},
        {**common, "id": "rq-2", "thing": "host", "units": 2},
        {**common, "id": "rq-3", "thing": "grant", "units": 10},
        {**common, "id": "rt-4", "kind": "return", "template": None, "units": 3},
    ]
    look.print_requests({"requests": rows})
    said = capsys.readouterr().out
    for told in ("acquire 1 host ", "acquire 2 hosts", "acquire 10 units", "return 3", "03-17 17:45:10"):
        assert told in said


def test_a_time_of_today_needs_no_date() -> None:
    assert clock_text("2030-03-17T17:45:10.5Z", today="2030-03-17") == "17:45:10"
    assert clock_text("2030-03-17T17:45:10.5Z", today="2030-03-18") == "03-17 17:45:10"
    assert clock_text(None) is None


def test_one_is_no_plural() -> None:
    assert [count_text(n, "host") for n in (0, 1, 2)] == ["0 hosts", "1 host", "2 hosts"]
