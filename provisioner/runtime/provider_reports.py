"""What a provider says unasked, or what is seen of its process, as events; notifications that can't be read are
logged and dropped (NT-1)."""

from collections.abc import Iterator, Mapping

from provider_sdk.contract import (
    BadShape,
    CancelParams,
    Changed,
    ErrorData,
    PingResult,
    Progress,
    RequestParams,
    decode,
)
from provider_sdk.contract import Log as LogNote
from provider_sdk.contract import Notice as NoticeNote
from provider_sdk.contract import Report as WireReport
from provider_sdk.contract.types import InstanceNotice
from provisioner.core import events
from provisioner.core.events import Event
from provisioner.core.model import Notice
from provisioner.edge import from_provider, peer
from provisioner.edge.salvage import salvaged
from provisioner.runtime import supervision
from provisioner.runtime.stderr_tail import last_said
from provisioner.runtime.supervision import Log

NOTES_MOST, NOTES_PER_S = 100, 10.0
"""How many of a provider's `log` notifications are logged within how many seconds; more are counted."""


class NoteBudget:
    """Bounds what a provider may write into our log by notifications."""

    def __init__(self) -> None:
        self._since_s = float("-inf")
        self._count = 0

    def allows(self, now_s: float, log: Log) -> bool:
        """Whether one more note is logged now; at the end of a window the number of those left out is."""
        if now_s - self._since_s >= NOTES_PER_S:
            if self._count > NOTES_MOST:
                log.warning("notes_left_out", count=self._count - NOTES_MOST, within_s=NOTES_PER_S)
            self._since_s, self._count = now_s, 0
        self._count += 1
        return self._count <= NOTES_MOST


class PingWords:
    """What the answers to one process's pings come to; nearly always one says the same as the last, and is not read."""

    def __init__(self) -> None:
        self._said = ""
        self._found: tuple[Event, ...] = ()

    def events(self, provider: str, number: int, answer: Mapping[str, object] | ErrorData) -> tuple[Event, ...]:
        """As `report_events`, of this answer."""
        said = repr(answer)  # not the values, of which 1 and true are equal
        if said != self._said:
            self._said, self._found = said, tuple(_pinged(provider, number, answer))
        return self._found


def report_events(provider: str, number: int, news: supervision.Report, log: Log) -> Iterator[Event]:
    """The events one report of the supervisor comes to, in order."""
    match news:
        case peer.Notified(name, params):
            yield from _notified(provider, number, name, params, log)
        case peer.LateAnswer():
            yield from _late(provider, number, news)
        case supervision.Quiet():
            yield events.HealthSeen(provider, number, "quiet")
        case supervision.HeardAgain():
            yield events.HealthSeen(provider, number, "ok")
        case supervision.PingAnswered(answer):
            yield from _pinged(provider, number, answer)
        case supervision.Ended():
            status = news.status
            code = -1 if status is None or status.code is None else status.code
            yield events.ProcessEnded(provider, number, code, news.reason, last_said(news.stderr_tail))


def _notified(provider: str, number: int, name: str, params: Mapping[str, object], log: Log) -> Iterator[Event]:
    try:
        if name == "changed":
            changed = decode(Changed, params)
            what = tuple(w.value for w in changed.what)
            yield events.ProviderHinted(provider, number, what, changed.instances, changed.requests)
        elif name == "notice":
            for item in decode(NoticeNote, params).items:
                said = from_provider.notice(InstanceNotice(item.kind, item.deadline, item.detail)) or Notice(
                    "withdrawn"
                )
                yield events.NoticeGiven(provider, number, item.instance, said)
        elif name == "progress":
            told = decode(Progress, params)
            yield events.ProgressTold(provider, number, told.request_id, told.phase, told.eta_s)
        elif name == "log":
            note = decode(LogNote, params)
            log.info("provider_says", level=note.level.value, text=note.text)
    except BadShape as bad:
        log.warning("notification_unreadable", name=name, why=str(bad)[:200])


def _late(provider: str, number: int, late: peer.LateAnswer) -> Iterator[Event]:
    if isinstance(late.answer, ErrorData):
        return
    if late.call.method == "request":
        asked: RequestParams | CancelParams = decode(RequestParams, late.call.params)
    elif late.call.method == "cancel":
        asked = decode(CancelParams, late.call.params)
    else:
        return
    kept = salvaged(WireReport, late.answer)
    try:
        report = decode(WireReport, late.answer if kept is None else kept.answer)
    except BadShape:
        return
    if report.token == asked.token:
        said, closes = from_provider.report(report), isinstance(asked, RequestParams)
        yield events.LateAnswer(provider, number, asked.request_id, said, closes_frame=closes)


def _pinged(provider: str, number: int, answer: Mapping[str, object] | ErrorData) -> Iterator[Event]:
    if isinstance(answer, ErrorData):
        yield events.HealthSeen(provider, number, "degraded", from_provider.problem(answer))
        return
    try:
        ping = decode(PingResult, answer)
    except BadShape:
        yield events.HealthSeen(provider, number, "degraded")
        return
    problem = from_provider.problem(ping.problem) if ping.problem is not None else None
    yield events.HealthSeen(provider, number, ping.health.value, problem)
