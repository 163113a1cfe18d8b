"""The provider's class, called in process: purchases, their repetition, and what is said about them."""

from pathlib import Path

import pytest
from attrs import evolve

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.types import Money
from provider_sdk.contract.words import ErrorClass, ListScope, Outcome, Per
from providers.simulated import books
from tests.providers.simulated.stage import Stage, mark


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def refusal(stage: Stage, **changes: object) -> ContractError:
    with pytest.raises(ContractError) as caught:
        stage.buy(**changes)  # type: ignore[arg-type]
    return caught.value


def test_a_purchase_makes_hosts_that_bear_the_mark_and_come_up_after_their_lead_time(stage: Stage) -> None:
    report = stage.buy(units=3)
    assert report.outcome is Outcome.MADE
    assert [(i.state, i.units, i.template) for i in report.instances] == [("booting", 1, "c6i.large")] * 3
    assert len({i.instance for i in report.instances}) == len({i.name for i in report.instances}) == 3
    listed = stage.list().instances
    assert {i.mark and i.mark.token for i in listed} == {"tk-1"}
    stage.pass_s(8)
    assert {i.state for i in stage.list().instances} == {"running"}


def test_rq_1_the_same_token_and_content_never_buys_twice_not_even_after_a_restart(stage: Stage) -> None:
    first = stage.buy(units=2)
    assert stage.buy(units=2) == first
    later = stage.again()
    assert later.buy(units=2, epoch=7, not_after=99.0) == first
    assert len(books.read(stage.folder, now_s=stage.at_ms / 1000)) == 2


def test_rq_1_another_content_under_the_token_is_a_conflict_and_buys_nothing(stage: Stage) -> None:
    stage.buy(units=2)
    for changes in (
        {"units": 3},
        {"template": "c6i.xlarge"},
        {"consumer": "dv"},
        {"mark": evolve(mark("tk-1"), epoch=8)},
    ):
        assert refusal(stage, **{"units": 2, **changes}).error_class is ErrorClass.TOKEN_CONFLICT
    assert len(stage.list().instances) == 2


def test_a_draw_repeats_under_the_same_seed_and_token_in_another_cloud(tmp_path: Path) -> None:
    def ready(folder: str) -> list[str]:
        stage = Stage(tmp_path / folder)
        stage.buy(units=4)
        stage.pass_s(10)
        return [str(i.billed_from) for i in stage.list().instances]

    assert ready("one") == ready("two")
    assert len(set(ready("one"))) > 1


def test_partial_fulfilment_is_a_result_that_keeps_its_reason_and_counts_what_is_missing(stage: Stage) -> None:
    report = stage.buy(units=11)
    assert (report.outcome, len(report.instances)) == (Outcome.MADE, 8)
    assert [(p.error_class, p.units, p.reason) for p in report.problems] == [
        ("no_capacity", 3, "InsufficientInstanceCapacity")
    ]
    assert stage.status("tk-1") == (report,)


def test_min_units_is_all_or_nothing(stage: Stage) -> None:
    refused = refusal(stage, units=11, min_units=9)
    assert (refused.error_class, refused.data.outcome) == ("no_capacity", "not_made")
    assert stage.list().instances == ()
    assert stage.status("tk-1")[0].outcome is Outcome.NOT_MADE
    assert stage.buy(units=11, min_units=9).outcome is Outcome.NOT_MADE


def test_capacity_is_free_again_only_when_what_was_given_back_is_gone(stage: Stage) -> None:
    bought = stage.buy(units=8).instances
    stage.give_back(bought[0].instance)
    assert refusal(stage, token="tk-2").error_class is ErrorClass.NO_CAPACITY
    stage.pass_s(1)
    assert stage.buy(token="tk-3").outcome is Outcome.MADE


def test_a_quota_names_its_limit(tmp_path: Path) -> None:
    stage = Stage(tmp_path, capacity={"machines": 2, "error": "quota"})
    stage.buy(units=2)
    data = refusal(stage, token="tk-2").data
    assert data.limit is not None
    assert (data.error_class, data.limit.name, data.limit.value, data.limit.used) == ("quota", "machines", 2, 2)


def test_no_price_above_the_cap_and_no_foreign_cap_is_paid(stage: Stage) -> None:
    for cap in (Money("0.067999999", "USD", Per.HOUR), Money("9", "EUR", Per.HOUR), Money("9", "USD", Per.UNIT_HOUR)):
        assert (
            refusal(stage, price_cap=cap, token=f"tk-{cap.currency.lower()}-{cap.per}".replace("_", "-")).data.outcome
            == "not_made"
        )
    assert stage.buy(token="tk-9", price_cap=Money("0.068", "USD", Per.HOUR)).outcome is Outcome.MADE


