"""An answer is read as far as it can be; what can't be read is told, and proves nothing."""

from provider_sdk.contract import DescribeResult, ListResult, Report
from provisioner.core.events import Refusal
from provisioner.runtime.call_outcomes import Unreadable, decoded, report_of
from provisioner.runtime.supervision import Answered

GOOD = {"instance": "i-1", "units": 1, "state": "running"}
BAD = {"instance": "i-2", "units": -4, "state": "running"}


def test_a_report_with_a_senseless_field_still_names_what_was_made() -> None:
    told: list[str] = []
    raw = {"request_id": "rq-1", "token": "tk-1", "outcome": "made", "instances": [GOOD, BAD]}
    answer = decoded(Report, Answered(raw), told.append)
    assert isinstance(answer, Report)
    assert [i.instance for i in answer.instances] == ["i-1", "i-2"]
    assert "i-2" in told[0]


def test_a_report_that_lost_a_thing_is_not_understood() -> None:
    told: list[str] = []
    raw = {"request_id": "rq-1", "token": "tk-1", "outcome": "made", "instances": [GOOD, {"units": 1}]}
    answer = decoded(Report, Answered(raw), told.append)
    assert isinstance(answer, Unreadable)
    outcome = report_of(answer, "rq-1", "tk-1")
    assert isinstance(outcome, Refusal)
    assert not outcome.not_made
    assert told


def test_gr_2_a_thing_of_an_unknown_kind_is_in_its_list_which_proves_only_the_absence_of_others() -> None:
    raw = {"instances": [{**GOOD, "kind": "function"}], "age_s": 0, "complete": True}
    answer = decoded(ListResult, Answered(raw), lambda _: None)
    assert isinstance(answer, ListResult)
    assert ([i.instance for i in answer.instances], answer.complete) == (["i-1"], True)


def test_gr_2_a_template_of_an_unknown_kind_is_left_out_and_told() -> None:
    told: list[str] = []
    sizes = {"granularity": {"max_units": 1}, "lead_time": {"typical_s": 1, "worst_s": 2}}
    raw = {"revision": "r", "templates": [{"template": "t", "kind": "function", "unit": "call", **sizes}]}
    answer = decoded(DescribeResult, Answered(raw), told.append)
    assert isinstance(answer, DescribeResult)
    assert answer.templates == ()
    assert "/templates/0" in told[0]


def test_a_list_is_read_past_what_has_no_readable_id() -> None:
    raw = {"instances": [GOOD, {"units": 1}], "age_s": 0, "complete": True}
    answer = decoded(ListResult, Answered(raw), lambda _: None)
    assert isinstance(answer, ListResult)
    assert (len(answer.instances), answer.complete) == (1, False)
