"""What an instance costs follows from its own record."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from provisioner.core.costs import billed_from, cost_nanos, hourly_nanos, paid_until, total_nanos
from provisioner.core.facts import InstanceFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import Billing, BillingEnd, BillingStart, Kind, Per, Price, Terms
from provisioner.core.money import billable_s, decimal_text, hourly_cost_nanos, nanos_of

DOLLAR = 1_000_000_000


HOURLY = Price(DOLLAR, "USD", Per.HOUR)


def host(price: Price | None = HOURLY, **billing: object) -> InstanceFact:
    """A host asked for at 0, made at 10, running at 60, gone at 3,660."""
    return InstanceFact(
        id="in-1",
        provider="east",
        provider_id="i-1",
        kind=Kind.HOST,
        template="small",
        token="tk-1",
        request="rq-1",
        units=1,
        units_made=1,
        consumer="default",
        shares=(),
        terms=Terms(price=price, billing=Billing(**billing)),  # type: ignore[arg-type]
        requested_at=0.0,
        made_at=10.0,
        state=InstanceState.GONE,
        state_at=3_660.0,
        running_at=60.0,
        return_accepted_at=3_600.0,
        gone_at=3_660.0,
    )


@pytest.mark.parametrize(
    ("starts", "ends", "seconds"),
    [
        (BillingStart.REQUESTED, BillingEnd.GONE, 3_660),
        (BillingStart.MADE, BillingEnd.GONE, 3_650),
        (BillingStart.RUNNING, BillingEnd.GONE, 3_600),
        (BillingStart.RUNNING, BillingEnd.RETURN_ACCEPTED, 3_540),
    ],
)
def test_time_is_charged_from_and_until_what_the_terms_say(
    starts: BillingStart, ends: BillingEnd, seconds: int
) -> None:
    assert cost_nanos(host(starts=starts, ends=ends), 9e9) == hourly_cost_nanos(DOLLAR, 1, seconds)


def test_whole_quanta_and_the_minimum_are_charged() -> None:
    assert cost_nanos(host(quantum_s=3_600), 9e9) == 2 * DOLLAR
    assert cost_nanos(host(minimum_s=7_200), 9e9) == 2 * DOLLAR


def test_the_providers_own_times_and_final_sum_win() -> None:
    assert cost_nanos(evolve(host(), billed_from=60.0, billed_until=120.0), 9e9) == hourly_cost_nanos(DOLLAR, 1, 60)
    assert cost_nanos(evolve(host(), charged_nanos=42), 9e9) == 42


def test_a_final_sum_does_not_count_while_the_thing_is_not_gone() -> None:
    living = evolve(host(), state=InstanceState.RUNNING, gone_at=None, charged_nanos=42)
    assert cost_nanos(living, 3_600.0) == DOLLAR


def test_what_never_ran_costs_nothing_where_running_is_charged() -> None:
    assert cost_nanos(evolve(host(starts=BillingStart.RUNNING), running_at=None), 9e9) == 0


def test_an_unknown_price_is_not_zero_and_is_left_out_of_sums() -> None:
    assert cost_nanos(host(price=None), 9e9) is None
    assert total_nanos([host(price=None), host()], 9e9) == cost_nanos(host(), 9e9)


def test_units_are_charged_for_unit_prices_and_once_besides() -> None:
    grant = evolve(host(price=Price(DOLLAR, "USD", Per.UNIT_HOUR, once_nanos=5)), units_made=4, units=4)
    assert cost_nanos(grant, 9e9) == hourly_cost_nanos(DOLLAR, 4, 3_660) + 5
    assert hourly_nanos(evolve(grant, state=InstanceState.RUNNING)) == 4 * DOLLAR


def test_charging_that_has_not_begun_has_no_paid_time() -> None:
    waiting = evolve(host(starts=BillingStart.RUNNING), running_at=None, state=InstanceState.BOOTING)
    assert billed_from(waiting) is None
    assert paid_until(waiting, 100.0) is None


@given(st.integers(0, 10**18), st.integers(0, 1000), st.floats(0, 10**7))
def test_cost_is_rounded_up_and_never_by_more_than_a_millisecond_and_a_nano(
    price: int, units: int, seconds: float
) -> None:
    exact_ms = int(seconds * 1000)
    got = hourly_cost_nanos(price, units, seconds)
    assert got * 3_600_000 >= price * units * exact_ms
    assert got <= price * units * (exact_ms + 1) // 3_600_000 + 1


@given(st.floats(0, 10**6), st.integers(1, 10_000), st.integers(0, 10_000))
def test_charged_time_is_never_less_than_lived_time(seconds: float, quantum: int, minimum: int) -> None:
    charged = billable_s(seconds, quantum, minimum)
    assert charged >= seconds
    assert charged >= minimum
    assert charged - quantum < max(seconds, minimum)


@given(st.integers(0, 10**24))
def test_decimal_text_and_back_loses_nothing(nanos: int) -> None:
    assert nanos_of(decimal_text(nanos)) == nanos


@pytest.mark.parametrize("text", ["", "1.", "-1", "1e3", " 1", "1,5", "0x1"])
def test_what_is_no_plain_decimal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a plain decimal"):
        nanos_of(text)
