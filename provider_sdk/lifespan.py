"""Holds an author's lifespan open: entered before the first call, left after the last one, in one task.

Knows context managers and threads; must not know what they hold open, nor calls.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import TypeAlias

import trio

from provider_sdk.author import AuthorThreads

Lifespan: TypeAlias = AbstractAsyncContextManager[object] | AbstractContextManager[object]
OPEN_S = 45.0
"""The handshake is waited for 60 s (HS-1); a far side that is down is no reason to fail here (HS-4)."""


class HeldOpen:
    """One lifespan in a task of a nursery: `await nursery.start(held.run)` returns when it is entered."""

    def __init__(self, lifespan: Lifespan, threads: AuthorThreads) -> None:
        self._lifespan = lifespan
        self._threads = threads
        self._may_end = trio.Event()
        self._ended = trio.Event()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Enter, stay until `end`, leave. What fails inside, such as a background task of the author, comes out."""
        try:
            async with self._entered():
                task_status.started()
                await self._may_end.wait()
        finally:
            self._ended.set()

    async def end(self) -> None:
        """Have it left, and wait for that; who has a bound cancels this and then the task."""
        self._may_end.set()
        await self._ended.wait()

    @asynccontextmanager
    async def _entered(self) -> AsyncIterator[None]:
        # nullcontext is both: the async way costs no thread.
        if isinstance(self._lifespan, AbstractAsyncContextManager):
            async with self._lifespan:
                yield
            return
        plain = self._lifespan
        await self._threads.run(plain.__enter__)
        try:
            yield
        finally:
            # In a cancelled scope this is skipped, and so it must be: the bound of the end is over.
            await self._threads.run(plain.__exit__, None, None, None)
