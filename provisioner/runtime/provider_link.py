"""One provider as the engine reaches it: effects become calls, answers become events, and every effect begun has an
outcome.

It keeps no record of its own and decides nothing: what is said is read from the committed facts right before it is
written.
"""

from collections.abc import Mapping
from functools import partial
from typing import TypeVar

import trio

from provider_sdk.contract import (
    DescribeResult,
    ForgetResult,
    ListResult,
    RequestStatusResult,
    ReturnResult,
    ReturnStatusResult,
)
from provider_sdk.contract import Report as WireReport
from provisioner.core import events
from provisioner.core.effects import (
    AskQuote,
    AskRequest,
    AskReturn,
    CancelRequest,
    Effect,
    ExtendInstances,
    Forget,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
    StopProcess,
)
from provisioner.core.events import Lost, NotWritten, Refusal
from provisioner.core.providers import epoch_of
from provisioner.core.settings import Keep, ProviderSettings
from provisioner.edge import from_provider, to_provider
from provisioner.edge.descriptions import TEMPLATES_MOST, joined
from provisioner.edge.list_reader import ListPage, PageResult, page_of
from provisioner.edge.rest_calls import LastWords
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime.beside import Beside, at_once
from provisioner.runtime.call_outcomes import (
    Outcome,
    Told,
    Unreadable,
    decoded,
    not_understood,
    report_of,
    unanswered,
)
from provisioner.runtime.optional_calls import OptionalCalls
from provisioner.runtime.provider_process import KEEP, Committed, ProcessSeat
from provisioner.runtime.shown import Shown
from provisioner.runtime.supervision import Answered, Log

T = TypeVar("T")

ASKS_IN_A_FRAME = 500
PAGES_MOST = 10_000
LISTED_MOST = 250_000
"""A list without an end must not fill the memory."""

