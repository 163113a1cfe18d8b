import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.polling import poll_after_s


@pytest.mark.parametrize(
    ("waited_s", "expected_s", "pause_s"),
    [
        (0, None, 5),
        (40, None, 10),
        (10_000, None, 60),
        (0, 30, 30),
        (20, 30, 10),
        (28, 30, 5),
        (30, 30, 8),
        (0, 2_400, 60),
    ],
)
def test_the_first_question_comes_when_it_should_be_there_and_later_ones_ever_more_seldom(
    waited_s: float, expected_s: float | None, pause_s: int
) -> None:
    assert poll_after_s(waited_s, expected_s=expected_s) == pause_s


@given(st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
def test_a_pause_is_never_shorter_or_longer_than_allowed(waited_s: float, expected_s: float | None) -> None:
    assert 5 <= poll_after_s(waited_s, expected_s=expected_s) <= 60
    assert 10 <= poll_after_s(waited_s, expected_s=expected_s, first_s=10, most_s=600) <= 600
