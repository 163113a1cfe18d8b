"""Errors: §6 and RQ-5."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.contract import (
    CLASSES,
    CODES,
    IMPLY_NOT_MADE,
    BadShape,
    ContractError,
    ErrorClass,
    ErrorData,
    Outcome,
    ParamFault,
    PingResult,
    RequestParams,
    bad_params,
    decode,
    outcome_of,
    read_error,
    write_error,
)
from tests.contract import schemas
from tests.contract.strategies import values


def test_codes_and_classes_are_one_to_one() -> None:
    assert {code: name for name, code in CODES.items()} == CLASSES
    assert set(CODES) == set(ErrorClass)


@pytest.mark.parametrize("error_class", list(ErrorClass))
def test_an_error_written_is_accepted_by_the_schema_and_read_as_the_same_class(error_class: ErrorClass) -> None:
    wire = write_error(ContractError(error_class, "why", retry_after_s=3))
    assert schemas.accepts("error", wire)
    read = read_error(wire)
    assert (read.error_class, read.detail, read.retry_after_s) == (error_class, "why", 3)


@pytest.mark.parametrize("error_class", list(ErrorClass))
def test_rq_5_without_an_outcome_only_the_marked_classes_say_that_nothing_was_made(error_class: ErrorClass) -> None:
    expected = Outcome.NOT_MADE if error_class in IMPLY_NOT_MADE else Outcome.UNKNOWN
    assert outcome_of(ErrorData(error_class)) is expected
    assert read_error({"code": CODES[error_class], "data": {"error_class": error_class.value}}).outcome is expected
    assert read_error({"code": CODES[error_class]}).outcome is expected


@pytest.mark.parametrize("outcome", list(Outcome))
def test_rq_5_an_outcome_that_is_said_stands_against_what_the_class_implies(outcome: Outcome) -> None:
    for name in ("fenced", "internal"):
        assert read_error({"code": 1, "data": {"error_class": name, "outcome": outcome.value}}).outcome is outcome


@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        ({"code": 1001}, ErrorClass.NO_CAPACITY),
        ({"code": 1001, "data": None}, ErrorClass.NO_CAPACITY),
        ({"code": 1001, "data": {"error_class": "quota"}}, ErrorClass.QUOTA),
        ({"code": 1001, "data": {"error_class": "too_hot"}}, ErrorClass.NO_CAPACITY),
        ({"code": 5, "data": {"error_class": "quota"}}, ErrorClass.QUOTA),
        ({"code": 5, "data": {"error_class": "too_hot"}}, ErrorClass.TRANSIENT),
        ({"code": True}, ErrorClass.TRANSIENT),
        ({"code": "1001"}, ErrorClass.TRANSIENT),
        ({}, ErrorClass.TRANSIENT),
        ({"code": -32000, "message": "Server error"}, ErrorClass.TRANSIENT),
    ],
)
def test_the_class_decides_then_the_code_and_both_unknown_are_transient(
    error: dict[str, object], error_class: ErrorClass
) -> None:
    assert read_error(error).error_class is error_class


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32602, "data": {"error_class": "internal"}},
        {"code": 1008, "data": {"error_class": "fenced"}},
        {"code": -32602, "data": {"error_class": "new_in_2_1"}},
        {"code": -32602, "data": {"error_class": "bad_params", "outcome": 5}},
        {"code": -32602, "data": {"error_class": "bad_params", "outcome": "half_made"}},
    ],
)
def test_rq_5_code_and_class_at_odds_or_an_unreadable_outcome_imply_nothing(error: dict[str, object]) -> None:
    assert read_error(error).outcome is Outcome.UNKNOWN


def test_unreadable_parts_of_an_error_count_as_not_stated_and_the_rest_is_kept() -> None:
    data = {"error_class": "throttled", "retry_after_s": "8", "detail": "slow down", "scope": {"template": "no good"}}
    assert read_error({"code": 1002, "data": data}) == ErrorData(
        ErrorClass.THROTTLED, outcome=Outcome.UNKNOWN, detail="slow down"
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_PARTS = ["error_class", "outcome", "scope", "retry_after_s", "reason", "limit", "faults", "supported", "detail"]


@given(_JSON, st.dictionaries(st.sampled_from(_PARTS), _JSON) | _JSON)
def test_no_error_object_is_too_broken_to_be_read(code: object, data: object) -> None:
    assert read_error({"code": code, "data": data}).outcome is not None


@given(values(ErrorData))
def test_all_that_an_error_says_survives_the_wire(data: ErrorData) -> None:
    error = ContractError(data.error_class)
    error.data = data
    read = read_error(write_error(error))
    assert read.outcome is outcome_of(data)
    assert (read.scope, read.limit, read.detail) == (data.scope, data.limit, data.detail)


def test_bad_params_carries_the_faults_and_fits_the_schema() -> None:
    with pytest.raises(BadShape) as refused:
        decode(RequestParams, {"request_id": "A", "units": 0, "x/y~": 1})
    error = bad_params(refused.value)
    assert ParamFault("/token", "is required") in error.data.faults
    assert {fault.path for fault in error.data.faults} >= {"/request_id", "/units", "/mark", "/epoch"}
    assert schemas.accepts("error", write_error(error))


def test_bad_params_of_a_thousand_faults_still_fits_the_schema() -> None:
    bad = BadShape([ParamFault("/" + "x" * 5000, "is required")] * 5000)
    assert schemas.accepts("error", write_error(bad_params(bad)))


def test_a_fault_never_repeats_the_value_that_was_wrong() -> None:
    with pytest.raises(BadShape) as refused:
        decode(PingResult, {"health": "hunter2", "problem": {"error_class": 5, "reason": "hunter2" * 20}})
    assert "hunter2" not in str(refused.value)
    assert "hunter2" not in repr(refused.value.faults)
