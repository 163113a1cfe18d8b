"""One rate budget for all calls to a far side, returns before reads before purchases (clause RT-7).

Knows who waits, in threads and on trio, and what a refusal for lack of room says; how fast it may go, pace.py knows.
"""

import math
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import IntEnum

import trio
from attrs import field, frozen

from provider_sdk.call import Call
from provider_sdk.contract.words import ErrorClass, Outcome
from provider_sdk.errors import ContractError
from provider_sdk.pace import Pace

WITHIN_S = 30.0
WAITING = 256
"""Callers that may wait; one more is refused as `throttled` at once."""
LOOK_S = 0.25
"""How often a waiting call looks whether it is asked to stop."""


class Lane(IntEnum):
    """What a call to the far side is for; the lower number goes first."""

    RETURN = 0
    READ = 1
    PURCHASE = 2


@frozen(order=True)
class _Waiter:
    lane: Lane
    number: int
    wake: Callable[[], object] = field(order=False, eq=False)


class RateLimit:
    """The gate before the far side; one object for each budget the far side counts, used from threads and from trio.

    `per_s` calls a second at most, `burst` of them at once (default: one second's worth). A far side that throttles
    halves the rate, not below `least_per_s` (default: a hundredth); undisturbed it comes back within some twenty
    seconds of full use. `now` is a steady clock in seconds.
    """

    def __init__(
        self,
        *,
        per_s: float,
        burst: float | None = None,
        least_per_s: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = Pace(
            per_s=per_s,
            burst=max(1.0, per_s) if burst is None else burst,
            least_per_s=per_s / 100 if least_per_s is None else least_per_s,
            gain_per_s=per_s / 20,
        )
        self._now = now
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiter] = {}
        self._number = 0

    @property
    def rate_per_s(self) -> float:
        """The present rate."""
        return self._pace.rate_per_s

    @contextmanager
    def turn(self, lane: Lane, call: Call | None = None, *, within_s: float = WITHIN_S) -> Iterator[None]:
        """Wait, in a plain method, for the turn to make one call to the far side inside the `with`.

        Raises `throttled` (ContractError) if the turn would not come within `within_s`, and `cancelled` as soon as
        `call` is asked to stop; a purchase that has begun nothing is then `not_made`. A `throttled` raised inside
        slows everybody down.
        """
        taken_at = self._wait(lane, call, within_s)
        with self._listening(taken_at):
            yield

    @asynccontextmanager
    async def turn_async(
        self, lane: Lane, call: Call | None = None, *, within_s: float = WITHIN_S
    ) -> AsyncIterator[None]:
        """As `turn`, for an `async` method: `async with limit.turn_async(Lane.READ): …`."""
        taken_at = await self._wait_async(lane, call, within_s)
        with self._listening(taken_at):
            yield

    def throttled(self, retry_after_s: float = 0.0) -> None:
        """Tell of a refusal that was not raised inside a `turn` as a ContractError."""
        now = self._now()
        self._slow_down(now, now, retry_after_s)

    @contextmanager
    def _listening(self, taken_at: float) -> Iterator[None]:
        try:
            yield
        except ContractError as refusal:
            if refusal.error_class is ErrorClass.THROTTLED:
                self._slow_down(self._now(), taken_at, refusal.data.retry_after_s or 0)
            raise

    def _slow_down(self, now: float, taken_at: float, retry_after_s: float) -> None:
        with self._lock:
            self._pace.throttled(now, taken_at=taken_at, retry_after_s=retry_after_s)

    def _wait(self, lane: Lane, call: Call | None, within_s: float) -> float:
        woken = threading.Event()
        waiter, ends_at = self._enter(lane, call, woken.set), self._now() + within_s
        try:
            while (left_s := self._step(waiter)) > 0:
                self._give_up_if_due(call, ends_at, left_s)
                woken.wait(min(left_s, LOOK_S))
                woken.clear()
            return self._now()
        finally:
            self._leave(waiter)

    async def _wait_async(self, lane: Lane, call: Call | None, within_s: float) -> float:
        token = trio.lowlevel.current_trio_token()
        woken = trio.Event()

        def ring() -> None:
            woken.set()  # the event of the moment it runs, not of the moment it was asked for

        waiter, ends_at = self._enter(lane, call, lambda: token.run_sync_soon(ring)), self._now() + within_s
        try:
            while (left_s := self._step(waiter)) > 0:
                self._give_up_if_due(call, ends_at, left_s)
                with trio.move_on_after(min(left_s, LOOK_S)):
                    await woken.wait()
                woken = trio.Event()
            return self._now()
        finally:
            self._leave(waiter)

    def _enter(self, lane: Lane, call: Call | None, wake: Callable[[], object]) -> _Waiter:
        with self._lock:
            if len(self._waiting) >= WAITING:
                raise _throttled(call, self._pace.wait_s(self._now()))
            self._number += 1
            waiter = self._waiting[self._number] = _Waiter(lane, self._number, wake)
            return waiter

    def _step(self, waiter: _Waiter) -> float:
        """0.0 when the turn is taken, else how long until it may come; at least one look for who is not first."""
        with self._lock:
            left_s = self._pace.wait_s(self._now())
            if min(self._waiting.values()) is not waiter:
                return max(left_s, LOOK_S)
            if left_s == 0:
                self._pace.take(self._now())
            return left_s

    def _leave(self, waiter: _Waiter) -> None:
        with self._lock:
            del self._waiting[waiter.number]
            if self._waiting:
                min(self._waiting.values()).wake()

    def _give_up_if_due(self, call: Call | None, ends_at: float, left_s: float) -> None:
        if call is not None and (call.cancelled or call.stopping):
            raise ContractError(ErrorClass.CANCELLED, outcome=_outcome(call))
        now = self._now()
        if now + left_s > ends_at and (left_s > LOOK_S or now >= ends_at):
            raise _throttled(call, left_s)


def _throttled(call: Call | None, left_s: float) -> ContractError:
    detail = "the rate budget of the far side is used up"
    return ContractError(ErrorClass.THROTTLED, detail, outcome=_outcome(call), retry_after_s=max(1, math.ceil(left_s)))


def _outcome(call: Call | None) -> Outcome | None:
    if call is None or call.method != "request":
        return None
    return Outcome.UNKNOWN if call.begun else Outcome.NOT_MADE
