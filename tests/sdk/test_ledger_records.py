from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from provider_sdk.contract import (
    CallsPromise,
    ErrorClass,
    ForgetParams,
    InstanceState,
    ListPromise,
    Outcome,
    Problem,
    Promises,
    ReturnItem,
    ReturnParams,
)
from provider_sdk.errors import ContractError
from provider_sdk.ledger import COMPACT_AT, Ledger
from provider_sdk.purchase import Purchase
from tests.sdk.ledgers import NAME, Killed, asked, buy, licence, machine, opened, outcome, params


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    found = opened(tmp_path)
    yield found
    found.close_file()


def test_a_look_at_the_far_side_brings_the_report_up_to_date_for_good(ledger: Ledger, tmp_path: Path) -> None:
    buy(ledger, "m.1", "m.2")

    def look(purchase: Purchase) -> None:
        purchase.saw(machine("m.1", InstanceState.GONE))

    report = ledger.status(asked(), look).requests[0]
    states = {each.instance: each.state for each in report.instances}
    assert states == {"m.1": InstanceState.GONE, "m.2": InstanceState.RUNNING}
    assert opened(tmp_path).status(asked()).requests[0] == report


def test_a_running_purchase_is_not_looked_into(ledger: Ledger) -> None:
    with ledger.purchase(params(), licence()):
        report = ledger.status(asked(), lambda purchase: purchase.made()).requests[0]
        assert report.outcome is Outcome.PENDING


def cut_off(ledger: Ledger, pass_s: Callable[[float], None] = lambda seconds: None) -> Purchase:
    """A purchase whose far-side call took a minute and ended nobody knows how."""

    def fail() -> None:
        call = licence()
        with ledger.purchase(params(), call):
            call.check_fence()
            pass_s(60)
            raise ContractError(ErrorClass.TRANSIENT)

    with pytest.raises(ContractError):
        fail()
    found = ledger.find("tk-1")
    assert found is not None
    return found


def test_quiet_time_counts_from_the_end_of_the_call_and_in_this_process_alone(tmp_path: Path) -> None:
    steady = [1000.0]

    def pass_s(seconds: float) -> None:
        steady[0] += seconds

    found = cut_off(opened(tmp_path, steady=lambda: steady[0]), pass_s)
    pass_s(3)
    assert found.quiet_s == 3
    pass_s(100)
    after = opened(tmp_path, steady=lambda: steady[0]).find("tk-1")
    assert after is not None
    assert after.quiet_s == 0


def test_a_wall_clock_that_is_set_forward_makes_nothing_quiet(tmp_path: Path) -> None:
    wall = [1000.0]
    found = cut_off(opened(tmp_path, now=lambda: wall[0], steady=lambda: 5.0))
    wall[0] += 7200
    assert found.quiet_s == 0


def test_lists_disprove_nothing_before_late_effect_and_list_delay_are_both_over(tmp_path: Path) -> None:
    steady = [0.0]
    found = cut_off(opened(tmp_path, steady=lambda: steady[0]))
    promises = Promises(list=ListPromise(delay_s=30), calls=CallsPromise(late_effect_s=10))
    told = {}
    for seconds in (11.0, 31.0, 40.0, 40.5):
        steady[0] = seconds
        told[seconds] = found.lists_tell(promises)
    assert told == {11.0: False, 31.0: False, 40.0: False, 40.5: True}


def test_a_give_back_is_known_by_its_items_until_it_is_forgotten(ledger: Ledger, tmp_path: Path) -> None:
    asked_for = ReturnParams("rt-1", (ReturnItem("m.1", 0),), 7, 100.0)
    ledger.give_back(asked_for)
    size = (tmp_path / NAME).stat().st_size
    ledger.give_back(asked_for)
    assert (tmp_path / NAME).stat().st_size == size
    assert opened(tmp_path).given_back("rt-1") == (ReturnItem("m.1", 0),)
    ledger.forget(ForgetParams(returns=("rt-1", "rt-never")))
    assert opened(tmp_path).given_back("rt-1") is None


def test_a_purchase_is_found_by_an_instance_of_it_also_by_the_next_process(ledger: Ledger, tmp_path: Path) -> None:
    buy(ledger, "m.1", "m.2")
    for each in (ledger, opened(tmp_path)):
        found = each.find_by_instance("m.2")
        assert found is not None
        assert found.order.token == "tk-1"
        assert each.find_by_instance("m.9") is None


