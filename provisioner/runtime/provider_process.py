"""The one process of a provider: started when what was left of the last is proven gone, opened, called, ended.

It decides nothing: when it is started, opened or ended is owed by the facts. What is said over it is another's.
"""

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

import trio

from provider_sdk.contract import VERSIONS, InitializeResult
from provider_sdk.contract.versions import spoken
from provisioner.core import events
from provisioner.core.effects import Effect, OpenProvider, StartProcess, StopProcess
from provisioner.core.events import Event, Moment
from provisioner.core.ids import digest
from provisioner.core.settings import Keep, ProviderSettings
from provisioner.core.world import World
from provisioner.edge import from_provider, to_provider
from provisioner.edge.peer import Notified
from provisioner.edge.redaction import secrets_in_config
from provisioner.edge.rest_calls import LastWords
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime import supervision
from provisioner.runtime.call_outcomes import Outcome, decoded, why_not_opened
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.provider_reports import NoteBudget, PingWords, report_events
from provisioner.runtime.stale_group import StillThere, end_stale_group
from provisioner.runtime.supervision import Graces, Log, Pings, ProcessSpec, Unwritten
from provisioner.runtime.supervisor import ProviderProcess, open_process

STALE_AGAIN_S = 1.0
KEEP = Keep()


class Committed(Protocol):
    """What a provider link needs of the engine."""

    def world(self) -> World | None:
        """The committed world."""
        ...

    def moment(self) -> Moment:
        """Now."""
        ...

    def is_owed(self, effect: Effect) -> bool:
        """Whether the committed state still owes this effect."""
        ...

    async def tell(self, event: Event) -> None:
        """Hands in an event."""
        ...


def process_marker(lineage: str, provider: str, epoch: int, number: int) -> str:
    """The mark by which what one process left behind is known again, also by the next daemon."""
    return digest("process", lineage, provider, str(epoch), str(number), length=26)


