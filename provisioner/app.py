"""The wiring: settings in, parts built, the one root nursery opened. No rule lives here."""

import os
import platform
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import trio

from provisioner.core.effects import Effect
from provisioner.core.settings import ProviderSettings, Settings
from provisioner.core.world import World
from provisioner.edge.rest_calls import LastWords
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime.beside import WorkThread, share_fairly
from provisioner.runtime.clock import Clock, SystemClock
from provisioner.runtime.collection import collect_seldom
from provisioner.runtime.control_group import NoGroups, find_room_for_groups
from provisioner.runtime.engine import Engine
from provisioner.runtime.links.link import Link
from provisioner.runtime.links.sqlite import open_sqlite
from provisioner.runtime.provider_link import ProviderLink
from provisioner.runtime.rest_doors import check_doors, read_token
from provisioner.runtime.rest_server import serve_rest
from provisioner.runtime.spawn import prepare_descriptors
from provisioner.runtime.subreaper import become_subreaper, reap_adopted
from provisioner.runtime.supervision import Log, Outcome

DISTRIBUTION = "resource-provisioner"


class StillNeeded(Exception):
    """The configuration lacks a provider of which something is not proven gone; nothing was started."""


class Providers:
    """The links to all configured providers; hands each effect to its own."""

    def __init__(self) -> None:
        self._links: dict[str, ProviderLink] = {}
        self._closed = False

    async def close(self) -> None:
        """Begins nothing more and ends every process in order; what is owed then is owed at the next start."""
        self._closed = True
        async with trio.open_nursery() as nursery:
            for link in self._links.values():
                nursery.start_soon(link.end, "the daemon is stopping")

    def begin(self, effect: Effect) -> None:
        """Begins an effect at its provider."""
        if self._closed:
            return
        self._links[effect.provider].begin(effect)

    def last_words(self, provider: str) -> list[LastWords]:
        """What a provider's processes wrote to stderr last."""
        return self._links[provider].last_words()

    async def ask(self, provider: str, method: str, params: Mapping[str, object]) -> tuple[int, Outcome] | None:
        """One call of a provider by hand."""
        return await self._links[provider].ask(method, params)

    def add(self, name: str, link: ProviderLink) -> None:
        """Makes a provider reachable."""
        self._links[name] = link


def program_version() -> str:
    """The version of the installed distribution."""
    return version(DISTRIBUTION)


def folders_of(settings: Settings, provider: ProviderSettings, groups_dir: str | None = None) -> Folders:
    """A provider's private folders, beside the facts: one a cluster and provider, kept over restarts and upgrades."""
    root = Path(settings.controller.path).absolute().parent / "providers" / provider.name
    credentials = str(root / "credentials") if provider.credentials.file else None
    return Folders(str(root / "state"), str(root / "run"), credentials, str(root / "blackbox"), groups_dir)


def _room_for_groups(settings: Settings, log: Log) -> str | None:
    """Where the control groups of providers with bounded memory go; None where there is no room or no need."""
    limited = [name for name, entry in settings.providers.items() if entry.limits.memory_bytes is not None]
    if not limited:
        return None
    try:
        return str(find_room_for_groups())
    except NoGroups as why:
        then = "their memory is bounded process by process"
        log.info("no_control_groups", providers=limited, why=str(why), then=then)
        return None


async def run_daemon(settings: Settings, log: Log, *, ready: Callable[[], None] | None = None) -> None:
    """Runs until SIGTERM or SIGINT, also in the middle of the start, then ends every provider in order.

    Raises FactsError, StillNeeded, DoorRefused.
    """
    prepare_descriptors()
    share_fairly()
    collect_seldom()
    become_subreaper()
    if settings.listen.http is not None:
        read_token(Path(settings.listen.http.token_file))  # before facts are made: it is no more than a look
    holder = f"{platform.node()}:{os.getpid()}"
    link = await open_sqlite(Path(settings.controller.path), settings.cluster, holder)
    try:
        check_doors(settings)  # before anything is started, but after a rival on the same facts was named
        async with trio.open_nursery() as nursery:
            stopping = trio.Event()
            await nursery.start(_watch_signals, stopping, log)
            nursery.start_soon(reap_adopted)
            async with running_engine(link, settings, SystemClock(), log, holder, stopping) as (engine, providers):
                await _unless(stopping, partial(_serve, nursery, engine, providers, settings, log, ready))
                await stopping.wait()
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await link.close()


async def _serve(
    nursery: trio.Nursery,
    engine: Engine,
    providers: Providers,
    settings: Settings,
    log: Log,
    ready: Callable[[], None] | None,
) -> None:
    """Returns once every door is served; of the providers nothing is said by that."""
    urls = await nursery.start(serve_rest, engine, providers, settings, log)
    log.info("ready", cluster=settings.cluster, listens=urls, providers=len(settings.providers))
    if ready is not None:
        ready()


async def _unless(stopping: trio.Event, step: Callable[[], Awaitable[object]]) -> None:
    """One step of the start, broken off as soon as the daemon is to stop, since it may wait for what never comes."""
    async with trio.open_nursery() as nursery:

        async def break_off() -> None:
            await stopping.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(break_off)
        if not stopping.is_set():
            await step()
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def running_engine(
    link: Link, settings: Settings, clock: Clock, log: Log, holder: str, stopping: trio.Event
) -> AsyncIterator[tuple[Engine, Providers]]:
    """An engine that has taken over, unless `stopping` came first, with its providers' links; at the block's end the
    providers end first, heard to the last."""
    providers = Providers()
    deciding, reading = WorkThread(), WorkThread()
    engine = Engine(link, settings, clock, providers.begin, log, holder, beside=deciding)
    who = Identity(settings.cluster, link.lineage, _name_form(holder), program_version())
    groups_dir = _room_for_groups(settings, log)
    async with trio.open_nursery() as engine_nursery:
        async with trio.open_nursery() as nursery:
            for name, entry in settings.providers.items():
                bound = log.bind(provider=name) if hasattr(log, "bind") else log
                folders = folders_of(settings, entry, groups_dir)
                reached = ProviderLink(entry, who, folders, engine, nursery, bound, keep=settings.keep, beside=reading)
                providers.add(name, reached)
            admit = partial(_refuse_if_still_needed, settings)
            await _unless(stopping, partial(engine_nursery.start, engine.run, admit))
            yield engine, providers
            await providers.close()
            nursery.cancel_scope.cancel()
        engine_nursery.cancel_scope.cancel()


def _refuse_if_still_needed(settings: Settings, world: World) -> None:
    living = {i.provider for i in world.live.values()} | {r.provider for r in world.open_requests.values()}
    missing = sorted(living - set(settings.providers))
    if missing:
        raise StillNeeded(
            f"the configuration lacks {', '.join(missing)}, of which things that cost money are not proven gone; "
            "put the entry back until its last instance is given back"
        )


def _name_form(holder: str) -> str:
    """The owner's name in the contract's name form."""
    kept = "".join(c if c.isalnum() else "-" for c in holder.lower())
    return kept.strip("-")[:40].strip("-") or "provisioner"


async def _watch_signals(
    stopping: trio.Event, log: Log, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for number in signals:
            log.info("stopping", signal=signal.Signals(number).name)
            stopping.set()