Said = SendRequest | CancelRequest | Forget | AskQuote | ExtendInstances | SendReturn
Carried = StartProcess | OpenProvider | StopProcess | ReadDescription | ReadList | ReadSome | Said


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
        *,
        keep: Keep = KEEP,
        beside: Beside = at_once,
    ) -> None:
        self._beside = beside
        self._seat = ProcessSeat(settings, who, folders, engine, nursery, log, keep=keep)
        self._who, self._engine, self._nursery, self._log = who, engine, nursery, log
        self._optional = OptionalCalls(self._seat, engine, self._told)
        self._asks: list[AskRequest] = []
        self._return_asks: list[AskReturn] = []

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

    def _told(self, why: str) -> None:
        self._log.warning("answer_unreadable", why=why)

    async def end(self, reason: str) -> None:
        """Ends the provider's process in order; its last answers still become events."""
        await self._seat.end(reason)

    def last_words(self) -> list[LastWords]:
        """What the present process and the one before it wrote to stderr last, oldest process first."""
        return self._seat.last_words()

    async def ask(self, method: str, params: Mapping[str, object]) -> tuple[int, Outcome] | None:
        """One call by hand, in the same conversation and within the same bounds; None if one is open already."""
        return await self._seat.ask(method, params)

    async def _carry_out(self, effect: Carried) -> None:
        match effect:
            case StartProcess():
                await self._seat.start(effect)
            case OpenProvider():
                await self._seat.open(effect)
            case StopProcess():
                await self._seat.stop(effect)
            case ReadDescription():
                await self._describe(effect)
            case ReadList() | ReadSome():
                await self._list(effect)
            case _:
                await self._say(effect)

    async def _say(self, effect: Said) -> None:
        match effect:
            case SendRequest():
                await self._send_request(effect)
            case CancelRequest():
                await self._cancel(effect)
            case Forget():
                await self._forget(effect)
            case AskQuote():
                await self._optional.quote(effect)
            case ExtendInstances():
                await self._optional.extend(effect)
            case SendReturn():
                await self._send_return(effect)

    # --- reading

    async def _describe(self, effect: ReadDescription) -> None:
        pages: list[DescribeResult] = []
        unread: list[str] = []
        cursor: str | None = None
        count = 0
        for _ in range(PAGES_MOST):
            params = to_provider.describe_params(cursor, effect.known)
            outcome = await self._seat.call(effect.number, "describe", params)
            page = await self._decoded(DescribeResult, outcome, "templates", unread.append)
            if not isinstance(page, DescribeResult):
                await self._read_failed(effect, "description", page)
                return
            pages.append(page)
            cursor = page.next
            if cursor is None:
                break
            count += len(page.templates)
            if count >= TEMPLATES_MOST or len(pages) == PAGES_MOST:
                await self._read_failed(effect, "description", _endless("description", count, "templates"))
                return
        await self._described(effect, pages, unread)

    async def _described(self, effect: ReadDescription, pages: list[DescribeResult], unread: list[str]) -> None:
        for why in unread:
            self._told(why)
        world = self._engine.world()
        held = world.descriptions.get(effect.provider) if world is not None else None
        pieces = sum(len(page.templates) for page in pages)
        found = await self._beside(pieces, partial(joined, pages, effect.known, held, whole=not unread))
        if isinstance(found, str):
            await self._read_failed(effect, "description", Unreadable(found))
            return
        said = (found.revision, found.digest, found.templates, found.limits)
        await self._engine.tell(events.Described(effect.key, effect.provider, effect.number, *said))

    async def _list(self, effect: ReadList | ReadSome) -> None:
        """Page by page: each is told when it is here, so that a long list is never held whole."""
        what, named = ("named", effect.refs) if isinstance(effect, ReadSome) else ("list", None)
        begun = self._engine.moment().boot_s
        shown = Shown()
        cursor: str | None = None
        for number in range(1, PAGES_MOST + 1):
            outcome = await self._seat.call(effect.number, "list", to_provider.list_params(cursor, named))
            page = await self._listed(outcome)
            if not isinstance(page, ListPage):
                await self._read_failed(effect, what, page)
                return
            shown.count += len(page.instances)
            if page.next is not None and (shown.count >= LISTED_MOST or number == PAGES_MOST):
                await self._read_failed(effect, what, _endless("list", shown.count, "instances"))
                return
            if page.next is None:
                await self._engine.tell(_end_of_list(effect, page, begun, shown))
                return
            cursor, is_first = page.next, shown.is_first
            shown.add(page)
            if page.instances:
                told = (begun, page.age_s, page.instances)
                await self._engine.tell(events.ListedPage(effect.provider, effect.number, *told, is_first=is_first))

    async def _listed(self, outcome: Outcome) -> "ListPage | Refusal | Lost | NotWritten | Unreadable":
        """One page in our own words; a long one that is not so yet is put into them beside the loop."""
        if isinstance(outcome, Answered) and isinstance(outcome.result, PageResult):
            return outcome.result.page
        page = await self._decoded(ListResult, outcome, "instances")
        if not isinstance(page, ListResult):
            return page
        return await self._beside(len(page.instances), partial(page_of, page))

    async def _decoded(
        self, cls: type[T], outcome: Outcome, items: str, told: Told | None = None
    ) -> "T | Refusal | Lost | NotWritten | Unreadable":
        """The checked answer; a long one is checked beside the loop."""
        found = outcome.result.get(items) if isinstance(outcome, Answered) else None
        pieces = len(found) if isinstance(found, list) else 1
        faults: list[str] = []
        answer = await self._beside(pieces, partial(decoded, cls, outcome, faults.append))
        for fault in faults:
            (told or self._told)(fault)
        return answer

    async def _read_failed(
        self, effect: ReadDescription | ReadList | ReadSome, what: str, why: "Refusal | Lost | NotWritten | Unreadable"
    ) -> None:
        outcome = not_understood(why) if isinstance(why, Unreadable) else why
        await self._engine.tell(events.ReadFailed(effect.key, effect.provider, effect.number, what, outcome))

    # --- purchases and give-backs

    async def _send_request(self, effect: SendRequest) -> None:
        world = self._engine.world()
        request = world.requests.get(effect.request) if world is not None else None
        if request is None or request.carrier is None:
            outcome: events.Report | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = self._engine.moment().boot_s + effect.timeout_s
            params = to_provider.request_params(self._who, request, request.carrier.epoch, not_after)
            called = await self._seat.call(effect.number, "request", params, effect.timeout_s, owed=effect)
            answer = decoded(WireReport, called, self._told)
            outcome = report_of(answer, request.id, request.token)
        await self._engine.tell(
            events.RequestAnswered(effect.key, effect.provider, effect.number, effect.request, outcome)
        )

    async def _cancel(self, effect: CancelRequest) -> None:
        world, moment = self._engine.world(), self._engine.moment().boot_s
        request = world.requests.get(effect.request) if world is not None else None
        if world is None or request is None:
            outcome: events.Report | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = moment + self._seat.timeout_s("cancel")
            params = to_provider.cancel_params(request, epoch_of(world, effect.provider), not_after)
            called = await self._seat.call(effect.number, "cancel", params, owed=effect)
            outcome = report_of(decoded(WireReport, called, self._told), request.id, request.token)
        await self._engine.tell(
            events.CancelAnswered(effect.key, effect.provider, effect.number, effect.request, moment, outcome)
        )

    async def _forget(self, effect: Forget) -> None:
        world = self._engine.world()
        tokens = [world.requests[id].token for id in effect.requests] if world is not None else []
        params = to_provider.forget_params(tokens, effect.returns)
        answer = decoded(ForgetResult, await self._seat.call(effect.number, "forget", params, owed=effect), self._told)
        told = (effect.key, effect.provider, effect.number, effect.requests, effect.returns)
        if isinstance(answer, ForgetResult):
            await self._engine.tell(events.ForgetAnswered(*told))
        else:
            refusal = not_understood(answer) if isinstance(answer, Unreadable) else answer
            await self._engine.tell(events.ForgetAnswered(*told, refusal))

    async def _ask_requests(self) -> None:
        await trio.lowlevel.checkpoint()
        while self._asks:
            asked, self._asks = _in_one_frame(self._asks)
            await self._ask_some_requests(asked)

    async def _ask_some_requests(self, asked: list[AskRequest]) -> None:
        world = self._engine.world()
        facts = [world.requests[a.request] for a in asked] if world is not None else []
        moment = self._engine.moment().boot_s
        called = await self._seat.call(
            asked[0].number, "request_status", to_provider.request_status_params(self._who, facts)
        )
        answer = decoded(RequestStatusResult, called, self._told)
        reports = (
            {(r.request_id, r.token): r for r in answer.requests} if isinstance(answer, RequestStatusResult) else {}
        )
        for ask, fact in zip(asked, facts, strict=True):
            wire = reports.get((fact.id, fact.token))
            outcome = from_provider.report(wire) if wire is not None else unanswered(answer)
            await self._engine.tell(
                events.RequestAsked(ask.key, ask.provider, ask.number, ask.request, moment, outcome)
            )

    async def _send_return(self, effect: SendReturn) -> None:
        world = self._engine.world()
        giveback = world.returns.get(effect.return_id) if world is not None else None
        if giveback is None or giveback.carrier is None:
            outcome: events.ReturnWords | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = self._engine.moment().boot_s + self._seat.timeout_s("return")
            params = to_provider.return_params(giveback, giveback.carrier.epoch, not_after)
            answer = decoded(
                ReturnResult, await self._seat.call(effect.number, "return", params, owed=effect), self._told
            )
            if isinstance(answer, ReturnResult):
                outcome = events.ReturnWords(tuple(from_provider.item_word(i) for i in answer.items))
            else:
                outcome = not_understood(answer) if isinstance(answer, Unreadable) else answer
        await self._engine.tell(
            events.ReturnAnswered(
                effect.key, effect.provider, effect.number, effect.return_id, asked=False, outcome=outcome
            )
        )

    async def _ask_returns(self) -> None:
        await trio.lowlevel.checkpoint()
        while self._return_asks:
            asked, self._return_asks = _in_one_frame(self._return_asks)
            params = to_provider.return_status_params([a.return_id for a in asked])
            called = await self._seat.call(asked[0].number, "return_status", params)
            answer = decoded(ReturnStatusResult, called, self._told)
            statuses = {s.return_id: s for s in answer.returns} if isinstance(answer, ReturnStatusResult) else {}
            for ask in asked:
                status = statuses.get(ask.return_id)
                if status is None:
                    outcome: events.ReturnWords | Refusal | NotWritten | Lost = unanswered(answer)
                else:
                    items = tuple(from_provider.item_word(i) for i in status.items or ())
                    outcome = events.ReturnWords(items, known=status.items is not None)
                await self._engine.tell(
                    events.ReturnAnswered(ask.key, ask.provider, ask.number, ask.return_id, asked=True, outcome=outcome)
                )


