"""The daemon's half of a conversation without input or output: bytes in, frames read, calls matched, events decided.

It wires the product's own parts (FrameReader, Peer, the codec, the core) as the runtime does, in one thread and a
made-up time, so that a case takes a millisecond. It judges nothing.
"""

from collections.abc import Sequence
from typing import Any

from provider_sdk.contract import (
    VERSIONS,
    DescribeResult,
    ForgetResult,
    InitializeResult,
    ListResult,
    RequestStatusResult,
    ReturnResult,
    ReturnStatusResult,
)
from provider_sdk.contract import Report as WireReport
from provider_sdk.contract.framing import Frame, FrameReader
from provisioner.core import effects as fx
from provisioner.core import events
from provisioner.core.effects import Effect
from provisioner.core.events import Event
from provisioner.edge import from_provider, peer, to_provider
from provisioner.edge.descriptions import joined
from provisioner.edge.peer import Peer, SentCall
from provisioner.edge.to_provider import Folders, Identity
from provisioner.runtime.call_outcomes import (
    Outcome,
    Unreadable,
    decoded,
    not_understood,
    report_of,
    unanswered,
    why_not_opened,
)
from provisioner.runtime.provider_reports import report_events
from provisioner.runtime.supervision import Answered, Failed, Lost, PingAnswered
from tests.core.play import Play
from tests.runtime.scripted_provider import Lines

PROVIDER = "east"
FRAME_BYTES = 256 * 1024
CALLS_MOST = 60
"""Calls of one case: a provider that answers one page for ever is let go after so many."""
WHO = Identity("clu", "l-test", "me", "0")


