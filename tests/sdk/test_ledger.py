from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from provider_sdk.call import Call
from provider_sdk.contract import (
    AskedRequest,
    CancelParams,
    ErrorClass,
    ForgetParams,
    Instance,
    InstanceState,
    Mark,
    Outcome,
    Problem,
    Report,
    RequestParams,
    RequestStatusParams,
    ReturnItem,
    ReturnParams,
)
from provider_sdk.errors import ContractError, NothingMade, StateFull, StateUnreadable
from provider_sdk.ledger import COMPACT_AT, Ledger
from provider_sdk.orders import Stage
from provider_sdk.purchase import Purchase
from provider_sdk.state import StateFolder

NAME = "ledger.jsonl"


class Killed(BaseException):
    """Stands for the end of the process at this very place."""


def params(token: str = "tk-1", units: int = 2, **more: object) -> RequestParams:
    mark = Mark("clu-a", "l-1", "east", "rq-1", token, 7)
    return RequestParams("rq-1", token, "small", units, mark, 7, 100.0, **more)  # type: ignore[arg-type]


def asked(token: str = "tk-1") -> RequestStatusParams:
    return RequestStatusParams((AskedRequest("rq-1", token, "small", 2, params(token).mark),))


def machine(name: str, state: InstanceState = InstanceState.RUNNING) -> Instance:
    return Instance(name, 1, state, template="small")


def licence() -> Call:
    return Call(
        method="request",
        epoch=7,
        not_after=100.0,
        boot_now=lambda: 50.0,
        highest_epoch=lambda: 7,
        on_superseded=lambda: None,
    )


def opened(path: Path, **more: Callable[[], float]) -> Ledger:
    ledger = Ledger(StateFolder(path), **more)  # type: ignore[arg-type]
    ledger.open()
    return ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    found = opened(tmp_path)
    yield found
    found.close_file()


def buy(ledger: Ledger, *names: str, wanted: RequestParams | None = None) -> Report:
    call = licence()
    with ledger.purchase(wanted or params(), call) as purchase:
        if purchase.new:
            call.check_fence()
            purchase.saw(*map(machine, names))
            purchase.made()
    return purchase.report


def outcome(ledger: Ledger, token: str = "tk-1") -> Outcome:
    return ledger.status(asked(token)).requests[0].outcome


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


def test_quiet_time_counts_from_the_end_of_the_call_and_in_this_process_alone(tmp_path: Path) -> None:
    now = [1000.0]
    ledger = opened(tmp_path, now=lambda: now[0])

    def slow(problem: BaseException) -> None:
        call = licence()
        with ledger.purchase(params(), call):
            call.check_fence()
            now[0] += 60
            raise problem

    with pytest.raises(ContractError):
        slow(ContractError(ErrorClass.TRANSIENT))
    now[0] += 3
    found = ledger.find("tk-1")
    assert found is not None
    assert found.quiet_s == 3
    now[0] += 100
    after = opened(tmp_path, now=lambda: now[0]).find("tk-1")
    assert after is not None
    assert after.quiet_s == 0


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
