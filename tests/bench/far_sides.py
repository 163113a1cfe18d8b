"""The two providers a demand's way is measured to: one inside the process, and a real one behind its pipes.

Knows when a purchase's frame came and lets it be answered when told. Must not know what is measured.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Protocol

import structlog
import trio
from attrs import evolve
from structlog.testing import ReturnLogger

from provisioner.core.effects import Effect, OpenProvider, ReadDescription, ReadList, SendRequest, StartProcess
from provisioner.core.events import (
    Described,
    Event,
    Listed,
    Moment,
    ProcessSpawned,
    ProviderOpened,
    Report,
    RequestAnswered,
    SeenInstance,
)
from provisioner.core.model import Kind
from provisioner.core.settings import ProviderSettings, Settings
from provisioner.core.world import World
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime.clock import SystemClock
from provisioner.runtime.engine import Engine
from provisioner.runtime.links.link import Link
from provisioner.runtime.provider_link import ProviderLink
from provisioner.runtime.supervision import Log
from tests.core.play import HOST, TRUSTED, settings_for

WITHIN_S = 30.0
PROVIDER = "east"
PROGRAM = Path(__file__).with_name("stamping_provider.py")


class FarSide(Protocol):
    """The far end of the daemon: purchases come there, and are answered when told."""

    async def framed_ns(self) -> int:
        """Waits for the next purchase's frame; when it came, in nanoseconds of CLOCK_MONOTONIC."""
        ...

    async def answer(self) -> None:
        """Has it answered (one machine made, and gone already), and waits until the engine was told."""
        ...


@asynccontextmanager
async def in_process(link: Link) -> AsyncIterator[tuple[Engine, FarSide]]:
    """An engine over this link whose provider is a callable: a frame counts as written when its effect is begun."""
    async with trio.open_nursery() as nursery:
        far = _Callable(link, settings_for(PROVIDER), nursery)
        with trio.fail_after(WITHIN_S):
            await nursery.start(far.engine.run)
            await far.listed.wait()
        yield far.engine, far
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def with_process(link: Link, folder: Path) -> AsyncIterator[tuple[Engine, FarSide]]:
    """An engine over this link that reaches its provider as the daemon does: a process, and frames over its pipes."""
    settings = _settings_with(ProviderSettings(name=PROVIDER, command=(sys.executable, str(PROGRAM), str(folder))))
    with _pipe(folder / "stamps") as stamps, _pipe(folder / "go") as go:
        async with trio.open_nursery() as engine_nursery:
            async with trio.open_nursery() as nursery:
                far = _Process(link, settings, folder, nursery, stamps, go)
                with trio.fail_after(WITHIN_S):
                    await engine_nursery.start(far.engine.run)
                    await far.listed.wait()
                yield far.engine, far
                nursery.cancel_scope.cancel()
            engine_nursery.cancel_scope.cancel()


class _Callable:
    """Answers every effect itself, but a purchase only when told."""

    def __init__(self, link: Link, settings: Settings, nursery: trio.Nursery) -> None:
        self.engine = Engine(link, settings, SystemClock(), self.begin, _silent(), "bench")
        self.listed = trio.Event()
        self._nursery = nursery
        self._send, self._receive = trio.open_memory_channel[tuple[int, SendRequest]](1)
        self._sent: SendRequest

    def begin(self, effect: Effect) -> None:
        if isinstance(effect, SendRequest):
            self._send.send_nowait((time.monotonic_ns(), effect))
        else:
            self._nursery.start_soon(self._answer, effect)

    async def _answer(self, effect: Effect) -> None:
        await self.engine.tell(_outcome(effect, self.engine.moment()))
        if isinstance(effect, ReadList):
            self.listed.set()

    async def framed_ns(self) -> int:
        with trio.fail_after(WITHIN_S):
            framed_ns, self._sent = await self._receive.receive()
        return framed_ns

    async def answer(self) -> None:
        sent, world = self._sent, self.engine.world()
        assert world is not None
        token = world.requests[sent.request].token
        gone = SeenInstance(f"i-{token}", Kind.HOST, 1, "gone", template=HOST.template, reason="expired")
        report = Report(sent.request, token, "made", (gone,))
        await self.engine.tell(RequestAnswered(sent.key, sent.provider, sent.number, sent.request, report))


class _Process:
    """Stands between the provider link and the engine to hear when a purchase's answer was handed in."""

    def __init__(
        self, link: Link, settings: Settings, folder: Path, nursery: trio.Nursery, stamps: int, go: int
    ) -> None:
        self.engine = Engine(link, settings, SystemClock(), self.begin, _silent(), "bench")
        self.listed = trio.Event()
        self._answered = trio.Event()
        self._stamps, self._go = stamps, go
        who = Identity(settings.cluster, link.lineage, "bench", "0")
        folders = Folders(str(folder / "state"), str(folder / "run"))
        self._link = ProviderLink(settings.providers[PROVIDER], who, folders, self, nursery, _silent())

    def begin(self, effect: Effect) -> None:
        self._link.begin(effect)

    def world(self) -> World | None:
        return self.engine.world()

    def moment(self) -> Moment:
        return self.engine.moment()

    def is_owed(self, effect: Effect) -> bool:
        return self.engine.is_owed(effect)

    async def tell(self, event: Event) -> None:
        await self.engine.tell(event)
        if isinstance(event, Listed):
            self.listed.set()
        elif isinstance(event, RequestAnswered):
            assert isinstance(event.outcome, Report), event.outcome
            self._answered.set()

    async def framed_ns(self) -> int:
        with trio.fail_after(WITHIN_S):
            await trio.lowlevel.wait_readable(self._stamps)
        return int.from_bytes(os.read(self._stamps, 8), "little")

    async def answer(self) -> None:
        self._answered = trio.Event()
        os.write(self._go, b"g")
        with trio.fail_after(WITHIN_S):
            await self._answered.wait()


def _outcome(effect: Effect, now: Moment) -> Event:
    """What comes of everything but purchases."""
    key, provider = effect.key, effect.provider
    match effect:
        case StartProcess(number=number):
            return ProcessSpawned(key, provider, number, 4_242, 99, "boot")
        case OpenProvider(number=number):
            return ProviderOpened(key, provider, number, "callable", "1", ("host",), (), TRUSTED, "5ca1ab1e5ca1ab1e")
        case ReadDescription(number=number):
            return Described(key, provider, number, "r1", "d1", (HOST,), ())
        case ReadList(number=number):
            return Listed(key, provider, number, now.boot_s, True, 0, ())
        case _:
            raise AssertionError(f"nothing here asks for {effect}")


def _settings_with(provider: ProviderSettings) -> Settings:
    return evolve(settings_for(provider.name), providers={provider.name: provider})


def _silent() -> Log:
    log: Log = structlog.wrap_logger(ReturnLogger())
    return log


@contextmanager
def _pipe(path: Path) -> Iterator[int]:
    """A named pipe, open at our end for both ways, so that neither side waits for the other to open it."""
    os.mkfifo(path, 0o600)
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
