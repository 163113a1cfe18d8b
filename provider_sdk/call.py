"""One changing call as its author sees it: may it still begin something at the far side, and should it stop.

Knows the fence and the epoch memory; must not know the wire, the queue or the provider.
"""

import threading
from collections.abc import Callable
from typing import Literal

import trio

from provider_sdk.contract.words import ErrorClass, Outcome
from provider_sdk.errors import ContractError, StateError


class Call:
    """The licence of one changing call; safe to use from the handler's thread.

    Ask `check_fence` right before each far-side change. It is the only thing between a paused process and a
    purchase that its successor knows nothing of.
    """

    def __init__(
        self,
        *,
        method: str,
        epoch: int,
        not_after: float,
        boot_now: Callable[[], float],
        highest_epoch: Callable[[], int],
        on_superseded: Callable[[], None],
    ) -> None:
        self.method = method
        self.epoch = epoch
        self.not_after = not_after
        self._boot_now = boot_now
        self._highest_epoch = highest_epoch
        self._on_superseded = on_superseded
        self._lock = threading.Lock()
        self._passed = 0
        self._cancelled = False
        self._stopping = False
        self._asked_in_thread = threading.Event()
        self._asked = trio.Event()

    @property
    def cancelled(self) -> bool:
        """Whether the daemon waits no longer: stop at a safe point and answer what is true then (CC-6)."""
        return self._cancelled

    @property
    def stopping(self) -> bool:
        """Whether the process is about to end: finish soon or stop at a safe point (HS-8)."""
        return self._stopping

    @property
    def begun(self) -> bool:
        """Whether a fence check was passed, that is, whether something may have begun at the far side."""
        return self._passed > 0

    def check_fence(self) -> None:
        """Pass, or raise because this process may no longer change anything at the far side (clauses EP-2, EP-4).

        The first refusal of a call says `fenced`, `not_made`. After a passed check something may already be made, so
        a later one says `transient`, `unknown`; a handler that already knows of units answers a report instead (RQ-4).
        """
        self.check_start()
        with self._lock:
            self._passed += 1

    def check_start(self) -> None:
        """Refuse like `check_fence`, but without taking note that something may begin now; for the SDK itself."""
        why = self._why_not()
        if why is not None:
            raise self._fenced(why)

    def _fenced(self, why: str) -> ContractError:
        # Only the error of a purchase has an outcome; one in the answer to a cancel would be read as the purchase's.
        if self.method != "request":
            return ContractError(ErrorClass.FENCED, detail=why)
        if self.begun:
            detail = f"{why}, after a first far-side call"
            return ContractError(ErrorClass.TRANSIENT, outcome=Outcome.UNKNOWN, reason="fenced", detail=detail)
        return ContractError(ErrorClass.FENCED, outcome=Outcome.NOT_MADE, detail=why)

    def _why_not(self) -> str | None:
        if self._boot_now() >= self.not_after:
            return "not_after is over"
        try:
            highest = self._highest_epoch()
        except StateError:
            return "the memory of epochs can't be read"  # then nobody knows whether we are still the owner
        if highest > self.epoch:
            self._on_superseded()
            return "a higher epoch has been here"
        return None

    def pause(self, seconds: float) -> bool:
        """Wait in a plain method; True, at once, if the call is asked to stop. An `async` one uses `wait_to_stop`."""
        return self._asked_in_thread.wait(seconds)

    async def wait_to_stop(self) -> None:
        """Wait in an `async` method until the call is asked to stop (`cancelled` or `stopping` is true then)."""
        await self._asked.wait()

    def ask_to_stop(self, why: Literal["cancelled", "shutdown"]) -> None:
        """Tell the author to stop at the next safe point; nothing is undone by it. For the trio thread."""
        if why == "cancelled":
            self._cancelled = True
        else:
            self._stopping = True
        self._asked_in_thread.set()
        self._asked.set()
