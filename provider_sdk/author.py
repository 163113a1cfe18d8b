"""Runs an author's method where it belongs: a plain one in a worker thread, an `async` one on trio.

Knows trio's threads; must not know the contract.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

import trio

P = ParamSpec("P")
T = TypeVar("T")

SPARE_THREADS = 4
"""Threads beyond the promised calls: for ping, open, shutdown and close, which never wait for a busy call."""


class AuthorThreads:
    """The worker threads of one provider; how many calls run at once is decided elsewhere."""

    def __init__(self) -> None:
        self._limiter = trio.CapacityLimiter(1 + SPARE_THREADS)
        self._is_async: dict[object, bool] = {}
        """By function: there are as many as a provider has methods."""

    def resize(self, in_flight: int) -> None:
        """Make room for the promised number of calls."""
        self._limiter.total_tokens = in_flight + SPARE_THREADS

    async def run(self, method: Callable[P, Awaitable[T] | T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run the method to its end; when cancelled, a plain method is left behind in its thread."""
        function = getattr(method, "__func__", method)
        is_async = self._is_async.get(function)
        if is_async is None:
            is_async = self._is_async[function] = inspect.iscoroutinefunction(method)
        if is_async:
            found: Awaitable[T] | T = method(*args, **kwargs)
        else:
            found = await trio.to_thread.run_sync(
                lambda: method(*args, **kwargs),
                thread_name=f"author: {method.__name__}",
                abandon_on_cancel=True,
                limiter=self._limiter,
            )
        if inspect.isawaitable(found):
            return await found
        return found
