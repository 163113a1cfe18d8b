"""Work that is begun by the task that meets it."""

import trio

from provider_sdk.first_step import FirstStep


async def test_work_that_never_waits_is_done_without_a_word() -> None:
    waits: list[str] = []

    async def work() -> int:
        return 5

    assert await FirstStep(work(), lambda: waits.append("waits")) == 5
    assert waits == []


async def test_work_that_waits_says_so_once_and_goes_on_to_its_end() -> None:
    waits: list[str] = []

    async def work() -> str:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        return "done"

    assert await FirstStep(work(), lambda: waits.append("waits")) == "done"
    assert waits == ["waits"]


async def test_work_that_waits_can_be_cancelled_and_cleans_up() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            seen.append("cleaned up")

    with trio.CancelScope() as scope:
        await FirstStep(work(), scope.cancel)
    assert scope.cancelled_caught
    assert seen == ["cleaned up"]


async def test_a_failure_comes_out_before_and_after_the_first_wait() -> None:
    async def work(waits: bool) -> None:
        if waits:
            await trio.lowlevel.checkpoint()
        raise ValueError

    for waits in (False, True):
        try:
            await FirstStep(work(waits), lambda: None)
        except ValueError:
            continue
        raise AssertionError("it was lost")