class ProcessSeat:
    """Where the one process of a provider sits; a new one sits down only when the last is proven gone."""

    def __init__(
        self,
        settings: ProviderSettings,
        who: Identity,
        folders: Folders,
        engine: Committed,
        nursery: trio.Nursery,
        log: Log,
        *,
        keep: Keep = KEEP,
    ) -> None:
        self._settings, self._who, self._folders = settings, who, folders
        self._engine, self._nursery, self._log = engine, nursery, log
        self._keep = keep
        self._process: ProviderProcess | None = None
        self._number = 0
        self._proven: int | None = None
        """The process of which nothing exists any more, so that the whole table need not be searched for it again."""
        self._before: LastWords | None = None
        self._is_asked = False

    async def start(self, effect: StartProcess) -> None:
        """Starts the process; the outcome is an event."""
        left = await self._end_what_was_left()
        if left is not None:
            await self._engine.tell(events.ProcessNotSpawned(effect.key, effect.provider, effect.number, left))
            return
        self._before = self._words() or self._before
        self._process, self._number = None, effect.number
        try:
            self._process = await open_process(
                self._spec(effect), self._nursery, self._reporter(effect.number), log=self._log
            )
        except SpawnRefused as why:
            await self._engine.tell(events.ProcessNotSpawned(effect.key, effect.provider, effect.number, str(why)))
            return
        who = self._process.identity
        await self._engine.tell(
            events.ProcessSpawned(
                effect.key,
                effect.provider,
                effect.number,
                who.pid,
                who.start_ticks,
                who.boot_id,
                self._process.memory_by,
            )
        )

    async def end(self, reason: str) -> None:
        """Ends the process by the ladder, if there is one; what it still answers meanwhile is heard."""
        if self._process is not None and self._process.ended is None:
            await self._process.stop(reason)

    async def _end_what_was_left(self) -> str | None:
        """None once nothing of the process started last exists any more; else a sentence that names what is left."""
        world = self._engine.world()
        before = world.processes.get(self._settings.name) if world is not None else None
        if world is None or before is None or before.number == self._proven:
            return None
        marker = process_marker(world.lineage, self._settings.name, before.epoch, before.number)
        proof = await end_stale_group(before.pid, before.start_ticks, before.boot_id, marker=marker)
        if isinstance(proof, StillThere):
            pids = ", ".join(str(p) for p in proof.pids)
            return f"processes of an earlier start are still there and can't be ended: {pids}; end them by hand"
        self._proven = before.number
        return None

    def _spec(self, effect: StartProcess) -> ProcessSpec:
        limits = self._settings.limits
        return ProcessSpec(
            provider=self._settings.name,
            argv=self._settings.command,
            marker=process_marker(self._who.lineage, self._settings.name, effect.epoch, effect.number),
            run_dir=self._folders.run_dir,
            state_dir=self._folders.state_dir,
            credentials_dir=self._folders.credentials_dir,
            credential_files=self._settings.credentials.file,
            env_names=self._settings.credentials.env,
            program_dir=_program_dir(),
            calls=limits.calls,
            frame_bytes=limits.frame_bytes,
            tail_bytes=self._keep.log_tail_bytes,
            number=effect.number,
            config_secrets=tuple(secrets_in_config(self._settings.config)),
            blackbox_dir=self._folders.blackbox_dir,
            blackbox_bytes=self._keep.blackbox_bytes,
            stderr_rate=limits.stderr_rate,
            memory_bytes=limits.memory_bytes,
            groups_dir=self._folders.groups_dir,
            graces=Graces(exit_s=max(limits.stop_s, 0.1), term_s=max(limits.stop_s, 0.1)),
            pings=Pings(quiet_s=limits.ping_s),
        )

    def _reporter(self, number: int) -> Callable[[supervision.Report], Awaitable[None]]:
        notes, pings = NoteBudget(), PingWords()

        async def report(news: supervision.Report) -> None:
            is_note = isinstance(news, Notified) and news.name == "log"
            if is_note and not notes.allows(self._engine.moment().boot_s, self._log):
                return
            if isinstance(news, supervision.Ended):
                await self._prove_end(news)
                self._proven = number
            if isinstance(news, supervision.PingAnswered):
                found: Iterable[Event] = pings.events(self._settings.name, number, news.answer)
            else:
                found = report_events(self._settings.name, number, news, self._log)
            for event in found:
                await self._engine.tell(event)

        return report

    async def _prove_end(self, ended: supervision.Ended) -> None:
        """The end of a process closes its frames, so it is told only once nothing of it can act any more."""
        who = ended.identity
        while not ended.is_gone:
            proof = await end_stale_group(who.pid, who.start_ticks, who.boot_id, marker=who.marker)
            if not isinstance(proof, StillThere):
                return
            self._log.warning("process_not_gone", pids=proof.pids, then="its frames stay open; tried again")
            await trio.sleep(STALE_AGAIN_S)

    async def open(self, effect: OpenProvider) -> None:
        """The handshake; the outcome is an event."""
        params = to_provider.initialize_params(self._who, self._settings, self._folders, effect.epoch)
        outcome = await self.call(effect.number, "initialize", params, self._settings.limits.start_s)
        answer = decoded(InitializeResult, outcome, lambda why: self._log.warning("answer_unreadable", why=why))
        if isinstance(answer, InitializeResult) and answer.version not in VERSIONS:
            detail = f"it answered {answer.version}, which was not offered; this daemon speaks {spoken()}"
            await self._not_opened(effect, "version", detail)
        elif isinstance(answer, InitializeResult) and self._process is not None:
            promises = from_provider.promises(answer.promises)
            self._process.handshake_done(promises.in_flight)
            name, version, kinds, capabilities = from_provider.opened_words(answer)
            await self._engine.tell(
                events.ProviderOpened(
                    effect.key,
                    effect.provider,
                    effect.number,
                    name,
                    version,
                    kinds,
                    capabilities,
                    promises,
                    answer.state_id,
                    answer.version,
                )
            )
        else:
            error_class, detail = why_not_opened(answer)
            await self._not_opened(effect, error_class, detail)

    async def _not_opened(self, effect: OpenProvider, error_class: str, detail: str) -> None:
        self._log.warning("handshake_failed", error_class=error_class, why=detail)
        await self._engine.tell(
            events.ProviderNotOpened(effect.key, effect.provider, effect.number, error_class, detail)
        )

    async def stop(self, effect: StopProcess) -> None:
        """Its outcome is the end of the process, told by the reporter; where there is none to end, that is told
        here."""
        if self._process is not None and self._number == effect.number and self._process.ended is None:
            await self._process.stop(effect.reason)
            return
        await self._engine.tell(events.ProcessEnded(effect.provider, effect.number, 0, effect.reason))

    def last_words(self) -> list[LastWords]:
        """What the present process and the one before it wrote to stderr last, oldest process first."""
        return [words for words in (self._before, self._words()) if words is not None]

    def _words(self) -> LastWords | None:
        if self._process is None:
            return None
        first, lines = self._process.last_words
        ended = self._process.ended
        return LastWords(self._number, None if ended is None else ended.reason, first, lines)

    async def ask(self, method: str, params: Mapping[str, object]) -> tuple[int, Outcome] | None:
        """One call by hand of the present process; None if one is open already."""
        if self._is_asked:
            await trio.lowlevel.checkpoint()
            return None
        self._is_asked = True
        try:
            return self._number, await self.call(self._number, method, dict(params))
        finally:
            self._is_asked = False

    def timeout_s(self, method: str) -> float:
        """How long an answer to this method is waited for: the promise, within the operator's bound."""
        world = self._engine.world()
        description = world.descriptions.get(self._settings.name) if world is not None else None
        promised = description.promises.answer_s.get(method, 60) if description is not None else 60
        return float(min(promised, self._settings.limits.call_s))

    async def call(
        self,
        number: int,
        method: str,
        params: dict[str, object],
        timeout_s: float | None = None,
        *,
        owed: Effect | None = None,
    ) -> Outcome:
        """One call of the process with this number; provably unwritten if that is not the present one."""
        process = self._process
        if process is None or number != self._number or process.ended is not None:
            await trio.lowlevel.checkpoint()
            return Unwritten("its process is not there any more")

        def check() -> str | None:
            return None if owed is None or self._engine.is_owed(owed) else "no longer owed"

        wait_s = self.timeout_s(method) if timeout_s is None else timeout_s
        return await process.call(method, params, wait_s, before_write=check)


def _program_dir() -> str:
    """The folder of the programs installed beside this one, so that providers we ship are found by name."""
    return str(Path(sys.executable).parent)
