import threading

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from provider_sdk.call import Call
from provider_sdk.contract import ErrorClass, Outcome
from provider_sdk.errors import ContractError
from provider_sdk.ratelimit import WAITING, Lane, RateLimit
from tests.virtual_time import pass_s


def licence(method: str = "request") -> Call:
    return Call(
        method=method,
        epoch=7,
        not_after=100.0,
        boot_now=lambda: 50.0,
        highest_epoch=lambda: 7,
        on_superseded=lambda: None,
    )


def on_trio(*, per_s: float = 1.0, burst: float = 1.0) -> RateLimit:
    return RateLimit(per_s=per_s, burst=burst, now=trio.current_time)


async def refusal_of(limit: RateLimit, lane: Lane, call: Call | None = None, within_s: float = 30.0) -> ContractError:
    with pytest.raises(ContractError) as refused:
        async with limit.turn_async(lane, call, within_s=within_s):
            pass
    return refused.value


async def refused_inside(limit: RateLimit, refusal: ContractError) -> None:
    """A call to the far side that is refused after half a second."""

    async def go() -> None:
        async with limit.turn_async(Lane.READ):
            await pass_s(0.5)
            raise refusal

    with pytest.raises(ContractError):
        await go()


async def test_rt_7_under_one_budget_returns_go_before_reads_before_purchases(
    autojump_clock: MockClock,
) -> None:
    limit = on_trio()
    gone: list[tuple[str, float]] = []

    async def go(lane: Lane, name: str) -> None:
        async with limit.turn_async(lane):
            gone.append((name, trio.current_time()))

    begun = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(go, Lane.PURCHASE, "first")
        await wait_all_tasks_blocked()
        for lane, name in (
            (Lane.PURCHASE, "purchase"),
            (Lane.READ, "read"),
            (Lane.RETURN, "return"),
            (Lane.RETURN, "return too"),
        ):
            nursery.start_soon(go, lane, name)
            await wait_all_tasks_blocked()
    assert [name for name, _ in gone] == ["first", "return", "return too", "read", "purchase"]
    assert [round(at - begun) for _, at in gone] == [0, 1, 2, 3, 4]


async def test_a_refusal_inside_a_turn_slows_everybody_down_and_keeps_the_silence_it_asked_for(
    autojump_clock: MockClock,
) -> None:
    limit = on_trio(per_s=10, burst=10)
    await refused_inside(limit, ContractError(ErrorClass.THROTTLED, retry_after_s=8))
    assert limit.rate_per_s == pytest.approx(5.0, abs=0.1)
    begun = trio.current_time()
    async with limit.turn_async(Lane.RETURN):
        assert trio.current_time() - begun == pytest.approx(8.2, abs=0.1)


async def test_another_refusal_inside_a_turn_slows_nobody_down(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=10)
    await refused_inside(limit, ContractError(ErrorClass.NO_CAPACITY))
    assert limit.rate_per_s == 10


async def test_a_refusal_told_from_outside_counts_as_well(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=10)
    await pass_s(1)
    limit.throttled(3.0)
    assert limit.rate_per_s == 5


async def test_who_would_wait_too_long_is_refused_at_once_with_the_time_to_come_back(
    autojump_clock: MockClock,
) -> None:
    limit = on_trio(per_s=0.01)
    async with limit.turn_async(Lane.PURCHASE):
        pass
    begun = trio.current_time()
    refused = await refusal_of(limit, Lane.PURCHASE, licence())
    assert trio.current_time() == begun
    assert (refused.error_class, refused.data.outcome, refused.data.retry_after_s) == (
        ErrorClass.THROTTLED,
        Outcome.NOT_MADE,
        100,
    )


async def test_who_has_waited_behind_others_for_too_long_is_refused(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=1)

    async def give_back() -> None:
        async with limit.turn_async(Lane.RETURN, within_s=1_000):
            pass

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(give_back)
        await wait_all_tasks_blocked()
        begun = trio.current_time()
        refused = await refusal_of(limit, Lane.PURCHASE, within_s=10)
        assert refused.error_class is ErrorClass.THROTTLED
        assert trio.current_time() - begun == pytest.approx(10, abs=0.3)
        nursery.cancel_scope.cancel()


async def test_a_purchase_that_has_begun_something_is_never_called_not_made(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=0.01)
    call = licence()
    async with limit.turn_async(Lane.PURCHASE, call):
        call.check_fence()
    assert (await refusal_of(limit, Lane.PURCHASE, call)).data.outcome is Outcome.UNKNOWN
    assert (await refusal_of(limit, Lane.RETURN, licence("return"))).data.outcome is None


async def test_a_call_that_is_asked_to_stop_waits_no_longer(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=0.1)
    async with limit.turn_async(Lane.PURCHASE):
        pass
    call = licence()
    refused: list[ContractError] = []

    async def wait() -> None:
        refused.append(await refusal_of(limit, Lane.PURCHASE, call))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await pass_s(2)
        call.ask_to_stop("cancelled")
    assert (refused[0].error_class, refused[0].data.outcome) == (ErrorClass.CANCELLED, Outcome.NOT_MADE)


async def test_the_queue_is_bounded_and_who_gives_up_leaves_it(autojump_clock: MockClock) -> None:
    limit = on_trio(per_s=0.1)

    async def wait() -> None:
        async with limit.turn_async(Lane.READ, within_s=100_000):
            pass

    async with trio.open_nursery() as nursery:
        for _ in range(WAITING + 1):  # one goes at once
            nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert (await refusal_of(limit, Lane.RETURN)).error_class is ErrorClass.THROTTLED
        nursery.cancel_scope.cancel()
    await pass_s(10)
    async with limit.turn_async(Lane.READ):
        pass


def test_plain_methods_in_threads_take_turns_at_the_same_gate() -> None:
    limit = RateLimit(per_s=400, burst=1)
    gone: list[int] = []

    def go() -> None:
        for _ in range(10):
            with limit.turn(Lane.READ):
                gone.append(1)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(gone) == 40


def test_a_plain_method_is_refused_and_stopped_like_an_async_one() -> None:
    limit = RateLimit(per_s=0.001, burst=1)
    with limit.turn(Lane.READ):
        pass
    with pytest.raises(ContractError) as refused, limit.turn(Lane.PURCHASE, licence()):
        pass
    assert (refused.value.error_class, refused.value.data.outcome) == (ErrorClass.THROTTLED, Outcome.NOT_MADE)
    stopped = licence()
    stopped.ask_to_stop("shutdown")
    with pytest.raises(ContractError) as refused, limit.turn(Lane.PURCHASE, stopped, within_s=100_000):
        pass
    assert refused.value.error_class is ErrorClass.CANCELLED


async def test_a_thread_and_a_task_wait_in_one_queue_on_the_real_clock() -> None:
    limit = RateLimit(per_s=50, burst=1)
    gone: list[str] = []

    def plain() -> None:
        with limit.turn(Lane.PURCHASE):
            gone.append("thread")

    with limit.turn(Lane.READ):
        pass
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, plain)
            async with limit.turn_async(Lane.RETURN):
                gone.append("task")
    assert sorted(gone) == ["task", "thread"]
