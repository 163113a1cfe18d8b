"""A field that makes no sense never hides a thing that costs money."""

from typing import Any

import pytest

from provider_sdk.contract import BadShape, ListResult, Report, RequestStatusResult, decode
from provisioner.edge.salvage import Salvaged, salvaged

GOOD: dict[str, Any] = {"instance": "i-1", "units": 1, "state": "running"}
BAD: dict[str, Any] = {"instance": "i-2", "units": -4, "state": "running", "name": "n2", "made_at": "yesterday"}
NAMELESS: dict[str, Any] = {"instance": "", "units": 1, "state": "running"}


def report(*instances: object) -> dict[str, Any]:
    """A report on one purchase as it came over the wire."""
    return {"request_id": "rq-1", "token": "tk-1", "outcome": "made", "instances": list(instances)}


def kept(cls: type[object], raw: dict[str, Any]) -> Salvaged:
    """What is kept of an answer that can't be read whole."""
    with pytest.raises(BadShape):
        decode(cls, raw)
    found = salvaged(cls, raw)
    assert found is not None
    return found


def test_what_can_be_read_of_an_instance_is_kept_and_what_was_cut_is_told() -> None:
    found = kept(Report, report(GOOD, BAD))
    one, two = decode(Report, found.answer).instances
    assert (one.instance, two.instance, two.units, two.state, two.name) == ("i-1", "i-2", 1, "running", "n2")
    assert two.made_at is None
    assert len(found.faults) == 1
    assert "i-2" in found.faults[0]


def test_an_answer_that_can_be_read_whole_is_left_alone() -> None:
    assert salvaged(Report, report(GOOD)) is None


def test_a_thing_without_a_readable_id_is_counted_as_lost() -> None:
    found = kept(Report, report(GOOD, NAMELESS, 7))
    assert (len(decode(Report, found.answer).instances), found.lost) == (1, 2)


def test_a_list_that_lost_a_thing_proves_nothing() -> None:
    raw = {"instances": [GOOD, NAMELESS], "age_s": 0, "complete": True}
    listed = decode(ListResult, kept(ListResult, raw).answer)
    assert [i.instance for i in listed.instances] == ["i-1"]
    assert not listed.complete


def test_a_list_in_which_all_ids_can_be_read_stays_complete() -> None:
    raw = {"instances": [GOOD, BAD], "age_s": 0, "complete": True}
    assert decode(ListResult, kept(ListResult, raw).answer).complete


def test_of_several_reports_only_the_one_that_lost_a_thing_is_asked_for_again() -> None:
    other = {**report(NAMELESS), "request_id": "rq-2", "token": "tk-2"}
    found = kept(RequestStatusResult, {"requests": [report(BAD), other]})
    assert [r.request_id for r in decode(RequestStatusResult, found.answer).requests] == ["rq-1"]


@pytest.mark.parametrize("raw", [{}, {"instances": 5}, {"requests": None}, {"requests": [3]}])
def test_what_lists_no_instances_can_not_be_salvaged(raw: dict[str, Any]) -> None:
    assert all(salvaged(cls, raw) is None for cls in (Report, ListResult, RequestStatusResult))