def test_a_purchase_seen_one_by_one_writes_each_instance_a_bounded_number_of_times(
    ledger: Ledger, tmp_path: Path
) -> None:
    names = [f"m.{number}" for number in range(300)]
    with ledger.purchase(params(), licence()) as purchase:
        for name in names:
            purchase.saw(machine(name))
        purchase.made()
    assert (tmp_path / NAME).read_text().count('"m.7"') == 2
    after = opened(tmp_path)
    assert [each.instance for each in after.instances()] == names
    size = (tmp_path / NAME).stat().st_size
    ledger.status(asked(), lambda found: found.saw(*map(machine, names)))
    assert (tmp_path / NAME).stat().st_size == size


def test_a_crash_while_instances_are_seen_one_by_one_loses_none_of_them(ledger: Ledger, tmp_path: Path) -> None:
    def killed_after(*names: str) -> None:
        with ledger.purchase(params(), licence()) as purchase:
            for name in names:
                purchase.saw(machine(name))
            purchase.saw(machine(names[0], InstanceState.GONE))
            raise Killed

    with pytest.raises(Killed):
        killed_after("m.1", "m.2")
    found = opened(tmp_path).find_by_instance("m.2")
    assert found is not None
    assert [(each.instance, each.state) for each in found.order.instances] == [
        ("m.1", InstanceState.GONE),
        ("m.2", InstanceState.RUNNING),
    ]


def test_an_instance_of_which_only_the_tombstone_is_left_is_found_no_more(ledger: Ledger) -> None:
    buy(ledger, "m.1")
    found = ledger.find("tk-1")
    assert found is not None
    found.saw(machine("m.1", InstanceState.GONE))
    assert ledger.find_by_instance("m.1") is not None
    ledger.forget(ForgetParams(tokens=("tk-1",)))
    assert ledger.find_by_instance("m.1") is None
    assert outcome(ledger) is Outcome.MADE


def test_a_forgotten_token_is_never_bought_again_and_its_living_machines_stay_known(
    ledger: Ledger, tmp_path: Path
) -> None:
    buy(ledger, "m.1")
    ledger.forget(ForgetParams(tokens=("tk-1", "tk-never")))
    assert [each.instance for each in opened(tmp_path).instances()] == ["m.1"]
    found = ledger.find("tk-1")
    assert found is not None
    found.saw(machine("m.1", InstanceState.GONE))
    ledger.forget(ForgetParams(tokens=("tk-1",)))
    assert buy(opened(tmp_path), "m.2").outcome is Outcome.MADE


def test_old_final_orders_shrink_to_their_token_when_enough_of_the_file_is_superseded(tmp_path: Path) -> None:
    now = [1000.0]
    ledger = opened(tmp_path, now=lambda: now[0])
    buy(ledger, "m.1")
    buy(ledger, "m.2", wanted=params("tk-2"))
    first = ledger.find("tk-1")
    assert first is not None
    first.saw(machine("m.1", InstanceState.GONE))
    with (tmp_path / NAME).open("a") as file:
        last = (tmp_path / NAME).read_text().splitlines()[-1]
        file.write(f"{last}\n" * COMPACT_AT)
    now[0] += 700_000
    after = opened(tmp_path, now=lambda: now[0])
    assert len((tmp_path / NAME).read_text().splitlines()) == 2
    assert [each.instance for each in after.instances()] == ["m.2"]
    assert [outcome(opened(tmp_path), token) for token in ("tk-1", "tk-2")] == [Outcome.MADE, Outcome.MADE]
    assert not is_new(after, "tk-1")


def is_new(ledger: Ledger, token: str) -> bool:
    with ledger.purchase(params(token), licence()) as purchase:
        found = purchase.new
    return found


def test_a_problem_told_at_the_end_stands_in_the_report(ledger: Ledger) -> None:
    call = licence()
    with ledger.purchase(params(), call) as purchase:
        call.check_fence()
        purchase.saw(machine("m.1"))
        purchase.made(Problem(ErrorClass.NO_CAPACITY, units=1))
    assert purchase.report.problems == (Problem(ErrorClass.NO_CAPACITY, units=1),)
