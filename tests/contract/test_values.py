"""Times and amounts: §3."""

import calendar
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.contract import amount_to_nanos, format_time, nanos_to_amount, parse_time
from provider_sdk.contract.forms import TIME_PATTERN


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2031-03-04T17:58:12Z", 1930413492.0),
        ("2031-03-04T17:58:12.5Z", 1930413492.5),
        ("2031-03-04T17:58:12.125Z", 1930413492.125),
        ("2000-02-29T23:59:59.999Z", 951868799.999),
    ],
)
def test_a_time_is_read_and_written_in_its_shortest_form(text: str, at: float) -> None:
    assert parse_time(text) == at
    assert format_time(at) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2031-03-04",
        "2031-03-04T17:58:12",
        "2031-03-04t17:58:12Z",
        "2031-03-04 17:58:12Z",
        "0001-01-01T00:00:00Z",
        "2031-03-04T17:58:12+00:00",
        "2031-03-04T24:00:00Z",
        "2031-03-04T17:58:60Z",
        "2031-13-01T00:00:00Z",
        "2031-02-29T00:00:00Z",
        "2031-04-31T00:00:00Z",
        "2031-03-04T17:58:12.1234Z",
        "2031-03-04T17:58:12Z\n",
    ],
)
def test_what_is_no_time_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        parse_time(text)


def test_the_pattern_of_a_time_holds_the_calendar_day_by_day() -> None:
    pattern = re.compile(TIME_PATTERN)
    for year in (*range(1970, 2110), 2200, 2300, 2400, 2500, 2800, 2900, 2999):
        for month in range(14):
            days = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
            matched = [day for day in range(33) if pattern.match(f"{year}-{month:02d}-{day:02d}T00:00:00Z")]
            assert matched == list(range(1, days + 1))


@given(st.integers(0, 32_503_679_999_999))
def test_a_time_to_the_millisecond_survives_writing_and_reading(milliseconds: int) -> None:
    text = format_time(milliseconds / 1000)
    assert parse_time(text) == milliseconds / 1000
    assert datetime.fromisoformat(text) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize("at", [-1, 32_503_680_000, float("nan"), float("inf")])
def test_a_time_that_cannot_be_written_is_refused(at: float) -> None:
    with pytest.raises((ValueError, OverflowError)):
        format_time(at)


@pytest.mark.parametrize(
    ("amount", "nanos"),
    [
        ("0", 0),
        ("2.19", 2_190_000_000),
        ("0.000000001", 1),
        ("999999999999.999999999", 10**21 - 1),
        ("1.0", 10**9),
        ("0.0000000001", 1),
        ("0.0504000000", 50_400_000),
        ("0.10000000000001", 100_000_001),
    ],
)
def test_an_amount_is_read_exactly_and_rounded_up_past_the_ninth_decimal(amount: str, nanos: int) -> None:
    assert amount_to_nanos(amount) == nanos


@pytest.mark.parametrize(
    "amount", ["", "-1", "+1", "01", ".5", "1.", "1e3", "1,5", "NaN", "1000000000000", "1\n", "\u0661"]
)
def test_what_is_no_amount_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        amount_to_nanos(amount)


@given(st.integers(0, 10**21 - 1))
def test_nanos_survive_writing_and_reading_exactly(nanos: int) -> None:
    assert amount_to_nanos(nanos_to_amount(nanos)) == nanos


@pytest.mark.parametrize("nanos", [-1, 10**21])
def test_nanos_that_no_amount_can_say_are_refused(nanos: int) -> None:
    with pytest.raises(ValueError, match="an amount must be"):
        nanos_to_amount(nanos)
