"""An engine in virtual time over facts in memory, with faults of the store on demand; effects are collected, not
carried out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog
import trio
from structlog.testing import ReturnLogger

from provisioner.core.effects import Effect, OpenProvider, ReadDescription, ReadList, StartProcess
from provisioner.core.events import Described, Listed, ProcessSpawned, ProviderOpened, SeenInstance
from provisioner.core.settings import Settings
from provisioner.runtime.clock import VirtualClock
from provisioner.runtime.engine import Engine
from provisioner.runtime.links.link import Batch, Committed, Outcome, Refused, Unknown
from provisioner.runtime.links.memory import MemoryLink
from provisioner.runtime.supervision import Log
from tests.core.play import HOST, TRUSTED

E = TypeVar("E")


class FaultyLink(MemoryLink):
    """Facts in memory whose next commits come out as told: each fault in `faults` is used up by one commit."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.faults: list[Refused | str] = []
        self.commits = 0

    async def commit(self, batch: Batch) -> Outcome:
        """A fault if one is due: `landed` and `lost` are the two truths behind an unknown outcome."""
        self.commits += 1
        if not self.faults:
            return await super().commit(batch)
        fault = self.faults.pop(0)
        if isinstance(fault, Refused):
            await trio.lowlevel.checkpoint()
            return fault
        if fault == "landed":
            assert isinstance(await super().commit(batch), Committed)
        return Unknown(f"the disk did not answer ({fault})")


class Begun:
    """Collects the effects an engine begins, with the facts as they were durable at that moment."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self._news = trio.Event()

    def __call__(self, effect: Effect) -> None:
        self.effects.append(effect)
        self._news.set()

    async def next(self, kind: type[E]) -> E:
        """The next effect of this kind, taken out; waits for it (in virtual time)."""
        with trio.fail_after(10_000):
            while True:
                for effect in self.effects:
                    if isinstance(effect, kind):
                        self.effects.remove(effect)
                        return effect
                self._news = trio.Event()
                await self._news.wait()


@asynccontextmanager
async def engine_on(
    link: MemoryLink, settings: Settings, log: Log | None = None
) -> AsyncIterator[tuple[Engine, Begun]]:
    """An engine that has taken over the facts of this link; it dies without a word at the block's end, as by kill
    -9."""
    begun = Begun()
    heard: Log = log if log is not None else structlog.wrap_logger(ReturnLogger())
    engine = Engine(link, settings, VirtualClock(), begun, heard, "test")
    async with trio.open_nursery() as nursery:
        await nursery.start(engine.run)
        yield engine, begun
        nursery.cancel_scope.cancel()


async def make_ready(
    engine: Engine, begun: Begun, provider: str, *listed: SeenInstance, capabilities: tuple[str, ...] = ()
) -> int:
    """Answers start, handshake, description and list of one provider; returns the process number."""
    start = await begun.next(StartProcess)
    await engine.tell(ProcessSpawned(start.key, provider, start.number, 4_242, 99, "boot"))
    opening = await begun.next(OpenProvider)
    said = ("p", "1", ("host",), capabilities, TRUSTED, "0123456789abcdef")
    await engine.tell(ProviderOpened(opening.key, provider, start.number, *said))
    described = await begun.next(ReadDescription)
    await engine.tell(Described(described.key, provider, start.number, "r1", "d1", (HOST,), ()))
    reading = await begun.next(ReadList)
    await engine.tell(Listed(reading.key, provider, start.number, engine.moment().boot_s, True, 0, listed))
    return start.number
