"""One provider as the engine reaches it: effects become calls, answers become events, and every effect begun has an outcome.

It keeps no record of its own and decides nothing: what is said is read from the committed facts right before it is written.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import trio
from attrs import frozen

from provider_sdk.contract import (
    BadShape,
    DescribeResult,
    InitializeResult,
    ListResult,
    RequestStatusResult,
    ReturnResult,
    ReturnStatusResult,
    decode,
)
from provider_sdk.contract import Report as WireReport
from provisioner.core import events
from provisioner.core.effects import (
    AskRequest,
    AskReturn,
    Effect,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
    StopProcess,
)
from provisioner.core.events import Event, Lost, Moment, NotWritten, Refusal
from provisioner.core.ids import digest
from provisioner.core.model import Problem
from provisioner.core.settings import ProviderSettings
from provisioner.core.world import World
from provisioner.edge import from_provider, to_provider
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime import supervision
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.provider_reports import report_events
from provisioner.runtime.stale_group import StillThere, end_stale_group
from provisioner.runtime.supervision import Answered, Failed, Graces, Log, Pings, ProcessSpec, Unwritten
from provisioner.runtime.supervisor import ProviderProcess, open_process

ASKS_IN_A_FRAME = 500
PAGES_MOST = 10_000
STALE_AGAIN_S = 1.0

T = TypeVar("T")
Outcome = Answered | Failed | Unwritten | supervision.Lost


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


@frozen
class Unreadable:
    """An answer that is no answer of its method; `detail` is safe to show."""

    detail: str


class ProviderLink:
    """Carries out effects for one provider in the given nursery, one process at a time."""

    def __init__(
        self,
        settings: ProviderSettings,
        who: Identity,
        folders: Folders,
        engine: Committed,
        nursery: trio.Nursery,
        log: Log,
    ) -> None:
        self._settings, self._who, self._folders = settings, who, folders
        self._engine, self._nursery, self._log = engine, nursery, log
        self._process: ProviderProcess | None = None
        self._number = 0
        self._asks: list[AskRequest] = []
        self._return_asks: list[AskReturn] = []

    @property
    def process(self) -> ProviderProcess | None:
        """The present process, for logs and counts; None if there is none."""
        return self._process

    def begin(self, effect: Effect) -> None:
        """Begins one effect of this provider; asks that wait together travel together."""
        match effect:
            case AskRequest():
                self._asks.append(effect)
                if len(self._asks) == 1:
                    self._nursery.start_soon(self._ask_requests)
            case AskReturn():
                self._return_asks.append(effect)
                if len(self._return_asks) == 1:
                    self._nursery.start_soon(self._ask_returns)
            case _:
                self._nursery.start_soon(self._carry_out, effect)

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case StartProcess():
                await self._start(effect)
            case OpenProvider():
                await self._open(effect)
            case StopProcess():
                await self._stop(effect)
            case ReadDescription():
                await self._describe(effect)
            case ReadList():
                await self._list(effect, None)
            case ReadSome():
                await self._list(effect, effect.refs)
            case SendRequest():
                await self._send_request(effect)
            case SendReturn():
                await self._send_return(effect)
            case AskRequest() | AskReturn():
                raise AssertionError("asks are gathered in begin()")

    # --- the process --------------------------------------------------------------------------------------------------------------

    async def _start(self, effect: StartProcess) -> None:
        left = await self._end_what_was_left()
        if left is not None:
            await self._engine.tell(events.ProcessNotSpawned(effect.key, effect.provider, effect.number, left))
            return
        self._number = effect.number
        try:
            self._process = await open_process(
                self._spec(effect), self._nursery, self._reporter(effect.number), log=self._log
            )
        except SpawnRefused as why:
            await self._engine.tell(events.ProcessNotSpawned(effect.key, effect.provider, effect.number, str(why)))
            return
        who = self._process.identity
        await self._engine.tell(
            events.ProcessSpawned(effect.key, effect.provider, effect.number, who.pid, who.start_ticks, who.boot_id)
        )

    async def _end_what_was_left(self) -> str | None:
        """None once nothing of the process started last exists any more; else a sentence that names what is left."""
        world = self._engine.world()
        before = world.processes.get(self._settings.name) if world is not None else None
        if world is None or before is None:
            return None
        marker = process_marker(world.lineage, self._settings.name, before.epoch, before.number)
        proof = await end_stale_group(before.pid, before.start_ticks, before.boot_id, marker=marker)
        if isinstance(proof, StillThere):
            pids = ", ".join(str(p) for p in proof.pids)
            return f"processes of an earlier start are still there and can't be ended: {pids}; end them by hand"
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
            env_names=self._settings.credentials.env,
            program_dir=_program_dir(),
            calls=limits.calls,
            frame_bytes=limits.frame_bytes,
            graces=Graces(exit_s=max(limits.stop_s, 0.1), term_s=max(limits.stop_s, 0.1)),
            pings=Pings(quiet_s=limits.ping_s),
        )

    def _reporter(self, number: int) -> Callable[[supervision.Report], Awaitable[None]]:
        async def report(news: supervision.Report) -> None:
            if isinstance(news, supervision.Ended):
                await self._prove_end(news)
            for event in report_events(self._settings.name, number, news, self._log):
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

    async def _open(self, effect: OpenProvider) -> None:
        params = to_provider.initialize_params(self._who, self._settings, self._folders, effect.epoch)
        outcome = await self._call(effect.number, "initialize", params, self._settings.limits.start_s)
        answer = _decoded(InitializeResult, outcome)
        if isinstance(answer, InitializeResult) and answer.version not in to_provider.VERSIONS:
            detail = f"it answered version {answer.version}, we speak {', '.join(to_provider.VERSIONS)}"
            await self._engine.tell(
                events.ProviderNotOpened(effect.key, effect.provider, effect.number, "version", detail)
            )
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
                )
            )
        else:
            error_class, detail = _why_not_opened(answer)
            await self._engine.tell(
                events.ProviderNotOpened(effect.key, effect.provider, effect.number, error_class, detail)
            )

    async def _stop(self, effect: StopProcess) -> None:
        """Its outcome is the end of the process, told by the reporter; where there is none to end, that is told here."""
        if self._process is not None and self._number == effect.number and self._process.ended is None:
            await self._process.stop(effect.reason)
            return
        await self._engine.tell(events.ProcessEnded(effect.provider, effect.number, 0, effect.reason))

    # --- reading ------------------------------------------------------------------------------------------------------------------

    async def _describe(self, effect: ReadDescription) -> None:
        pages: list[DescribeResult] = []
        cursor: str | None = None
        for _ in range(PAGES_MOST):
            outcome = await self._call(effect.number, "describe", to_provider.describe_params(cursor))
            page = _decoded(DescribeResult, outcome)
            if not isinstance(page, DescribeResult):
                await self._read_failed(effect, "description", page)
                return
            pages.append(page)
            cursor = page.next
            if cursor is None:
                break
        revision, templates, limits = from_provider.pages_joined(pages)
        digest_ = from_provider.description_digest(templates, limits)
        await self._engine.tell(
            events.Described(effect.key, effect.provider, effect.number, revision, digest_, templates, limits)
        )

    async def _list(self, effect: ReadList | ReadSome, named: Sequence[str] | None) -> None:
        begun = self._engine.moment().boot_s
        pages: list[ListResult] = []
        cursor: str | None = None
        for _ in range(PAGES_MOST):
            outcome = await self._call(effect.number, "list", to_provider.list_params(cursor, named))
            page = _decoded(ListResult, outcome)
            if not isinstance(page, ListResult):
                await self._read_failed(effect, "list" if named is None else "named", page)
                return
            pages.append(page)
            cursor = page.next
            if cursor is None:
                break
        await self._engine.tell(
            events.Listed(
                key=effect.key,
                provider=effect.provider,
                number=effect.number,
                begun_boot_s=begun,
                complete=named is None and cursor is None and pages[-1].complete,
                age_s=max(p.age_s for p in pages),
                instances=tuple(from_provider.instance(i) for p in pages for i in p.instances),
                named=tuple(named or ()),
                not_found=tuple(ref for p in pages for ref in p.not_found),
                problems=tuple(from_provider.problem(x) for p in pages for x in p.problems),
            )
        )

    async def _read_failed(
        self, effect: ReadDescription | ReadList | ReadSome, what: str, why: "Refusal | Lost | NotWritten | Unreadable"
    ) -> None:
        outcome = _not_understood(why) if isinstance(why, Unreadable) else why
        await self._engine.tell(events.ReadFailed(effect.key, effect.provider, effect.number, what, outcome))

    # --- purchases and give-backs -------------------------------------------------------------------------------------------------

    async def _send_request(self, effect: SendRequest) -> None:
        world = self._engine.world()
        request = world.requests.get(effect.request) if world is not None else None
        if request is None or request.carrier is None:
            outcome: events.Report | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = self._engine.moment().boot_s + effect.timeout_s
            params = to_provider.request_params(self._who, request, request.carrier.epoch, not_after)
            called = await self._call(effect.number, "request", params, effect.timeout_s, owed=effect)
            answer = _decoded(WireReport, called)
            outcome = _report_of(answer, request.id, request.token)
        await self._engine.tell(
            events.RequestAnswered(effect.key, effect.provider, effect.number, effect.request, outcome)
        )

    async def _ask_requests(self) -> None:
        await trio.lowlevel.checkpoint()
        while self._asks:
            asked, self._asks = self._asks[:ASKS_IN_A_FRAME], self._asks[ASKS_IN_A_FRAME:]
            await self._ask_some_requests(asked)

    async def _ask_some_requests(self, asked: list[AskRequest]) -> None:
        world = self._engine.world()
        facts = [world.requests[a.request] for a in asked] if world is not None else []
        moment = self._engine.moment().boot_s
        called = await self._call(
            asked[0].number, "request_status", to_provider.request_status_params(self._who, facts)
        )
        answer = _decoded(RequestStatusResult, called)
        reports = (
            {(r.request_id, r.token): r for r in answer.requests} if isinstance(answer, RequestStatusResult) else {}
        )
        for ask, fact in zip(asked, facts, strict=True):
            wire = reports.get((fact.id, fact.token))
            outcome = from_provider.report(wire) if wire is not None else _unanswered(answer)
            await self._engine.tell(
                events.RequestAsked(ask.key, ask.provider, ask.number, ask.request, moment, outcome)
            )

    async def _send_return(self, effect: SendReturn) -> None:
        world = self._engine.world()
        giveback = world.returns.get(effect.return_id) if world is not None else None
        if giveback is None or giveback.carrier is None:
            outcome: events.ReturnWords | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = self._engine.moment().boot_s + self._timeout_s("return")
            params = to_provider.return_params(giveback, giveback.carrier.epoch, not_after)
            answer = _decoded(ReturnResult, await self._call(effect.number, "return", params, owed=effect))
            if isinstance(answer, ReturnResult):
                outcome = events.ReturnWords(tuple(from_provider.item_word(i) for i in answer.items))
            else:
                outcome = _not_understood(answer) if isinstance(answer, Unreadable) else answer
        await self._engine.tell(
            events.ReturnAnswered(
                effect.key, effect.provider, effect.number, effect.return_id, asked=False, outcome=outcome
            )
        )

    async def _ask_returns(self) -> None:
        await trio.lowlevel.checkpoint()
        while self._return_asks:
            asked, self._return_asks = self._return_asks[:ASKS_IN_A_FRAME], self._return_asks[ASKS_IN_A_FRAME:]
            params = to_provider.return_status_params([a.return_id for a in asked])
            answer = _decoded(ReturnStatusResult, await self._call(asked[0].number, "return_status", params))
            statuses = {s.return_id: s for s in answer.returns} if isinstance(answer, ReturnStatusResult) else {}
            for ask in asked:
                status = statuses.get(ask.return_id)
                if status is None:
                    outcome: events.ReturnWords | Refusal | NotWritten | Lost = _unanswered(answer)
                else:
                    items = tuple(from_provider.item_word(i) for i in status.items or ())
                    outcome = events.ReturnWords(items, known=status.items is not None)
                await self._engine.tell(
                    events.ReturnAnswered(ask.key, ask.provider, ask.number, ask.return_id, asked=True, outcome=outcome)
                )

    # --- calling ------------------------------------------------------------------------------------------------------------------

    def _timeout_s(self, method: str) -> float:
        world = self._engine.world()
        description = world.descriptions.get(self._settings.name) if world is not None else None
        promised = description.promises.answer_s.get(method, 60) if description is not None else 60
        return float(min(promised, self._settings.limits.call_s))

    async def _call(
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

        wait_s = self._timeout_s(method) if timeout_s is None else timeout_s
        return await process.call(method, params, wait_s, before_write=check)


def _program_dir() -> str:
    """The folder of the programs installed beside this one, so that providers we ship are found by name."""
    return str(Path(sys.executable).parent)


def _decoded(cls: type[T], outcome: Outcome) -> "T | Refusal | Lost | NotWritten | Unreadable":
    match outcome:
        case Answered(result):
            try:
                return decode(cls, result)
            except BadShape as bad:
                return Unreadable(str(bad)[:500])
        case Failed(error):
            return from_provider.refusal(error)
        case Unwritten(reason):
            return NotWritten(reason)
        case supervision.Lost(reason):
            return Lost(reason)


def _not_understood(why: Unreadable) -> Refusal:
    """It answered, but not in the contract's words: that proves nothing."""
    return Refusal(Problem("internal", detail=f"its answer can't be read: {why.detail}"[:500]), not_made=False)


def _report_of(
    answer: WireReport | Refusal | Lost | NotWritten | Unreadable, request: str, token: str
) -> events.Report | Refusal | NotWritten | Lost:
    if isinstance(answer, Unreadable):
        return _not_understood(answer)
    if not isinstance(answer, WireReport):
        return answer
    if (answer.request_id, answer.token) != (request, token):
        return _not_understood(
            Unreadable(f"it reports on {answer.request_id}/{answer.token}, asked was {request}/{token}")
        )
    return from_provider.report(answer)


def _unanswered(answer: object) -> Refusal | NotWritten | Lost:
    match answer:
        case Refusal() | NotWritten() | Lost():
            return answer
        case Unreadable():
            return _not_understood(answer)
        case _:
            return Lost("left out of the answer; asked again")


def _why_not_opened(answer: object) -> tuple[str, str]:
    match answer:
        case Refusal(problem=problem):
            return problem.error_class, problem.detail or problem.reason or "no detail given"
        case Unreadable(detail=detail):
            return "bad_message", f"its answer to initialize can't be read: {detail}"
        case Lost(reason=reason) | NotWritten(reason=reason):
            return "lost", reason
        case _:
            return "lost", "its process is not there any more"
