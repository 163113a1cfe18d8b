import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.edge.rest_times import read_time, time_text


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-01-02T03:04:05Z", 1_767_323_045.0),
        ("2026-01-02t03:04:05z", 1_767_323_045.0),
        ("2026-01-02 03:04:05Z", 1_767_323_045.0),
        ("2026-01-02T05:34:05+02:30", 1_767_323_045.0),
        ("2026-01-01T22:04:05-05:00", 1_767_323_045.0),
        ("2026-01-02T03:04:05.25Z", 1_767_323_045.25),
        ("2026-01-02T03:04:05.123456789Z", 1_767_323_045.123456789),
    ],
)
def test_a_time_with_any_offset_is_read(text: str, at: float) -> None:
    assert read_time(text) == at


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", "2026-01-02T25:04:05Z",
     "1969-12-31T23:59:59Z", "2026-01-02T03:04:05+25:00", "3000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00",
     "2026-01-02T03:04:60Z"],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    assert read_time(text) is None


@given(st.integers(0, 32_503_679_999_999))
def test_what_is_written_is_read_again_to_the_millisecond(millis: int) -> None:
    text = time_text(millis / 1000)
    assert text is not None
    assert read_time(text) == pytest.approx(millis / 1000, abs=0.0005)
    assert text.endswith("Z")


@given(st.text(max_size=40))
def test_arbitrary_text_never_fails(text: str) -> None:
    assert read_time(text) is None or read_time(text) is not None
