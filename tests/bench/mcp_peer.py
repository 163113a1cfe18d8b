"""Calls a second against the MCP Python SDK over stdio, in the same run; that SDK lives in an environment of its own.

Knows how that environment is made and where it is looked for. Must not know how either side works inside.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio

from tests.bench.call_cost import KB_ITEMS, PIECE_S, WARM_UP_S, Costs, in_turn, piece
from tests.bench.call_sides import our_sides, questions
from tests.bench.measure import Bench, Effort, Measured, Result, Row, Skipped, median_ratio, median_text

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("mcp_calls.py")
PINS = Path(__file__).with_name("requirements-mcp.txt")
VENV = ROOT / "build" / "bench-venv"
ROW = Row("rpc.calls.ratio_to_mcp", 5.0, "higher")
ROUNDS = 11
WITHIN_S = 60.0


def _measure(folder: Path, effort: Effort) -> list[Result]:
    python = VENV / "bin" / "python"
    if not _has_mcp(python):
        made, pins = VENV.relative_to(ROOT), PINS.relative_to(ROOT)
        how = f"python3 -m venv {made} && {made}/bin/pip install --require-hashes -r {pins}"
        return [Skipped(ROW, f"mcp is not installed, run: {how}")]
    costs = trio.run(_rounds, python, folder, effort)
    ours, theirs = ([1e6 / us for us in side] for side in (costs.subject, costs.floor))
    said = f"{median_text(ours, 'calls/s')} ÷ {median_text(theirs, 'calls/s')}"
    return [Measured(ROW, median_ratio(ours, theirs), costs.n, said)]


def _has_mcp(python: Path) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", "import mcp"], check=False, capture_output=True).returncode == 0


async def _rounds(python: Path, folder: Path, effort: Effort) -> Costs:
    params = questions(KB_ITEMS)
    async with our_sides(folder, 1) as ours, _their_side(python) as theirs:
        asks = [partial(ours[0].ask, params, KB_ITEMS)]
        sides = (partial(piece, asks), theirs.piece)
        return await in_turn(*sides, effort, rounds=ROUNDS, warm_up_s=WARM_UP_S, piece_s=PIECE_S)


class TheirSide:
    """The client that calls, told what to do over its stdin."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    async def piece(self, seconds: float) -> tuple[float, int]:
        """(microseconds a call, calls)."""
        await self._in.send_all(f"{seconds}\n".encode())
        said = b""
        with trio.fail_after(WITHIN_S):
            while not said.endswith(b"\n"):
                said += await self._out.receive_some()
        took_us, calls = said.split()
        return float(took_us), int(calls)


@asynccontextmanager
async def _their_side(python: Path) -> AsyncIterator[TheirSide]:
    command = [str(python), str(PROGRAM)]
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(
            partial(trio.run_process, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=False)
        )
        side = TheirSide(process)
        yield side
        assert process.stdin is not None
        await process.stdin.aclose()  # its end, and that of its server


BENCH = Bench((ROW,), _measure)
