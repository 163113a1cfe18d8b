"""What the simulated cloud serves beyond the methods a provider must have: quotes, later ends, changes, progress."""

from pathlib import Path

import pytest

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import (
    DescribeParams,
    ExtendedItem,
    ExtendItem,
    ExtendParams,
    QuoteParams,
    QuoteResult,
)
from provider_sdk.contract.times import format_time, parse_time
from provider_sdk.contract.words import ErrorClass, InstanceState, Outcome
from tests.providers.simulated.stage import Stage

HOLD_S = 100


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, hold={"max": f"{HOLD_S}s"}, faults={"prices": {"omit": ["c6i.xlarge"]}}, fulfil_time=0)


def quote(stage: Stage, units: int = 2, template: str = "c6i.large", **more: int) -> QuoteResult:
    """Ask for a price."""
    return stage.provider.quote(QuoteParams(template, units, **more))


def refused(stage: Stage, **purchase: object) -> ErrorClass:
    """Why a purchase is refused."""
    with pytest.raises(ContractError) as caught:
        stage.buy(**purchase)  # type: ignore[arg-type]
    assert caught.value.data.outcome is Outcome.NOT_MADE
    return caught.value.error_class


def extend(stage: Stage, *items: tuple[str, float]) -> tuple[ExtendedItem, ...]:
    """Put ends off to these times."""
    wanted = tuple(ExtendItem(name, format_time(until)) for name, until in items)
    return stage.provider.extend(ExtendParams(wanted, 7, 100.0), stage.call("extend")).items


def test_qt_1_a_quote_costs_nothing_and_tells_a_price_that_is_not_described(stage: Stage) -> None:
    told = {t.template: t.price for t in stage.provider.describe(DescribeParams()).templates}
    assert told["c6i.xlarge"] is None
    found = quote(stage, template="c6i.xlarge")
    assert (found.units, found.price.currency, found.held) == (2, "USD", False)
    assert parse_time(found.valid_until) == stage.at_ms / 1000 + 60
    assert not stage.list().instances


def test_qt_2_a_quote_is_used_once_and_the_same_purchase_again_is_still_the_same(stage: Stage) -> None:
    found = quote(stage)
    bought = stage.buy(units=2, quote=found.quote)
    assert len(bought.instances) == 2
    assert stage.buy(units=2, quote=found.quote) == bought
    assert refused(stage, token="tk-2", units=2, quote=found.quote) is ErrorClass.QUOTE_GONE


@pytest.mark.parametrize("wrong", [{"units": 3}, {"template": "c6i.xlarge"}, {"quote": "never-given"}, {"late": True}])
def test_qt_2_a_quote_is_gone_for_anything_it_was_not_given_for(stage: Stage, wrong: dict[str, object]) -> None:
    found = quote(stage)
    if wrong.pop("late", False):
        stage.pass_s(61)
    assert refused(stage, **{"units": 2, "quote": found.quote, **wrong}) is ErrorClass.QUOTE_GONE


def test_qt_1_quotes_are_lost_with_the_process(stage: Stage) -> None:
    found = quote(stage)
    assert refused(stage.again(), units=2, quote=found.quote) is ErrorClass.QUOTE_GONE


def test_no_more_is_quoted_than_there_is_and_nothing_for_what_is_not_for_sale(stage: Stage) -> None:
    assert quote(stage, units=50, template="seats").units == 20
    stage.buy(template="seats", units=18)
    assert quote(stage, units=50, template="seats").units == 2
    for asked, error_class in (
        ({"units": 50, "template": "seats", "min_units": 3}, ErrorClass.NO_CAPACITY),
        ({"template": "none-such"}, ErrorClass.UNKNOWN_TEMPLATE),
    ):
        with pytest.raises(ContractError) as caught:
            quote(stage, **asked)
        assert caught.value.error_class is error_class


def test_xt_1_an_end_is_put_off_and_never_comes_nearer_and_what_is_gone_is_not_found(stage: Stage) -> None:
    name = stage.buy().instances[0].instance
    begun = stage.at_ms / 1000
    [far] = extend(stage, (name, begun + 500))
    [near] = extend(stage, (name, begun + 200))
    assert far.expires_at == near.expires_at == format_time(begun + 500)
    stage.pass_s(HOLD_S + 10)
    [kept] = stage.list().instances
    assert (kept.state, kept.expires_at) == (InstanceState.RUNNING, far.expires_at)
    stage.pass_s(400)
    [gone, never] = extend(stage, (name, begun + 900), ("never-was", begun + 900))
    assert gone.problem is not None and gone.problem.error_class is ErrorClass.NOT_FOUND  # noqa: PT018
    assert never.problem is not None and never.problem.error_class is ErrorClass.NOT_FOUND  # noqa: PT018


def test_an_open_purchase_tells_how_far_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fulfil_time="40s")
    report = stage.buy(units=2)
    assert report.progress is not None
    assert (report.outcome, report.progress.phase, report.progress.eta_s) == (Outcome.PENDING, "0 of 2 made", 40)
    stage.pass_s(41)
    [settled] = stage.status("tk-1")
    assert (settled.outcome, settled.progress) == (Outcome.MADE, None)
