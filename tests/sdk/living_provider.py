"""A provider for tests of real processes whose lifespan holds a client, shows a secret and may fail."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from provider_sdk.contract import ListParams, ListResult
from provider_sdk.provider import Start
from provider_sdk.serve import serve
from tests.sdk.shop import Shop


class Living(Shop):
    """Its configuration says whether its background task fails."""

    @asynccontextmanager
    async def lifespan(self, start: Start) -> AsyncIterator[None]:
        key = start.credentials.get("far.key").reveal()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.watch, key, bool(start.config.get("fails")))
            start.log.info("entered", key=key)
            yield
            start.log.info("left")
            nursery.cancel_scope.cancel()

    async def watch(self, key: str, fails: bool) -> None:
        self.called = trio.Event()
        await self.called.wait()
        if fails:
            raise RuntimeError(f"the far side does not like {key}")

    async def list_(self, params: ListParams) -> ListResult:
        self.called.set()
        await trio.sleep_forever()
        raise AssertionError

    def close(self) -> None:
        assert self.start is not None
        self.start.log.info("closed")


if __name__ == "__main__":
    sys.exit(serve(Living()))
