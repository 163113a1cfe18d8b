"""What a call costs, from the daemon's supervision through the pipes to the SDK and back, against a plain echo.

Knows sizes, how many at once, and rounds. Must not know how either side works inside.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import orjson
import trio
from attrs import define, frozen

from tests.bench.call_sides import METHOD, echo_sides, our_sides, questions
from tests.bench.measure import Bench, Effort, Measured, Row, best_ratio, best_text

PIECE_S = 0.4
SHORT_ROUNDS, SHORT_PIECE_S = 60, 0.1
"""Of many short pieces some are left in peace, also on a busy machine."""
WARM_UP_S = 0.5
KB_ITEMS = 3
"""Params and result of about 1 KB."""
BIG_ITEMS = 330
"""Params and result of about 108 KB."""


@frozen
class Load:
    """A row, what one call carries, and how many calls are under way at once to how many providers."""

    row: Row
    items: int
    in_flight: int = 1
    providers: int = 1


LOADS = (
    Load(Row("rpc.roundtrip_1k.ratio_to_floor", 3.0, "lower"), KB_ITEMS),
    Load(Row("rpc.roundtrip_108k.ratio_to_floor", None, "lower"), BIG_ITEMS),
    Load(Row("rpc.roundtrip_1k_32_at_once.ratio_to_floor", None, "lower"), KB_ITEMS, in_flight=32),
    Load(Row("rpc.roundtrip_1k_100_providers.ratio_to_floor", None, "lower"), KB_ITEMS, providers=100),
)

Ask = Callable[[], Awaitable[None]]
"""One call, from its begin to its answer."""


Piece = Callable[[float], Awaitable[tuple[float, int]]]
"""As many calls as fit into so many seconds: (microseconds a call, calls)."""


@define
class Costs:
    """Microseconds a call, a figure for each round, and how many calls were made of the subject."""

    subject: list[float]
    floor: list[float]
    n: int


def _measure(load: Load, folder: Path, effort: Effort) -> list[Measured]:
    costs = trio.run(_rounds, load, folder, effort)
    said = f"{best_text(costs.subject, 'µs')} ÷ {best_text(costs.floor, 'µs')} a call, at best"
    return [Measured(load.row, best_ratio(costs.subject, costs.floor), costs.n, said)]


async def _rounds(load: Load, folder: Path, effort: Effort) -> Costs:
    providers = min(load.providers, 2) if effort.tiny else load.providers
    params = questions(load.items)
    frame = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}) + b"\n"
    async with our_sides(folder, providers) as ours, echo_sides(providers) as echoes:
        subject = [partial(side.ask, params, load.items) for side in ours] * load.in_flight
        floor = [partial(side.ask, frame) for side in echoes]
        pieces = partial(piece, subject), partial(piece, floor)
        return await in_turn(*pieces, effort, rounds=SHORT_ROUNDS, piece_s=SHORT_PIECE_S)


async def in_turn(
    subject: Piece,
    floor: Piece,
    effort: Effort,
    *,
    rounds: int,
    piece_s: float,
    warm_up_s: float = WARM_UP_S,
) -> Costs:
    """Rounds of both, there and back, so that neither always comes after the other."""
    costs = Costs([], [], 0)
    sides = ((floor, costs.floor), (subject, costs.subject))
    for side, _ in sides:
        await side(0.01 if effort.tiny else warm_up_s)
    for turn in range(effort.rounds_or(rounds)):
        for side, into in sides if turn % 2 == 0 else reversed(sides):
            took_us, n = await side(0.01 if effort.tiny else piece_s)
            into.append(took_us)
            costs.n += n if side is subject else 0
    return costs


async def piece(asks: Sequence[Ask], seconds: float) -> tuple[float, int]:
    """(microseconds a call, calls) of as many callers as there are asks, each one call after the other."""
    began_ns = time.perf_counter_ns()
    ends_ns = began_ns + round(seconds * 1e9)
    calls = 0

    async def work(ask: Ask) -> None:
        nonlocal calls
        while time.perf_counter_ns() < ends_ns:
            await ask()
            calls += 1

    async with trio.open_nursery() as nursery:
        for ask in asks:
            nursery.start_soon(work, ask)
    return (time.perf_counter_ns() - began_ns) / 1e3 / calls, calls


BENCHES = tuple(Bench((load.row,), partial(_measure, load)) for load in LOADS)
