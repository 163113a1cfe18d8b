"""The provider's class, called in process: give-backs, lists, descriptions and health."""

from decimal import Decimal
from pathlib import Path

import pytest

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import DescribeParams, ForgetParams, ShutdownParams
from provider_sdk.contract.words import View
from providers.simulated import books
from providers.simulated.pulse import Pulse
from tests.providers.simulated.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def ids(stage: Stage, units: int = 1, **changes: object) -> list[str]:
    return [i.instance for i in stage.buy(units=units, **changes).instances]  # type: ignore[arg-type]


def test_a_return_is_taken_proven_later_and_remembered_over_a_restart(stage: Stage) -> None:
    host = ids(stage)[0]
    assert [(i.state, i.units) for i in stage.give_back(host)] == [("returning", 1)]
    later = stage.again()
    later.pass_s(1)
    assert [(i.state, i.units) for i in later.return_status("rt-1") or ()] == [("returned", 0)]
    assert later.return_status("rt-2") is None
    assert [(i.state, i.reason) for i in later.list().instances] == [("gone", "returned")]


def test_rt_1_repetition_and_order_give_one_end(stage: Stage) -> None:
    seats = ids(stage, units=10, template="seats")[0]
    stage.give_back(seats, keep=4, return_id="rt-1")
    stage.give_back(seats, keep=7, return_id="rt-2")
    stage.give_back(seats, keep=4, return_id="rt-1")
    stage.pass_s(1)
    assert stage.list().instances[0].units == 4
    assert [(i.state, i.units) for i in stage.return_status("rt-2") or ()] == [("returned", 4)]
    assert stage.give_back(seats, keep=9, return_id="rt-3")[0].state == "returned"
    stage.give_back(seats, return_id="rt-4")
    stage.pass_s(1)
    assert stage.give_back(seats, return_id="rt-5")[0].state == "returned"


def test_rt_2_a_booting_host_may_be_returned(stage: Stage) -> None:
    assert stage.give_back(ids(stage)[0])[0].state == "returning"


def test_rt_4_one_bad_item_does_not_harm_the_others(stage: Stage) -> None:
    host = ids(stage)[0]
    assert [i.state for i in stage.give_back("i-none", host)] == ["not_found", "returning"]


def test_a_minimum_hold_is_insisted_on_and_says_for_how_long(tmp_path: Path) -> None:
    stage = Stage(tmp_path, hold={"min": "10m", "max": "1h"})
    host = ids(stage)[0]
    item = stage.give_back(host)[0]
    assert item.problem is not None
    assert (item.state, item.units, item.problem.retry_after_s) == ("held", 1, 600)
    stage.pass_s(599.5)
    assert [i.state for i in stage.return_status("rt-1") or ()] == ["held"]
    stage.pass_s(0.5)
    assert stage.give_back(host)[0].state == "returning"


def test_what_is_held_too_long_is_taken_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, hold={"max": "1h"})
    ids(stage)
    assert stage.list().instances[0].expires_at == "2033-05-18T04:33:20Z"
    stage.pass_s(3600)
    assert [(i.state, i.reason) for i in stage.list().instances] == [("gone", "expired")]


def test_a_delayed_list_shows_new_things_late_but_the_token_is_known_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, list_delay="5s")
    host = ids(stage)[0]
    assert stage.opened.promises.list.delay_s == 5
    assert (stage.list().instances, stage.list().complete) == ((), True)
    assert stage.list(instances=(host,)).not_found == (host,)
    assert stage.status("tk-1")[0].instances[0].instance == host
    stage.pass_s(5)
    assert [i.instance for i in stage.list().instances] == [host]


def test_ls_4_pages_show_all_that_existed_during_the_pass_and_only_the_last_is_complete(tmp_path: Path) -> None:
    stage = Stage(tmp_path, page=2)
    hosts = ids(stage, units=5)
    first = stage.list()
    stage.pass_s(0.001)
    stage.buy(token="tk-2", units=2)
    stage.give_back(hosts[4])
    stage.pass_s(1.999)
    second = stage.list(cursor=first.next)
    third = stage.again(page=2).list(cursor=second.next)
    seen = [i.instance for page in (first, second, third) for i in page.instances]
    assert seen == hosts
    assert [page.complete for page in (first, second, third)] == [False, False, True]
    assert (third.next, third.age_s) == (None, 2)


@pytest.mark.parametrize("cursor", ["x", "1.2.3", "9999999999999.1", "-1.0"])
def test_ls_8_a_foreign_cursor_is_gone(stage: Stage, cursor: str) -> None:
    with pytest.raises(ContractError) as caught:
        stage.list(cursor=cursor)
    assert caught.value.error_class == "cursor_gone"


def test_ls_9_a_thin_list_leaves_out_what_does_not_change(stage: Stage) -> None:
    ids(stage)
    thin = stage.list(view=View.STATE).instances[0]
    assert (thin.state, thin.units, thin.name, thin.mark) == ("booting", 1, None, None)


