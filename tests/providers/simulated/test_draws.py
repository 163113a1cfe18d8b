"""Chance that repeats itself."""

from hypothesis import given
from hypothesis import strategies as st

from providers.simulated.draws import Shape, Spread, exponential_ms, fraction


@given(st.integers(0, 10**9), st.text(max_size=40), st.integers(0, 1000))
def test_a_draw_lies_inside_and_repeats(seed: int, token: str, number: int) -> None:
    drawn = fraction(seed, token, number)
    assert 0 < drawn < 1
    assert drawn == fraction(seed, token, number)


def test_draws_are_spread_evenly() -> None:
    drawn = [fraction(7, "token", number) for number in range(4000)]
    assert abs(sum(drawn) / len(drawn) - 0.5) < 0.02
    assert 0.22 < sum(1 for value in drawn if value < 0.25) / len(drawn) < 0.28


def test_parts_do_not_run_into_each_other() -> None:
    assert fraction(1, "ab", "c") != fraction(1, "a", "bc")


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.sampled_from(("fixed", "uniform", "lognormal")),
    st.floats(0.0001, 0.9999),
)
def test_no_duration_is_negative_or_longer_than_the_worst(typical: int, more: int, shape: Shape, at: float) -> None:
    assert 0 <= Spread(typical, typical + more, shape).draw_ms(at) <= typical + more


def test_the_typical_duration_is_the_median_of_each_shape() -> None:
    for shape in ("fixed", "uniform", "lognormal"):
        assert Spread(3000, 8000, shape).draw_ms(0.5) in range(2990, 4001 if shape == "uniform" else 3011)


def test_a_lognormal_duration_reaches_the_worst_once_in_a_hundred() -> None:
    drawn = [Spread(3000, 8000, "lognormal").draw_ms(fraction(1, number)) for number in range(5000)]
    at_worst = sum(1 for value in drawn if value >= 7990)
    assert 20 <= at_worst <= 100


def test_events_come_on_average_as_often_as_said() -> None:
    drawn = [exponential_ms(100, fraction(3, number)) for number in range(5000)]
    assert 95_000 < sum(drawn) / len(drawn) < 105_000
