"""The kit's own rules on single lines, reports, times and verdicts; no process is started."""

from xml.etree import ElementTree as Xml

import pytest

from provider_sdk.contract import Instance, InstanceState, Junk, ListResult, Outcome, Report, read_line
from provider_sdk.testing import as_junit, as_text
from provider_sdk.testing import verdict as verdicts
from provider_sdk.testing.hint_rate import CHANGED_MOST, HintRate
from provider_sdk.testing.ledger import Ledger
from provider_sdk.testing.manifest import requirements
from provider_sdk.testing.verdict import Broken, Finding, Status, judge
from provider_sdk.testing.wire_rules import extra_fields, of_error, of_line, of_result
from provisioner.cli.conformance import conformance


def report(outcome: Outcome, *names: str) -> Report:
    things = tuple(Instance(instance=name, units=1, state=InstanceState.RUNNING, template="t") for name in names)
    return Report("rq-1", "tk-1", outcome, things)


def clauses(found: list[Broken]) -> list[str | None]:
    return [each.clause for each in found]


@pytest.mark.parametrize(
    ("line", "clause"),
    [
        (b"Loading modules", "FR-4"),
        (b"17", "FR-4"),
        (b'[{"jsonrpc":"2.0"}]', "FR-2"),
        (b'{"a":1,"a":2}', "FR-2"),
        (b'{"a": NaN}', "FR-2"),
        (b"\xff\xfe", "FR-1"),
        (b'\xef\xbb\xbf{"a":1}', "FR-1"),
    ],
)
def test_a_line_that_is_no_frame_breaks_the_clause_that_forbids_it(line: bytes, clause: str) -> None:
    junk = read_line(line)
    assert isinstance(junk, Junk)
    assert of_line(junk).clause == clause


def test_a_code_that_is_not_its_classs_is_found_and_a_bare_known_code_is_not() -> None:
    twin = {"error": {"code": 1013, "message": "x", "data": {"error_class": "cursor_gone"}}}
    odd = {"error": {"code": 1012, "message": "x", "data": {"error_class": "cursor_gone"}}}
    bare = {"error": {"code": -32601, "message": "x"}}
    assert clauses(list(of_error(twin, ""))) == []
    assert clauses(list(of_error(odd, ""))) == ["ER-1"]
    assert clauses(list(of_error(bare, ""))) == []


def test_complete_on_a_page_with_a_next_one_or_missing_places_is_found() -> None:
    page = {"instances": [], "age_s": 0, "complete": True}
    assert clauses(list(of_result("list", {"result": page}, "", strict=False))) == []
    more = {**page, "next": "c"}
    assert clauses(list(of_result("list", {"result": more}, "", strict=False))) == ["LS-3"]
    holes = {**page, "missing_places": [{"zone": "a"}]}
    assert clauses(list(of_result("list", {"result": holes}, "", strict=False))) == ["LS-5"]


def test_extra_fields_are_found_wherever_they_stand_and_free_maps_are_left_alone() -> None:
    thing = {"instance": "i", "units": 1, "state": "running", "template": "t", "colour": 1, "access": {"FREE": "x"}}
    page = {"instances": [thing], "age_s": 0, "complete": True, "x-site": 1, "later": 2}
    assert list(extra_fields(ListResult, page)) == ["/instances/0/colour", "/later"]


def test_the_ledger_finds_changed_outcomes_lost_instances_and_ids_used_twice() -> None:
    ledger = Ledger()
    ledger.asked("tk-1", 1)
    assert list(ledger.reported(report(Outcome.PENDING, "a"))) == []
    assert list(ledger.reported(report(Outcome.MADE, "a"))) == []
    assert clauses(list(ledger.reported(report(Outcome.UNKNOWN, "a")))) == ["RP-1"]
    assert clauses(list(ledger.reported(report(Outcome.MADE)))) == ["RP-2"]
    other = Report("rq-2", "tk-2", Outcome.MADE, report(Outcome.MADE, "a").instances)
    assert clauses(list(ledger.reported(other))) == ["IN-1"]


def test_the_ledger_finds_what_is_a_whole_instance_above_the_order() -> None:
    ledger = Ledger()
    ledger.asked("tk-1", 1)
    assert clauses(list(ledger.reported(report(Outcome.MADE, "a", "b")))) == ["RQ-6"]


def test_merged_hints_are_fine_and_a_flood_is_found() -> None:
    calm, flood = HintRate(), HintRate()
    assert [found for second in range(60) for found in calm.came("changed", ("instances",), float(second))] == []
    found = [one for _ in range(CHANGED_MOST + 1) for one in flood.came("changed", ("instances",), 0.0)]
    assert clauses(found) == ["NT-2"]


def test_a_clause_is_kept_if_one_check_saw_it_and_broken_if_one_found_it_so() -> None:
    clause = requirements()["FR-1"]
    passed, skipped = Finding("FR-1", "a", Status.PASS), Finding("FR-1", "b", Status.SKIPPED, "why")
    assert judge(clause, [], [skipped, passed]).status is Status.PASS
    assert judge(clause, [], [skipped]).notes == ("why",)
    breach = Broken("FR-1", "this", "that").breach("a", "FR-1")
    assert judge(clause, [breach], [passed]).status is Status.FAIL
    assert judge(requirements()["FR-7"], [], []).status is Status.UNSEEN


def test_a_report_with_odd_characters_is_still_xml() -> None:
    breach = Broken("FR-1", "no <control> & such", "\x00\x1b[31m\ufffe").breach("a", "FR-1")
    verdict = judge(requirements()["FR-1"], [breach], [])
    outcome = verdicts.Outcome(("cmd",), "p 1", (verdict,), 1.0)
    parsed = Xml.fromstring(as_junit(outcome))  # noqa: S314 - our own text
    assert parsed[0][0][0].get("message") == "no <control> & such"
    assert "FAIL      FR-1" in as_text(outcome)


def test_the_command_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance([]) == 2
    assert "provisioner conformance: no command" in capsys.readouterr().err
    assert conformance(["--help"]) == 0