def test_gone_things_are_listed_for_a_while(tmp_path: Path) -> None:
    stage = Stage(tmp_path, gone_visible="1m")
    stage.give_back(ids(stage)[0])
    stage.pass_s(60)
    assert [i.state for i in stage.list().instances] == ["gone"]
    stage.pass_s(1)
    assert stage.list().instances == ()


def test_a_spot_host_is_noticed_then_taken_and_both_are_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path, models=["spot"], spot={"mean_time_to_notice": "10m", "notice": "2m"})
    host = ids(stage, template="c6i.large-spot")[0]
    pulse = Pulse(stage.provider.site)
    due_s = pulse.beat()
    noticed = None
    while noticed is None:
        stage.pass_s(max(due_s, 0.001))
        due_s = pulse.beat()
        noticed = stage.list().instances[0].notice
    hints, _ = stage.notify.take(0.0)
    assert hints == []  # nothing but log lines before the handshake has ended
    stage.notify.greeted()
    hints, _ = stage.notify.take(0.0)
    assert [type(hint).__name__ for hint in hints] == ["Notice", "Changed"]
    assert noticed.kind == "reclaim"
    stage.pass_s(120)
    last = stage.list().instances[0]
    assert (last.instance, last.state, last.reason, last.notice) == (host, "gone", "reclaimed by the cloud", None)


def test_the_pulse_knows_when_the_next_thing_happens(stage: Stage) -> None:
    pulse = Pulse(stage.provider.site)
    assert pulse.beat() == 60.0
    ids(stage)
    due_s = pulse.beat()
    assert 0 < due_s <= 8
    stage.pass_s(due_s)
    assert stage.list().instances[0].state == "running"


def test_ds_1_a_description_changes_its_revision_with_what_is_left(stage: Stage) -> None:
    first = stage.provider.describe(DescribeParams())
    assert stage.provider.describe(DescribeParams(known=first.revision)).templates == ()
    assert first.limits is not None
    assert (first.limits[0].max, first.limits[0].used) == (8, 0)
    stage.buy(units=3)
    second = stage.provider.describe(DescribeParams(known=first.revision))
    assert second.revision != first.revision
    assert second.limits is not None
    assert second.limits[0].used == 3
    assert second.base == first.revision
    assert "seats" not in {t.template for t in second.templates}, "nothing of them has changed"
    seats = next(t for t in first.templates if t.template == "seats")
    assert seats.capacity is not None
    assert (seats.capacity.max, seats.capacity.available, seats.units_per_instance) == (20, 20, None)


def test_capacity_may_be_kept_secret(tmp_path: Path) -> None:
    described = Stage(tmp_path, capacity={"machines": 8, "stated": False}).provider.describe(DescribeParams())
    assert described.limits is None
    assert all(t.capacity is None and t.draws == () for t in described.templates)


def test_health_is_what_the_configuration_says(tmp_path: Path) -> None:
    stage = Stage(tmp_path, health={"state": "degraded", "error_class": "auth", "detail": "key expired"})
    ping = stage.provider.ping()
    assert ping.problem is not None
    assert (ping.health, ping.problem.error_class) == ("degraded", "auth")


def test_the_books_hold_every_instance_with_its_charge(stage: Stage) -> None:
    host, other = ids(stage, units=2)
    stage.pass_s(100)
    stage.give_back(host)
    stage.pass_s(1)
    entries = books.read(stage.folder, now_s=stage.at_ms / 1000)
    assert [entry["instance"] for entry in entries] == [host, other]
    assert [entry["state"] for entry in entries] == ["gone", "running"]
    listed = {i.instance: i for i in stage.list().instances}
    charged = listed[host].charged
    assert charged is not None
    assert charged.amount == entries[0]["charged"]
    assert Decimal("0.068") * 92 / 3600 < Decimal(charged.amount) < Decimal("0.068") * 102 / 3600
    assert entries[0]["mark"]["token"] == "tk-1"


def test_forgetting_a_return_is_harmless_and_a_token_still_never_buys_again(stage: Stage) -> None:
    host = ids(stage)[0]
    stage.give_back(host)
    stage.provider.forget(ForgetParams(tokens=("tk-1",), returns=("rt-1", "rt-none")))
    assert stage.return_status("rt-1") is None
    assert [i.instance for i in stage.buy().instances] == [host]


def test_hs_7_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "served")
    stage.folder = tmp_path / "checked"
    stage.open("east", mode="check", epoch=0)
    assert stage.list().complete
    assert not (tmp_path / "checked").exists()


def test_what_is_still_under_way_is_counted_at_shutdown(tmp_path: Path) -> None:
    stage = Stage(tmp_path, fulfil_time="10s")
    stage.buy(units=2)
    assert stage.provider.shutdown(ShutdownParams(5)).open == 1
    stage.pass_s(10)
    assert stage.provider.shutdown(ShutdownParams(5)).open == 0
    stage.give_back(stage.list().instances[0].instance)
    assert stage.provider.shutdown(ShutdownParams(5)).open == 1
