"""How a call's outcome is read: as an answer of its method, a refusal, a lost frame or one never written; and what
stands for it where it is none.

It sends nothing and decides nothing.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from attrs import frozen

from provider_sdk.contract import BadShape, decode, decode_noting
from provider_sdk.contract import Report as WireReport
from provider_sdk.contract.versions import spoken
from provisioner.core import events
from provisioner.core.events import Lost, NotWritten, Refusal
from provisioner.core.model import Problem
from provisioner.edge import from_provider
from provisioner.edge.salvage import salvaged
from provisioner.runtime import supervision
from provisioner.runtime.supervision import Answered, Failed, Unwritten

T = TypeVar("T")
Told: TypeAlias = Callable[[str], object]
"""Takes a sentence for the log of what could not be read of an answer."""
Outcome: TypeAlias = Answered | Failed | Unwritten | supervision.Lost


@frozen
class Unreadable:
    """An answer that is no answer of its method; `detail` is safe to show."""

    detail: str


def decoded(cls: type[T], outcome: Outcome, told: Told) -> "T | Refusal | Lost | NotWritten | Unreadable":
    """The checked answer of a call, or what came instead; what could not be read of it is told."""
    match outcome:
        case Answered(result):
            return _read(cls, result, told)
        case Failed(error):
            return from_provider.refusal(error)
        case Unwritten(reason):
            return NotWritten(reason)
        case supervision.Lost(reason, ordered):
            return Lost(reason, at_crash=not ordered)


def _read(cls: type[T], result: Mapping[str, object], told: Told) -> T | Unreadable:
    try:
        read = decode_noting(cls, result)
        if read.skipped:
            told("; ".join(f"{skip.path} {skip.detail}" for skip in read.skipped)[:500])
        return read.value
    except BadShape as bad:
        why = str(bad)[:500]
    kept = salvaged(cls, result)
    try:
        if kept is not None and (kept.lost == 0 or cls is not WireReport):
            answer = decode(cls, kept.answer)
            told("; ".join(kept.faults)[:500])
            return answer
    except BadShape as bad:
        why = str(bad)[:500]
    told(why)
    return Unreadable(why)


def not_understood(why: Unreadable) -> Refusal:
    """It answered, but not in the contract's words: that proves nothing."""
    return Refusal(Problem("internal", detail=f"its answer can't be read: {why.detail}"[:500]), not_made=False)


def report_of(
    answer: WireReport | Refusal | Lost | NotWritten | Unreadable, request: str, token: str
) -> events.Report | Refusal | NotWritten | Lost:
    """A report on this very purchase, or what came instead."""
    if isinstance(answer, Unreadable):
        return not_understood(answer)
    if not isinstance(answer, WireReport):
        return answer
    if (answer.request_id, answer.token) != (request, token):
        return not_understood(
            Unreadable(f"it reports on {answer.request_id}/{answer.token}, asked was {request}/{token}")
        )
    return from_provider.report(answer)


def unanswered(answer: object) -> Refusal | NotWritten | Lost:
    """What stands for an item that an answer left out, or for an answer that did not come."""
    match answer:
        case Refusal() | NotWritten() | Lost():
            return answer
        case Unreadable():
            return not_understood(answer)
        case _:
            return Lost("left out of the answer; asked again")


def why_not_opened(answer: object) -> tuple[str, str]:
    """(error class, detail) of a handshake that failed."""
    match answer:
        case Refusal(problem=problem):
            detail = problem.detail or problem.reason or "no detail given"
            ours = f"; this daemon speaks {spoken()}" if problem.error_class == "version" else ""
            return problem.error_class, f"{detail}{ours}"
        case Unreadable(detail=detail):
            return "bad_message", f"its answer to initialize can't be read: {detail}"
        case Lost(reason=reason) | NotWritten(reason=reason):
            return "lost", reason
        case _:
            return "lost", "its process is not there any more"
