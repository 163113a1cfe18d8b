"""How long it takes to start and to kill a child from a small process and from one that holds 2 GB.

Knows the daemon's way of starting. Must not know what a provider is: the child is `cat`.
"""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from provisioner.runtime.spawn import Child, spawn
from tests.bench.measure import Bench, Effort, Measured, Row, median_ratio, median_text

SPAWN_ROW = Row("spawn.start_2gb.ratio_to_small", None, "lower")
KILL_ROW = Row("spawn.kill_2gb.ratio_to_small", None, "lower")
ROUNDS = 7
CHILDREN = 50
HELD_BYTES = 2 << 30
WITHIN_S = 30.0

Times = tuple[float, float]
"""Microseconds from before the start until the child has answered its first byte, and from the kill until it is
reaped."""


def _measure(folder: Path, effort: Effort) -> list[Measured]:
    small: list[Times] = []
    large: list[Times] = []
    children, held = (2, 1 << 20) if effort.tiny else (CHILDREN, HELD_BYTES)
    for _ in range(effort.rounds_or(ROUNDS)):
        small.append(trio.run(_lives, folder, children))
        with _held(held):
            large.append(trio.run(_lives, folder, children))
    found = []
    for row, part in ((SPAWN_ROW, 0), (KILL_ROW, 1)):
        big_us, small_us = [one[part] for one in large], [one[part] for one in small]
        said = f"{median_text(big_us, 'µs')} with 2 GB ÷ {median_text(small_us, 'µs')} without"
        found.append(Measured(row, median_ratio(big_us, small_us), len(large) * children, said))
    return found


@contextmanager
def _held(size: int) -> Iterator[None]:
    """Memory that is really there: each page was written."""
    with mmap.mmap(-1, size) as memory:
        for start in range(0, size, mmap.PAGESIZE):
            memory[start] = 1
        yield


async def _lives(folder: Path, children: int) -> Times:
    starts: list[float] = []
    ends: list[float] = []
    with trio.fail_after(WITHIN_S):
        for _ in range(children):
            began_ns = time.perf_counter_ns()
            child = spawn(["cat"], {"PATH": os.environ.get("PATH", os.defpath)}, str(folder))
            await _first_answer(child)
            starts.append((time.perf_counter_ns() - began_ns) / 1e3)
            began_ns = time.perf_counter_ns()
            child.signal_group(signal.SIGKILL)
            await child.wait_exit()
            ends.append((time.perf_counter_ns() - began_ns) / 1e3)
            await child.close_pipes()
    return sorted(starts)[children // 2], sorted(ends)[children // 2]


async def _first_answer(child: Child) -> None:
    child.stdin.write_now(memoryview(b"\n"))
    await child.stdout.receive_some(1)


BENCH = Bench((SPAWN_ROW, KILL_ROW), _measure)
