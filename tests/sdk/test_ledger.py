from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from provider_sdk.contract import (
    CancelParams,
    ErrorClass,
    Outcome,
    Report,
)
from provider_sdk.errors import ContractError, NothingMade, StateFull, StateUnreadable
from provider_sdk.ledger import Ledger
from provider_sdk.orders import Stage
from tests.sdk.ledgers import NAME, Killed, asked, buy, licence, machine, opened, outcome, params


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    found = opened(tmp_path)
    yield found
    found.close_file()


def failing(ledger: Ledger, problem: BaseException, *, fenced: bool = True, seen: tuple[str, ...] = ()) -> Report:
    """A purchase in whose middle this is raised."""
    call = licence()
    with ledger.purchase(params(), call) as purchase:
        if fenced:
            call.check_fence()
        purchase.saw(*map(machine, seen))
        raise problem
    return purchase.report


def test_a_purchase_is_reported_as_it_was_made_also_by_the_next_process(ledger: Ledger, tmp_path: Path) -> None:
    report = buy(ledger, "m.1", "m.2")
    assert (report.outcome, [each.instance for each in report.instances]) == (Outcome.MADE, ["m.1", "m.2"])
    assert opened(tmp_path).status(asked()).requests == (report,)


def test_rq_1_a_repeated_request_buys_nothing_and_hears_the_present_report(ledger: Ledger, tmp_path: Path) -> None:
    report = buy(ledger, "m.1", "m.2")
    assert buy(ledger, "m.3", wanted=evolve(params(), epoch=8, not_after=999.0)) == report
    assert buy(opened(tmp_path), "m.3") == report


def test_rq_1_another_content_under_the_token_is_a_conflict(ledger: Ledger) -> None:
    buy(ledger, "m.1", "m.2")
    with pytest.raises(ContractError) as refused:
        buy(ledger, "m.3", wanted=params(units=3))
    assert refused.value.error_class is ErrorClass.TOKEN_CONFLICT


def test_st_1_the_intent_and_its_details_are_on_disk_before_the_far_side_is_called(
    ledger: Ledger, tmp_path: Path
) -> None:
    with ledger.purchase(params(), licence(), {"image": "img-7"}) as purchase:
        seen = opened(tmp_path).orders()
        assert [(order.token, order.stage, order.details["image"]) for order in seen] == [
            ("tk-1", Stage.BEGUN, "img-7")
        ]
        assert seen[0].details["mark"]["lineage"] == "l-1"
        purchase.saw(machine("m.1"))
        assert [each.instance for each in opened(tmp_path).instances()] == ["m.1"]
        purchase.made()


def test_rq_3_a_repetition_finds_the_details_of_the_first_time(ledger: Ledger) -> None:
    with ledger.purchase(params(), licence(), {"image": "img-7"}):
        pass
    with ledger.purchase(params(), licence(), {"image": "img-8"}) as again:
        assert (again.new, again.details["image"]) == (False, "img-7")


@pytest.mark.parametrize("seen", [(), ("m.1",)])
def test_st_6_a_crash_inside_the_far_side_call_leaves_the_token_unknown(tmp_path: Path, seen: tuple[str, ...]) -> None:
    with pytest.raises(Killed):
        failing(opened(tmp_path), Killed(), seen=seen)
    after = opened(tmp_path)
    report = after.status(asked()).requests[0]
    assert (report.outcome, tuple(each.instance for each in report.instances)) == (Outcome.UNKNOWN, seen)
    assert buy(after, "m.9").outcome is Outcome.UNKNOWN


def test_an_unknown_purchase_is_settled_once_the_far_side_has_shown_it(ledger: Ledger) -> None:
    with pytest.raises(ContractError):
        failing(ledger, ContractError(ErrorClass.TRANSIENT, "no answer"))
    assert [order.token for order in ledger.open_orders()] == ["tk-1"]
    found = ledger.find("tk-1")
    assert found is not None
    found.saw(machine("m.1"))
    found.made()
    assert (outcome(ledger), ledger.open_orders()) == (Outcome.MADE, ())