def test_nothing_is_made_after_the_deadline(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fulfil_time="10s")
    assert refusal(stage, deadline="2033-05-18T03:33:20Z").data.outcome == "not_made"
    assert refusal(stage, token="tk-2", deadline="2033-05-18T03:33:29Z").data.reason == "Deadline"
    assert stage.buy(token="tk-3", deadline="2033-05-18T03:33:30Z").outcome is Outcome.PENDING


def test_what_does_not_fit_the_offer_is_refused_as_not_made(stage: Stage) -> None:
    assert refusal(stage, template="nope").error_class is ErrorClass.UNKNOWN_TEMPLATE
    assert refusal(stage, token="tk-2", units=101).error_class is ErrorClass.BAD_REQUEST
    assert refusal(stage, token="tk-3", price_cap=None).error_class is ErrorClass.BAD_REQUEST


def test_ep_4_a_call_whose_time_is_over_begins_nothing(stage: Stage) -> None:
    stage.boot_s = 100.0
    assert refusal(stage).error_class is ErrorClass.FENCED
    assert books.read(stage.folder, now_s=stage.at_ms / 1000) == []


def test_a_slow_purchase_is_pending_until_its_last_unit_is_made(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fulfil_time={"typical": "10s", "worst": "20s", "distribution": "uniform"})
    report = stage.buy(units=4)
    assert (report.outcome, report.instances, report.poll_after_s) == (Outcome.PENDING, (), 1)
    stage.pass_s(10)
    some = stage.status("tk-1")[0]
    assert some.outcome is Outcome.PENDING
    assert 0 < len(some.instances) < 4
    stage.pass_s(10)
    assert (stage.status("tk-1")[0].outcome, len(stage.status("tk-1")[0].instances)) == (Outcome.MADE, 4)


def test_cn_1_a_cancel_stops_what_is_not_made_yet_and_gives_nothing_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fulfil_time={"typical": "10s", "worst": "20s", "distribution": "uniform"})
    stage.buy(units=4)
    stage.pass_s(10)
    made = len(stage.status("tk-1")[0].instances)
    report = stage.cancel("tk-1")
    assert (report.outcome, len(report.instances)) == (Outcome.MADE, made)
    stage.pass_s(60)
    assert len(stage.list().instances) == made
    assert stage.buy(units=4).outcome is Outcome.MADE


def test_cn_3_a_cancel_before_the_request_leaves_a_tombstone(stage: Stage) -> None:
    assert stage.cancel("tk-1").outcome is Outcome.NOT_MADE
    assert stage.buy().outcome is Outcome.NOT_MADE
    assert stage.list().instances == ()


def test_a_token_never_seen_is_not_made_and_stays_so_even_if_its_frame_comes_late(stage: Stage) -> None:
    assert stage.status("tk-1", "tk-2")[0].outcome is Outcome.NOT_MADE
    assert stage.again().buy(token="tk-2").outcome is Outcome.NOT_MADE
    assert stage.list().instances == ()


def test_a_grant_is_one_instance_that_holds_all_units(stage: Stage) -> None:
    report = stage.buy(units=15, template="seats")
    assert [(i.kind, i.units, i.name) for i in report.instances] == [("grant", 15, None)]
    assert stage.buy(token="tk-2", units=15, template="seats").instances[0].units == 5


def test_f_36_a_template_that_is_no_longer_for_sale_still_serves_what_was_bought(stage: Stage) -> None:
    bought = stage.buy().instances[0]
    later = stage.again(types=["m6i.large"])
    assert later.status("tk-1")[0].instances[0].template == "c6i.large"
    assert later.list().instances[0].price == bought.price
    assert later.give_back(bought.instance)[0].state == "returning"
    assert refusal(later, token="tk-2").error_class is ErrorClass.UNKNOWN_TEMPLATE


def test_two_entries_on_one_cloud_do_not_touch_each_others_things(tmp_path: Path) -> None:
    cloud = str(tmp_path / "shared")
    east, west = Stage(tmp_path / "east", cloud_dir=cloud), Stage(tmp_path / "west", cloud_dir=cloud)
    west.open("west")
    bought = east.buy().instances[0].instance
    assert west.list().instances == ()
    assert [i.instance for i in west.list(scope=ListScope.CLUSTER).instances] == [bought]
    assert west.give_back(bought)[0].state == "not_found"
    assert west.opened.promises.memory.where == "far_side"
