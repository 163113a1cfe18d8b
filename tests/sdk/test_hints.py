from pathlib import Path

import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from provider_sdk.contract import Changed, Log, Notice, NoticeItem, NoticeKind, Progress
from provider_sdk.notify import LOG_LINES, Outbox
from tests.sdk.conversation import conversation
from tests.sdk.shop import Shop


def reclaim(instance: str, detail: str | None = None) -> NoticeItem:
    return NoticeItem(instance, NoticeKind.RECLAIM, detail=detail)


async def test_nt_2_changed_leaves_at_most_once_a_second_and_the_rest_is_merged(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    shop = Shop()
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path)
        assert shop.start is not None
        notify = shop.start.notify
        notify.changed("instances", instances=["m.1"])
        first = await daemon.next_frame()
        at = trio.current_time()
        assert first["params"] == {"what": ["instances"], "instances": ["m.1"]}
        for number in range(50):
            notify.changed("instances", instances=[f"m.{number}"], requests=["rq-1"])
        second = await daemon.next_frame()
        assert trio.current_time() - at >= 1
        assert second["params"]["instances"] == [f"m.{number}" for number in range(50)]
        assert second["params"]["requests"] == ["rq-1"]


async def test_hints_may_come_from_a_worker_thread(tmp_path: Path) -> None:
    shop = Shop()
    async with conversation(shop, limit_s=20) as daemon:
        await daemon.greet(tmp_path)
        assert shop.start is not None
        await trio.to_thread.run_sync(shop.start.notify.progress, "rq-1", "installing", 40)
        frame = await daemon.next_frame()
        assert frame["method"] == "progress"
        assert frame["params"] == {"request_id": "rq-1", "phase": "installing", "eta_s": 40}


def test_a_change_that_names_nothing_means_everything() -> None:
    box = Outbox()
    box.put_changed("instances", ["m.1"], [])
    box.put_changed("instances", [], [])
    box.put_changed("instances", ["m.2"], [])
    (changed,) = box.take(0)
    assert isinstance(changed, Changed)
    assert changed.instances == ()


def test_too_many_changed_instances_mean_everything() -> None:
    box = Outbox()
    box.put_changed("instances", [f"m.{n}" for n in range(1_001)], ["rq-1"])
    (changed,) = box.take(0)
    assert isinstance(changed, Changed)
    assert (changed.instances, changed.requests) == ((), ())


def test_kinds_of_change_do_not_wait_for_each_other() -> None:
    box = Outbox()
    box.put_changed("health", [], [])
    assert len(box.take(0)) == 1
    box.put_changed("health", [], [])
    box.put_changed("description", [], [])
    assert len(box.take(0.5)) == 1
    assert box.next_due(0.5) == 1.0
    assert len(box.take(1.0)) == 1


def test_the_last_word_on_an_instance_and_on_a_request_wins() -> None:
    box = Outbox()
    box.put_notice([reclaim("m.1", "first"), reclaim("m.2")])
    box.put_notice([reclaim("m.1", "last")])
    box.put_progress(Progress("rq-1", "booting"))
    box.put_progress(Progress("rq-1", "joining"))
    notice, progress = box.take(0)
    assert isinstance(notice, Notice)
    assert {item.instance: item.detail for item in notice.items} == {"m.1": "last", "m.2": None}
    assert progress == Progress("rq-1", "joining")


def test_log_lines_beyond_the_bound_are_dropped_oldest_first() -> None:
    box = Outbox()
    for number in range(LOG_LINES + 1):
        box.put_log(Log("info", str(number)))  # type: ignore[arg-type]
    first = box.take(0, only_log=True)[0]
    assert isinstance(first, Log)
    assert first.text == "1"


@given(st.lists(st.tuples(st.floats(0, 0.2), st.integers(0, 30)), min_size=1, max_size=60))
def test_nt_2_never_more_than_a_hundred_a_second_over_time(steps: list[tuple[float, int]]) -> None:
    box, now, sent = Outbox(), 0.0, 0
    for pause, lines in steps:
        now += pause
        for number in range(lines):
            box.put_log(Log("info", str(number)))  # type: ignore[arg-type]
        sent += len(box.take(now))
        assert sent <= 100 + now * 100
        due = box.next_due(now)
        assert due is None or due >= now


@given(st.lists(st.sampled_from(["log", "changed", "notice"]), max_size=300))
def test_what_waits_is_always_sent_when_it_says_it_is_due(kinds: list[str]) -> None:
    box, now = Outbox(), 0.0
    for number, kind in enumerate(kinds):
        match kind:
            case "log":
                box.put_log(Log("info", "line"))  # type: ignore[arg-type]
            case "changed":
                box.put_changed("health", [], [])
            case _:
                box.put_notice([reclaim(f"m.{number}")])
    box.take(now)
    while (due := box.next_due(now)) is not None:
        assert due < now + 10
        now = max(due, now) + 1e-6
        assert box.take(now)
