"""What a provider says reaches people whole, and numbers reach the core exactly."""

import pytest

from provider_sdk.contract import ErrorData, Report, Template, decode
from provider_sdk.contract.types import Instance
from provisioner.edge import from_provider


def error(**fields: object) -> ErrorData:
    """An error's data as it came over the wire."""
    return decode(ErrorData, fields)


def test_every_fault_of_a_refused_configuration_is_told() -> None:
    faults = [{"path": "/region", "detail": "is missing"}, {"path": "", "detail": "unknown key zon"}]
    problem = from_provider.problem(error(error_class="config", detail="two faults", faults=faults))
    assert problem.detail == "two faults; /region: is missing; /: unknown key zon"


def test_the_versions_a_provider_speaks_are_told() -> None:
    assert from_provider.problem(error(error_class="version", supported=["3.0", "3.1"])).detail == "it speaks 3.0, 3.1"


def test_a_provider_that_gives_no_detail_has_none() -> None:
    assert from_provider.problem(error(error_class="transient")).detail is None


@pytest.mark.parametrize(
    ("value", "thousandths"),
    [
        (2, 2_000),
        (0.5, 500),
        ({"value": 16, "unit": "GiB"}, 16 * 1024**3 * 1000),
        ({"value": 1, "unit": "Gbit/s"}, 125 * 10**9),
    ],
)
def test_numbers_become_thousandths_of_the_canonical_unit(value: object, thousandths: int) -> None:
    seen = decode(Instance, {"instance": "i-1", "units": 1, "state": "running", "attributes": {"memory": value}})
    assert from_provider.instance(seen).size == (("memory", thousandths),)


def test_words_become_labels_one_for_each_element_of_a_list() -> None:
    attributes = {"arch": "x86_64", "ecc": True, "zones": ["a", "b"]}
    seen = decode(Instance, {"instance": "i-1", "units": 1, "state": "running", "attributes": attributes})
    assert from_provider.instance(seen).labels == (("arch", "x86_64"), ("ecc", "true"), ("zones", "a"), ("zones", "b"))


def test_a_wait_that_a_provider_asks_for_counts_up_to_a_day() -> None:
    waiting = error(error_class="held", retry_after_s=2**53 - 1)
    assert from_provider.problem(waiting).retry_after_s == from_provider.WAIT_MOST_S
    assert from_provider.problem(error(error_class="held", retry_after_s=60)).retry_after_s == 60
    raw = {"request_id": "rq-1", "token": "tk-1", "outcome": "pending", "instances": [], "poll_after_s": 10**12}
    assert from_provider.report(decode(Report, raw)).poll_after_s == from_provider.WAIT_MOST_S


def test_times_of_a_template_count_up_to_ten_years() -> None:
    endless = 2**53 - 1
    raw = {
        "template": "t",
        "kind": "host",
        "unit": "machine",
        "attributes": {"cores": 2},
        "granularity": {"max_units": 1},
        "hold": {"min_s": endless, "max_s": endless},
        "billing": {"quantum_s": endless, "minimum_s": endless},
        "lead_time": {"typical_s": endless, "worst_s": endless},
        "notice_s": endless,
    }
    seen = from_provider.template(decode(Template, raw))
    times = (seen.hold_min_s, seen.hold_max_s, seen.lead_typical_s, seen.lead_worst_s, seen.notice_s)
    assert {*times, seen.billing.quantum_s, seen.billing.minimum_s} == {from_provider.SPAN_MOST_S}
