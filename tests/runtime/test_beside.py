"""Long pure work leaves the loop free; short work stays in it."""

import threading

import pytest
import trio

from provisioner.runtime.beside import LONG_PIECES, WorkThread, at_once


async def test_the_loop_goes_on_while_long_work_is_done() -> None:
    work, may_end = WorkThread(), threading.Event()
    heard: list[int] = []

    async def do_long_work() -> None:
        heard.append(await work(LONG_PIECES, lambda: int(may_end.wait(60))))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(do_long_work)
        await trio.testing.wait_all_tasks_blocked()
        # Only a loop that runs beside the work can let it end.
        may_end.set()
    assert heard == [1]


async def test_short_work_is_done_in_the_loop_and_so_is_all_of_it_in_virtual_time() -> None:
    work, loop = WorkThread(), threading.get_ident()
    assert await work(LONG_PIECES - 1, threading.get_ident) == loop
    assert await work(LONG_PIECES, threading.get_ident) != loop
    assert await at_once(10**9, threading.get_ident) == loop


async def test_what_long_work_raises_is_raised() -> None:
    def refuse() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await WorkThread()(LONG_PIECES, refuse)


async def test_long_work_is_done_one_at_a_time() -> None:
    work, together, most = WorkThread(), [], []

    def count() -> None:
        together.append(1)
        most.append(len(together))
        together.pop()

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(work, LONG_PIECES, count)
    assert most == [1] * 20