@pytest.mark.parametrize(
    ("problem", "fenced", "becomes"),
    [
        (NothingMade(ErrorClass.NO_CAPACITY), True, Outcome.NOT_MADE),
        (ContractError(ErrorClass.FENCED), True, Outcome.NOT_MADE),
        (ContractError(ErrorClass.AUTH), False, Outcome.NOT_MADE),
        (ZeroDivisionError(), False, Outcome.NOT_MADE),
        (ContractError(ErrorClass.TRANSIENT), True, Outcome.UNKNOWN),
        (ContractError(ErrorClass.NO_CAPACITY, outcome=Outcome.UNKNOWN), False, Outcome.UNKNOWN),
        (ZeroDivisionError(), True, Outcome.UNKNOWN),
    ],
)
def test_a_failure_says_nothing_was_made_only_where_that_is_true(
    ledger: Ledger, problem: Exception, fenced: bool, becomes: Outcome
) -> None:
    with pytest.raises(type(problem)) as raised:
        failing(ledger, problem, fenced=fenced)
    assert outcome(ledger) is becomes
    if isinstance(raised.value, ContractError):
        stated = raised.value.data.outcome
        assert (stated is Outcome.NOT_MADE) == (becomes is Outcome.NOT_MADE)


def test_rq_4_a_refusal_after_units_exist_is_a_result_with_its_problem(ledger: Ledger) -> None:
    report = failing(ledger, NothingMade(ErrorClass.NO_CAPACITY, reason="Full"), seen=("m.1",))
    assert (report.outcome, report.instances) == (Outcome.MADE, (machine("m.1"),))
    assert [(each.error_class, each.reason) for each in report.problems] == [(ErrorClass.NO_CAPACITY, "Full")]


def test_rq_4_an_unclear_failure_after_units_exist_is_an_unknown_result(ledger: Ledger) -> None:
    report = failing(ledger, ContractError(ErrorClass.TRANSIENT), seen=("m.1",))
    assert (report.outcome, report.instances) == (Outcome.UNKNOWN, (machine("m.1"),))


def test_a_purchase_left_open_is_pending_also_after_a_restart(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.purchase(params(), licence()) as purchase:
        assert outcome(ledger) is Outcome.PENDING  # it runs in this process
    assert purchase.report.outcome is Outcome.PENDING
    assert outcome(opened(tmp_path)) is Outcome.PENDING


def test_rp_1_a_final_outcome_never_changes(ledger: Ledger) -> None:
    buy(ledger, "m.1", "m.2")
    found = ledger.find("tk-1")
    assert found is not None
    found.not_made()
    found.taken()
    assert outcome(ledger) is Outcome.MADE


def test_made_without_any_instance_is_not_made(ledger: Ledger) -> None:
    assert buy(ledger).outcome is Outcome.NOT_MADE


def test_a_token_never_heard_of_is_closed_for_ever(ledger: Ledger, tmp_path: Path) -> None:
    assert outcome(ledger) is Outcome.NOT_MADE
    assert buy(opened(tmp_path), "m.1").outcome is Outcome.NOT_MADE


def test_cn_3_a_token_cancelled_before_it_came_is_closed_for_ever(ledger: Ledger) -> None:
    assert ledger.cancel(CancelParams("rq-1", "tk-1", 7, 100.0)).outcome is Outcome.NOT_MADE
    assert buy(ledger, "m.1").outcome is Outcome.NOT_MADE


def test_cn_2_a_cancel_is_pending_and_says_so_until_it_is_settled(ledger: Ledger, tmp_path: Path) -> None:
    with ledger.purchase(params(), licence()):
        pass
    report = ledger.cancel(CancelParams("rq-1", "tk-1", 7, 100.0))
    assert (report.outcome, report.cancelling) == (Outcome.PENDING, True)
    after = opened(tmp_path)
    assert after.status(asked()).requests[0].cancelling
    found = after.find("tk-1")
    assert found is not None
    found.not_made()
    settled = after.status(asked()).requests[0]
    assert (settled.outcome, settled.cancelling) == (Outcome.NOT_MADE, False)


def test_st_2_damaged_records_are_set_aside_and_nothing_is_disproved_until_an_operator_looked(tmp_path: Path) -> None:
    ledger = opened(tmp_path)
    buy(ledger, "m.1")
    ledger.close_file()
    lines = (tmp_path / NAME).read_text().splitlines()
    (tmp_path / NAME).write_text("\n".join(['{"order": "tk-1"}', *lines, ""]))
    with pytest.raises(StateUnreadable, match="makes no sense"):
        opened(tmp_path)
    assert outcome(opened(tmp_path)) is Outcome.UNKNOWN
    for aside in tmp_path.glob(f"{NAME}.unreadable-*"):
        aside.unlink()
    assert outcome(opened(tmp_path)) is Outcome.NOT_MADE


def test_st_2_without_room_for_the_intent_nothing_is_begun(ledger: Ledger) -> None:
    ledger.close_file()  # every append is refused from here on, as on a full disk
    with pytest.raises((StateFull, StateUnreadable)):
        buy(ledger, "m.1")
    assert ledger.orders() == ()