class DaemonSide:
    """One provider's conversation over a played world; `calls` are all ever made, by id."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.peer = Peer()
        self.frames = FrameReader(FRAME_BYTES)
        self.log = Lines()
        self.calls: dict[int, tuple[SentCall, Effect | None]] = {}
        self.replies: list[dict[str, object]] = []
        self.outcomes: dict[int, int] = {}
        self.seen = 0
        self._pages: dict[int, list[Any]] = {}
        self._begun: set[object] = set()
        self._listening = play.world.seen.processes[PROVIDER].state.value in ("ready", "degraded")
        self.begin_owed()
        self.call("ping", {}, None)

    def call(self, method: str, params: dict[str, object], effect: Effect | None) -> int:
        """Opens one call; its id."""
        sent, _ = self.peer.call(method, params)
        self.calls[sent.id] = (sent, effect)
        return sent.id

    def begin_owed(self) -> None:
        """Opens a call for every effect of the provider that has none yet."""
        for key, effect in tuple(self.play.effects.items()):
            if key in self._begun or len(self.calls) >= CALLS_MOST:
                continue
            called = self._params(effect)
            if called is not None:
                self._begun.add(key)
                self.call(*called, effect)

    def feed(self, chunks: Sequence[bytes]) -> None:
        """Takes bytes of the provider's stdout in these pieces, and their end."""
        for chunk in chunks:
            self._take_all(self.frames.feed(chunk))
        self._take_all(self.frames.end())

    def cut(self) -> None:
        """The process is over: what is open is lost, then its end is told."""
        for call_id, (sent, effect) in tuple(self.calls.items()):
            if call_id not in self.outcomes:
                self.peer.forget(sent)
                self._settle(sent, effect, Lost("the process ended"))
        self.play.process_ends(PROVIDER)

    def _take_all(self, found: Sequence[object]) -> None:
        for each in found:
            self.seen += 1
            if isinstance(each, Frame):
                self._take(each.obj)
                self.begin_owed()

    def _take(self, message: dict[str, object]) -> None:
        match self.peer.receive(message):
            case peer.Answered(call=sent, answer=answer):
                outcome: Outcome = Answered(answer) if isinstance(answer, dict) else Failed(answer)  # type: ignore[arg-type]
                self._settle(sent, self.calls[sent.id][1], outcome)
            case peer.LateAnswer(is_examined=True) as late:
                self._tell(*report_events(PROVIDER, self._number, late, self.log))
            case peer.Notified(name=name) as said if self._listening or name == "log":
                self._tell(*report_events(PROVIDER, self._number, said, self.log))
            case peer.Asked(reply=reply):
                self.replies.append(reply)
            case _:
                pass

    @property
    def _number(self) -> int:
        return self.play.world.seen.processes[PROVIDER].number

    def _tell(self, *told: Event) -> None:
        for event in told:
            self.play.event(event)

    def _settle(self, sent: SentCall, effect: Effect | None, outcome: Outcome) -> None:
        self.outcomes[sent.id] = self.outcomes.get(sent.id, 0) + 1
        if effect is None:
            if isinstance(outcome, Answered | Failed):
                answer = outcome.result if isinstance(outcome, Answered) else outcome.error
                self._tell(*report_events(PROVIDER, self._number, PingAnswered(answer), self.log))
            return
        event = self._outcome(sent, effect, outcome)
        if event is not None:
            self.play.effects.pop(effect.key, None)
            self._tell(event)

    # --- what is asked, and what an answer is read as: the runtime's ProviderLink does both with real pipes

    def _params(self, effect: Effect) -> tuple[str, dict[str, object]] | None:
        world, until_s = self.play.world, self.play.now_s + 60
        match effect:
            case fx.SendRequest(request=id):
                return "request", to_provider.request_params(WHO, world.requests[id], 1, until_s)
            case fx.AskRequest(request=id):
                return "request_status", to_provider.request_status_params(WHO, [world.requests[id]])
            case fx.CancelRequest(request=id):
                return "cancel", to_provider.cancel_params(world.requests[id], 1, until_s)
            case fx.Forget(requests=ids, returns=returns):
                return "forget", to_provider.forget_params([world.requests[id].token for id in ids], returns)
            case fx.SendReturn(return_id=id):
                return "return", to_provider.return_params(world.returns[id], 1, until_s)
            case fx.AskReturn(return_id=id):
                return "return_status", to_provider.return_status_params([id])
            case _:
                return self._reading_params(effect)

    def _reading_params(self, effect: Effect) -> tuple[str, dict[str, object]] | None:
        match effect:
            case fx.OpenProvider(epoch=epoch):
                settings = self.play.settings.providers[PROVIDER]
                return "initialize", to_provider.initialize_params(WHO, settings, Folders("/s", "/r"), epoch)
            case fx.ReadDescription(known=known):
                return "describe", to_provider.describe_params(None, known)
            case fx.ReadList():
                return "list", to_provider.list_params(None)
            case fx.ReadSome(refs=refs):
                return "list", to_provider.list_params(None, refs)
            case _:  # starting and stopping are no calls; what else there may be is for the runtime's target alone
                return None

    def _outcome(self, sent: SentCall, effect: Effect, outcome: Outcome) -> Event | None:
        match effect:
            case fx.OpenProvider():
                return self._opened(effect, outcome)
            case fx.ReadDescription() | fx.ReadList() | fx.ReadSome():
                return self._read(sent, effect, outcome)
            case fx.SendRequest(key=key, number=number, request=id):
                return events.RequestAnswered(key, PROVIDER, number, id, self._report(id, outcome))
            case fx.CancelRequest(key=key, number=number, request=id):
                return events.CancelAnswered(key, PROVIDER, number, id, self.play.now_s, self._report(id, outcome))
            case fx.AskRequest():
                return self._asked(effect, self._decoded(RequestStatusResult, outcome))
            case fx.Forget():
                return self._forgot(effect, self._decoded(ForgetResult, outcome))
            case fx.SendReturn() | fx.AskReturn():
                return self._returned(effect, outcome)
            case _:
                raise AssertionError("no call is made for this")

    def _report(self, id: str, outcome: Outcome) -> Any:
        return report_of(self._decoded(WireReport, outcome), id, self.play.world.requests[id].token)

    def _forgot(self, effect: fx.Forget, answer: Any) -> Event:
        told = (effect.key, PROVIDER, effect.number, effect.requests, effect.returns)
        if isinstance(answer, ForgetResult):
            return events.ForgetAnswered(*told)
        return events.ForgetAnswered(*told, not_understood(answer) if isinstance(answer, Unreadable) else answer)

    def _decoded(self, cls: type[Any], outcome: Outcome) -> Any:
        return decoded(cls, outcome, lambda why: self.log.warning("answer_unreadable", why=why))

    def _opened(self, effect: fx.OpenProvider, outcome: Outcome) -> Event:
        answer = self._decoded(InitializeResult, outcome)
        if not isinstance(answer, InitializeResult) or answer.version not in VERSIONS:
            error_class, detail = why_not_opened(answer)
            return events.ProviderNotOpened(effect.key, PROVIDER, effect.number, error_class, detail)
        self._listening = True
        words, promised = from_provider.opened_words(answer), from_provider.promises(answer.promises)
        return events.ProviderOpened(
            effect.key, PROVIDER, effect.number, *words, promised, answer.state_id, answer.version
        )

    def _read(
        self, sent: SentCall, effect: fx.ReadDescription | fx.ReadList | fx.ReadSome, outcome: Outcome
    ) -> Event | None:
        is_list = not isinstance(effect, fx.ReadDescription)
        pages = self._pages.pop(sent.id, [])
        page = self._decoded(ListResult if is_list else DescribeResult, outcome)
        what = ("named" if isinstance(effect, fx.ReadSome) else "list") if is_list else "description"
        if not isinstance(page, ListResult | DescribeResult):
            failed = not_understood(page) if isinstance(page, Unreadable) else page
            return events.ReadFailed(effect.key, PROVIDER, effect.number, what, failed)
        pages.append(page)
        if page.next is not None and len(self.calls) < CALLS_MOST:
            self._pages[self.call(sent.method, {**sent.params, "cursor": page.next}, effect)] = pages
            return None
        if page.next is not None:
            endless = not_understood(Unreadable("it has no end"))
            return events.ReadFailed(effect.key, PROVIDER, effect.number, what, endless)
        return self._described(effect, pages) if isinstance(effect, fx.ReadDescription) else self._listed(effect, pages)

    def _described(self, effect: fx.ReadDescription, pages: list[DescribeResult]) -> Event:
        held = self.play.world.descriptions.get(PROVIDER)
        found = joined(pages, effect.known, held, whole=True)
        if isinstance(found, str):
            failed = not_understood(Unreadable(found))
            return events.ReadFailed(effect.key, PROVIDER, effect.number, "description", failed)
        said = (found.revision, found.digest, found.templates, found.limits)
        return events.Described(effect.key, PROVIDER, effect.number, *said)

    def _listed(self, effect: Effect, pages: list[ListResult]) -> Event:
        named = effect.refs if isinstance(effect, fx.ReadSome) else ()
        return events.Listed(
            key=effect.key,
            provider=PROVIDER,
            number=effect.key.process,
            begun_boot_s=self.play.now_s,
            complete=not named and pages[-1].complete,
            age_s=max(p.age_s for p in pages),
            instances=tuple(from_provider.instance(i) for p in pages for i in p.instances),
            named=named,
            not_found=tuple(ref for p in pages for ref in p.not_found),
            problems=tuple(from_provider.problem(x) for p in pages for x in p.problems),
        )

    def _asked(self, effect: fx.AskRequest, answer: object) -> Event:
        request = self.play.world.requests[effect.request]
        reports = answer.requests if isinstance(answer, RequestStatusResult) else ()
        wire = {(r.request_id, r.token): r for r in reports}.get((request.id, request.token))
        outcome = from_provider.report(wire) if wire is not None else unanswered(answer)
        return events.RequestAsked(effect.key, PROVIDER, effect.number, request.id, self.play.now_s, outcome)

    def _returned(self, effect: fx.SendReturn | fx.AskReturn, outcome: Outcome) -> Event:
        is_asked = isinstance(effect, fx.AskReturn)
        answer = self._decoded(ReturnStatusResult if is_asked else ReturnResult, outcome)
        told: events.ReturnWords | events.Refusal | events.Lost | events.NotWritten
        if isinstance(answer, ReturnStatusResult):
            status = {s.return_id: s for s in answer.returns}.get(effect.return_id)
            items = tuple(from_provider.item_word(i) for i in (status.items if status is not None else None) or ())
            known = status is not None and status.items is not None
            told = unanswered(answer) if status is None else events.ReturnWords(items, known=known)
        elif isinstance(answer, ReturnResult):
            told = events.ReturnWords(tuple(from_provider.item_word(i) for i in answer.items))
        else:
            told = not_understood(answer) if isinstance(answer, Unreadable) else answer
        return events.ReturnAnswered(
            effect.key, PROVIDER, effect.number, effect.return_id, asked=is_asked, outcome=told
        )
