"""Ordered faults of the far side, called in process, and which calls a rule strikes."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import evolve

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import DescribeParams
from provider_sdk.contract.types import Money
from provider_sdk.contract.words import ErrorClass, Outcome, Per
from providers.simulated import books
from providers.simulated.far_faults import CallCounter
from providers.simulated.faults import Rule, strikes
from tests.providers.simulated.stage import Stage


def ordered(folder: Path, *rules: Mapping[str, object]) -> Stage:
    return Stage(folder, faults={"calls": list(rules)})


def refusal(stage: Stage, token: str, **changes: object) -> ContractError:
    with pytest.raises(ContractError) as caught:
        stage.buy(token, **changes)  # type: ignore[arg-type]
    return caught.value


def test_a_rule_strikes_the_numbered_calls_over_restarts(tmp_path: Path) -> None:
    rule = {"on": "request", "do": "error", "calls": [2], "error_class": "throttled", "retry_after": "5s"}
    stage = ordered(tmp_path, rule)
    assert stage.buy("tk-1").outcome is Outcome.MADE
    data = refusal(stage.again(), "tk-2").data
    assert (data.error_class, data.outcome, data.retry_after_s, data.reason) == (
        "throttled",
        "not_made",
        5,
        "RequestLimitExceeded",
    )
    assert stage.again().buy("tk-3").outcome is Outcome.MADE


@pytest.mark.parametrize("name", ["no_capacity", "throttled", "quota", "auth", "transient", "internal", "bad_request"])
def test_each_error_class_can_be_ordered_and_nothing_is_made(tmp_path: Path, name: str) -> None:
    stage = Stage(tmp_path, failures={name: 1})
    assert refusal(stage, "tk-1").error_class == name
    assert stage.status("tk-1")[0].outcome is Outcome.NOT_MADE
    assert books.read(tmp_path, now_s=stage.at_ms / 1000) == []


def test_a_rate_decides_by_the_token_so_that_a_repeat_fares_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, failures={"no_capacity": 0.5}, capacity={})
    fates = []
    for number in range(40):
        try:
            fates.append(stage.buy(f"tk-{number}").outcome)
        except ContractError:
            fates.append(stage.buy(f"tk-{number}").outcome)
    assert 8 < fates.count(Outcome.NOT_MADE) < 32


def test_an_error_of_unknown_outcome_leaves_the_token_open(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request", "do": "error", "calls": 1, "outcome": "unknown"})
    assert refusal(stage, "tk-1").data.outcome is None
    assert stage.buy("tk-1").outcome is Outcome.MADE


def test_n_of_m_is_delivered_with_the_ordered_reason(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request", "do": "partial", "made": 2, "error_class": "throttled"})
    report = stage.buy(units=5)
    assert len(report.instances) == 2
    assert [(p.error_class, p.units) for p in report.problems] == [("throttled", 3)]
    assert refusal(stage, "tk-2", units=5, min_units=3).data.outcome == "not_made"


def test_a_request_that_was_said_to_have_failed_is_fulfilled_later(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request", "do": "fulfil_late", "for": "30s", "outcome": "not_made"})
    assert refusal(stage, "tk-1").data.outcome == "not_made"
    assert stage.status("tk-1")[0].outcome is Outcome.NOT_MADE
    assert stage.list().instances == ()
    stage.pass_s(30)
    assert stage.status("tk-1")[0].outcome is Outcome.MADE
    assert len(stage.list().instances) == 1


def test_an_empty_list_with_success_can_be_ordered(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "list", "do": "empty_list", "calls": [2]})
    stage.buy()
    assert [(len(page.instances), page.complete) for page in (stage.list(), stage.list(), stage.list())] == [
        (1, True),
        (0, True),
        (1, True),
    ]


def test_an_incomplete_list_names_the_place_and_still_shows_what_was_seen(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "list", "do": "incomplete_list"})
    stage.buy()
    page = stage.list()
    assert (len(page.instances), page.complete, page.next) == (1, False, None)
    assert page.missing_places[0].zone == "us-east-1a"


def test_items_of_a_return_can_fail_one_by_one(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "return", "do": "item_errors", "items": 1, "error_class": "throttled"})
    first, second = (i.instance for i in stage.buy(units=2).instances)
    items = stage.give_back(first, second)
    assert [(i.state, i.problem and i.problem.error_class) for i in items] == [
        ("failed", "throttled"),
        ("returning", None),
    ]
    stage.pass_s(1)
    assert [i.state for i in stage.list().instances] == ["booting", "gone"]


def test_a_status_can_be_made_to_know_nothing(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request_status", "do": "unknown_outcome", "calls": 1})
    stage.buy()
    assert [stage.status("tk-1")[0].outcome for _ in range(2)] == [Outcome.UNKNOWN, Outcome.MADE]


def test_f_10_a_price_can_be_left_out_or_be_in_another_currency(tmp_path: Path) -> None:
    stage = Stage(tmp_path, faults={"prices": {"omit": ["c6i.large"], "currency": {"c6i.x*": "EUR"}}})
    told = {t.template: t.price for t in stage.provider.describe(DescribeParams()).templates}
    assert told["c6i.large"] is None
    assert told["c6i.xlarge"] is not None
    assert told["c6i.xlarge"].currency == "EUR"
    assert stage.buy(price_cap=None).outcome is Outcome.MADE
    assert refusal(stage, "tk-2", template="c6i.xlarge").error_class is ErrorClass.PRICE
    cap = Money("1", "EUR", Per.HOUR)
    assert stage.buy("tk-3", template="c6i.xlarge", price_cap=cap).outcome is Outcome.MADE


def test_a_delay_ends_early_when_nobody_waits_any_more_and_nothing_was_begun(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request", "do": "delay", "for": "1h"})
    call = stage.call()
    call.ask_to_stop("cancelled")
    stage.call = lambda method="request": call  # type: ignore[method-assign]
    data = refusal(stage, "tk-1").data
    assert (data.error_class, data.outcome) == ("cancelled", "not_made")
    assert books.read(tmp_path, now_s=stage.at_ms / 1000) == []


def test_a_purchase_that_is_being_worked_on_is_pending_and_not_closed_by_a_question(tmp_path: Path) -> None:
    stage = ordered(tmp_path, {"on": "request", "do": "delay", "for": "1h"})
    call = stage.call()
    stage.call = lambda method="request": call  # type: ignore[method-assign]
    buying = threading.Thread(target=lambda: refusal(stage, "tk-1"))
    buying.start()
    while not stage.provider.site.running.has("tk-1"):
        buying.join(0.001)
    assert stage.status("tk-1")[0].outcome is Outcome.PENDING
    call.ask_to_stop("cancelled")
    buying.join(10)
    assert stage.provider.site.cloud.order("tk-1") is None


def test_rules_strike_by_number_share_and_template() -> None:
    rule = Rule(on="request", do="error", spans=((2, 3), (7, 2**53)))
    assert [n for n in range(1, 10) if strikes(rule, n, 0, 0)] == [2, 3, 7, 8, 9]
    share = Rule(on="list", do="delay", rate=0.25)
    assert 150 < sum(strikes(share, n, 1, 0) for n in range(1000)) < 350
    assert not any(strikes(evolve(share, rate=0.0), n, 1, 0) for n in range(100))
    by_template = Rule(on="request", do="error", templates=("c6i.*",))
    assert strikes(by_template, 1, 0, 0, template="c6i.large")
    assert not strikes(by_template, 1, 0, 0, template="m6i.large")


def test_counts_survive_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "calls.json"
    counter = CallCounter(file)
    assert [counter.next("list"), counter.next("list"), counter.next("ping")] == [1, 2, 1]
    assert CallCounter(file).next("list") == 3