def _end_of_list(effect: ReadList | ReadSome, page: ListPage, begun: float, shown: Shown) -> events.Listed:
    named = effect.refs if isinstance(effect, ReadSome) else ()
    missing = (*shown.missing, *page.missing)
    return events.Listed(
        key=effect.key,
        provider=effect.provider,
        number=effect.number,
        begun_boot_s=begun,
        # Also where the last page says so: what stands in a place that could not be read is not absent (LS-5).
        complete=not named and page.complete and not missing,
        age_s=max(shown.age_s, page.age_s),
        instances=page.instances,
        named=tuple(named),
        not_found=(*shown.not_found, *page.not_found),
        problems=(*shown.problems, *page.problems),
        missing=missing,
        earlier=shown.by_pages(),
    )


Q = TypeVar("Q", AskRequest, AskReturn)


def _in_one_frame(waiting: list[Q]) -> tuple[list[Q], list[Q]]:
    """What travels in the next frame, and what is left: a suspect question goes alone, after all others."""
    together = [ask for ask in waiting if not ask.alone][:ASKS_IN_A_FRAME] or waiting[:1]
    taken = {ask.key for ask in together}
    return together, [ask for ask in waiting if ask.key not in taken]


def _endless(what: str, count: int, of: str) -> Unreadable:
    """A description or list that goes on; taking a part of it for the whole would be worse than none."""
    return Unreadable(f"its {what} has no end: {count:,} {of} came, and another page is said to follow")
