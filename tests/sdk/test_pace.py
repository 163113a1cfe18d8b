import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.pace import Pace


def pace(**more: float) -> Pace:
    return Pace(**{"per_s": 10.0, "burst": 5.0, "least_per_s": 1.0, "gain_per_s": 1.0, **more})


def drained(**more: float) -> Pace:
    """A pace whose burst is used up at time 0."""
    found = pace(**more)
    while found.wait_s(0.0) == 0:
        found.take(0.0)
    return found


def test_a_burst_goes_at_once_and_then_one_each_tenth_of_a_second() -> None:
    found = pace(gain_per_s=0.0)
    gone = 0
    while found.wait_s(0.0) == 0:
        found.take(0.0)
        gone += 1
    assert gone == 5
    assert found.wait_s(0.0) == pytest.approx(0.1)
    assert found.wait_s(0.1) == 0.0


def test_throttled_halves_the_rate_and_empties_the_burst_down_to_the_least() -> None:
    found = pace()
    for number in range(10):
        found.throttled(float(number), taken_at=number - 0.01)
    assert found.rate_per_s == 1.0
    assert found.wait_s(9.0) == pytest.approx(1.0)


def test_calls_already_under_way_when_the_rate_was_halved_do_not_halve_it_again() -> None:
    found = pace()
    for taken_at in (0.1, 0.2, 0.3):
        found.throttled(1.0, taken_at=taken_at)
    assert found.rate_per_s == 5.0
    found.throttled(2.0, taken_at=1.5)
    assert found.rate_per_s == 2.5


def test_nothing_goes_before_the_far_side_said_it_may_and_nothing_is_saved_up_meanwhile() -> None:
    found = drained()
    found.throttled(0.0, taken_at=-1.0, retry_after_s=30.0)
    assert found.wait_s(0.0) == 30.0
    assert found.wait_s(30.0) == pytest.approx(0.2)


def test_used_to_the_full_the_rate_grows_by_the_gain_each_second_up_to_the_most() -> None:
    found = drained()
    found.throttled(0.0, taken_at=-1.0)
    now = 0.0
    while now < 2.0:
        now += found.wait_s(now)
        found.take(now)
    assert found.rate_per_s == pytest.approx(7.0, abs=0.4)
    while now < 20.0:
        now += found.wait_s(now)
        found.take(now)
    assert found.rate_per_s == 10.0


def test_a_clock_that_steps_back_gives_nothing_twice() -> None:
    found = drained(gain_per_s=0.0)
    assert found.wait_s(-100.0) > 0
    assert found.wait_s(0.0) > 0


@given(st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=60))
def test_never_more_goes_than_a_burst_and_the_full_rate_whatever_happens(steps: list[tuple[float, bool]]) -> None:
    found, now, gone = pace(), 0.0, 0
    for pause_s, is_refused in steps:
        now += pause_s
        while found.wait_s(now) == 0:
            found.take(now)
            gone += 1
        if is_refused:
            found.throttled(now, taken_at=now)
        assert gone <= 5 + now * 10 + 1e-6


@pytest.mark.parametrize("wrong", [{"burst": 0.5}, {"least_per_s": 0.0}, {"least_per_s": 11.0}, {"gain_per_s": -1.0}])
def test_a_pace_that_could_never_go_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a pace needs"):
        pace(**wrong)
