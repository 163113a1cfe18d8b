"""Runs a coroutine within the task that meets it, and says when it waits for the first time.

Knows how coroutines are stepped; must not know trio's loop, calls or frames.
"""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class FirstStep(Generic[T]):
    """Awaited, it is the coroutine's result; `on_wait` is called once, right before its first wait, if there is one.

    What never waits costs no task of its own and no pass of the event loop.
    """

    def __init__(self, work: Coroutine[Any, Any, T], on_wait: Callable[[], None]) -> None:
        self._work = work
        self._on_wait = on_wait

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        try:
            wanted = next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        self._on_wait()
        # As `yield from` would go on had it begun here. trio only ever sends; whatever else comes closes the work.
        try:
            while True:
                wanted = steps.send((yield wanted))
        except StopIteration as done:
            result = done.value
            return result
        finally:
            steps.close()
