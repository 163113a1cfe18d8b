"""An instance's state and cost as functions of stored times."""

from typing import Any

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from providers.simulated.lives import (
    NEVER,
    Life,
    Release,
    billed_from_ms,
    billed_until_ms,
    charge_nanos,
    reason_at,
    state_at,
    units_at,
)
from providers.simulated.offers import Billing, Price, Terms

USD_A_SECOND = 3600 * 10**9
LIFE = Life(units=1, requested_ms=0, made_ms=1000, ready_ms=4000)
RETURNED = evolve(LIFE, releases=(Release(1, 10_000, 12_000),))


def terms(price: Price | None = None, **billing: Any) -> Terms:
    return Terms(
        template="t",
        kind="host",
        unit="machine",
        attributes={},
        place={},
        price=price or Price(USD_A_SECOND),
        model="on_demand",
        billing=Billing(**billing),
    )


def test_a_host_boots_runs_is_returned_and_goes() -> None:
    states = [state_at(RETURNED, at) for at in (1000, 3999, 4000, 9999, 10_000, 11_999, 12_000)]
    assert states == ["booting", "booting", "running", "running", "returning", "returning", "gone"]
    assert reason_at(RETURNED, 12_000) == "returned"


def test_a_machine_that_never_comes_up_is_failed_from_the_moment_it_should_run() -> None:
    life = evolve(LIFE, boot_fails=True)
    assert (state_at(life, 3999), state_at(life, 4000)) == ("booting", "failed")


def test_what_the_far_side_takes_is_gone_with_its_reason() -> None:
    reclaimed = evolve(LIFE, notice_ms=5000, reclaim_ms=7000, expires_ms=9000)
    assert state_at(reclaimed, 6999) == "running"
    assert (state_at(reclaimed, 7000), reason_at(reclaimed, 7000)) == ("gone", "reclaimed by the cloud")
    assert reason_at(evolve(reclaimed, reclaim_ms=NEVER), 9000) == "expired"


def test_a_thing_reclaimed_while_it_is_being_returned_ends_at_the_earlier_moment() -> None:
    life = evolve(RETURNED, reclaim_ms=11_000)
    assert life.gone_ms == 11_000
    assert reason_at(life, 11_000) == "reclaimed by the cloud"


def test_units_of_a_grant_fall_with_each_release() -> None:
    grant = Life(units=10, requested_ms=0, made_ms=0, ready_ms=0, releases=(Release(4, 100, 200), Release(6, 300, 300)))
    assert [units_at(grant, at) for at in (0, 199, 200, 299, 300)] == [10, 10, 6, 6, 0]


def test_the_charge_runs_from_running_to_gone() -> None:
    assert charge_nanos(RETURNED, terms(), 3999) == 0
    assert charge_nanos(RETURNED, terms(), 5000) == 1_000_000_000
    assert charge_nanos(RETURNED, terms(), 12_000) == 8_000_000_000
    assert charge_nanos(RETURNED, terms(), 99_000) == 8_000_000_000


def test_each_start_and_end_of_billing_moves_the_charge() -> None:
    def cost(**billing: Any) -> int:
        return charge_nanos(RETURNED, terms(**billing), 99_000) // 10**9

    assert cost(starts="requested") == 12
    assert cost(starts="made") == 11
    assert cost(ends="return_accepted") == 6


def test_quantum_and_minimum_are_rounded_up_to() -> None:
    assert charge_nanos(RETURNED, terms(quantum_s=60), 99_000) == 60 * 10**9
    assert charge_nanos(RETURNED, terms(minimum_s=3600), 99_000) == 3600 * 10**9
    assert billed_until_ms(RETURNED, terms(quantum_s=60)) == 64_000


def test_a_host_given_back_before_it_ran_costs_nothing_if_running_starts_the_charge() -> None:
    life = evolve(LIFE, releases=(Release(1, 2000, 5000),))
    assert billed_from_ms(life, terms()) == NEVER
    assert charge_nanos(life, terms(minimum_s=3600), 99_000) == 0
    assert charge_nanos(life, terms(starts="made"), 99_000) == 4 * 10**9


def test_units_given_back_are_paid_to_their_own_end() -> None:
    grant = Life(
        units=10, requested_ms=0, made_ms=0, ready_ms=0, releases=(Release(4, 1000, 1000), Release(6, 3000, 3000))
    )
    per_unit = terms(Price(USD_A_SECOND, per="unit_hour"))
    assert charge_nanos(grant, per_unit, 9000) == (4 * 1 + 6 * 3) * 10**9
    assert charge_nanos(grant, terms(Price(USD_A_SECOND, per="hour")), 9000) == 3 * 10**9


def test_a_price_per_purchase_is_paid_once_by_the_first_instance() -> None:
    once = terms(Price(5, per="purchase", once_nanos=2))
    assert charge_nanos(LIFE, once, 1000) == 7
    assert charge_nanos(evolve(LIFE, first_of_order=False), once, 1000) == 0


def test_a_fraction_of_a_nano_unit_is_rounded_up() -> None:
    assert charge_nanos(RETURNED, terms(Price(1)), 5000) == 1


@given(st.lists(st.integers(0, 100_000), min_size=2, max_size=6), st.integers(1, 100), st.integers(0, 100))
def test_a_charge_never_falls_as_time_passes(times: list[int], quantum: int, minimum: int) -> None:
    conditions = terms(quantum_s=quantum, minimum_s=minimum)
    charges = [charge_nanos(RETURNED, conditions, at) for at in sorted(times)]
    assert charges == sorted(charges)
