"""One JSON-RPC conversation with a provider: gives out ids, matches answers by id alone, drops what fits nothing.

It alone uses jsonrpcclient. It does no input or output, knows no clock and no method's meaning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

import jsonrpcclient
from attrs import frozen

from provider_sdk.contract import ContractError, ErrorClass, ErrorData, Outcome
from provider_sdk.contract.envelope import Answer, ErrorAnswer, Malformed, Notification, Request, classify, error_object
from provider_sdk.contract.errors import read_error, write_error

__all__ = ["Answered", "Asked", "Incoming", "LateAnswer", "Notified", "Peer", "SentCall", "Stray"]

_EXAMINED_WHEN_LATE: Final = frozenset({"request", "cancel"})
_MOST_FORGOTTEN: Final = 1024
"""Forgotten calls end their process, so there are never many; the oldest would be dropped as unknown."""


@frozen(eq=False)
class SentCall:
    """A call of ours that is open or was forgotten; `params` as sent."""

    id: int
    method: str
    params: Mapping[str, object]


@frozen
class Answered:
    """An open call was answered, by a result or by an error."""

    call: SentCall
    answer: Mapping[str, object] | ErrorData


@frozen
class LateAnswer:
    """A call that nobody waits for any more was answered after all."""

    call: SentCall
    answer: Mapping[str, object] | ErrorData

    @property
    def is_examined(self) -> bool:
        """True for `request` and `cancel`, whose late answers may name what was bought; others are dropped (FR-5)."""
        return self.call.method in _EXAMINED_WHEN_LATE


@frozen
class Notified:
    """The provider said something unasked."""

    name: str
    params: Mapping[str, object]


@frozen
class Asked:
    """The provider asked something, which 2.x does not know (FR-6); `reply` is to be written."""

    reply: dict[str, object]


@frozen
class Stray:
    """A message that fits nothing was dropped and counted; `is_junk` if it is no message at all (FR-4)."""

    reason: str
    is_junk: bool


Incoming: TypeAlias = Answered | LateAnswer | Notified | Asked | Stray


class Peer:
    """The daemon's half of one conversation; its ids run from 1 and are never used twice.

    `counts` holds how often each kind of stray was dropped.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._last_id = 0
        self._open: dict[int, SentCall] = {}
        self._forgotten: dict[int, SentCall] = {}

    @property
    def open_calls(self) -> tuple[SentCall, ...]:
        """Calls given out and neither answered nor withdrawn nor forgotten, oldest first."""
        return tuple(self._open.values())

    def call(self, method: str, params: dict[str, object]) -> tuple[SentCall, dict[str, object]]:
        """A new open call and the message to be written for it."""
        self._last_id += 1
        sent = SentCall(self._last_id, method, params)
        self._open[sent.id] = sent
        message: dict[str, object] = jsonrpcclient.request(method, params, id=sent.id)
        message.setdefault("params", {})  # the library leaves empty params out, FR-2 wants an object
        return sent, message

    def notification(self, name: str, params: dict[str, object]) -> dict[str, object]:
        """The message of a notification."""
        message: dict[str, object] = jsonrpcclient.notification(name, params)
        message.setdefault("params", {})
        return message

    def withdraw(self, call: SentCall) -> None:
        """Takes back a call of which not one byte was written; its id stays used."""
        self._open.pop(call.id, None)

    def is_open(self, call_id: int, method: str) -> bool:
        """Whether a call of this method with this id is neither answered nor withdrawn nor forgotten."""
        call = self._open.get(call_id)
        return call is not None and call.method == method

    def answered(self, call_id: int) -> SentCall:
        """The open call with this id was answered by a message that was read elsewhere."""
        return self._open.pop(call_id)

    def forget(self, call: SentCall) -> None:
        """Nobody waits for this call any more; an answer that still comes is late."""
        if self._open.pop(call.id, None) is None:
            return
        self._forgotten[call.id] = call
        if len(self._forgotten) > _MOST_FORGOTTEN:
            del self._forgotten[next(iter(self._forgotten))]

    def receive(self, message: dict[str, object]) -> Incoming:
        """What a message that came in means for this conversation."""
        match classify(message):
            case Answer() | ErrorAnswer() as answer:
                return self._answered(answer.id, _parsed(answer))
            case Notification(method=name, params=params):
                return Notified(name, params)
            case Request(id=call_id, method=method):
                self.counts["requests"] += 1
                return _refusal(call_id, ErrorClass.UNKNOWN_METHOD, f"a daemon of contract 2.x answers no {method:.80}")
            case Malformed(reason=reason, id=int(call_id), answer_due=True):
                self.counts["junk"] += 1
                return _refusal(call_id, ErrorClass.BAD_MESSAGE, reason)
            case Malformed(reason=reason, id=int(call_id)) if call_id in self._open:
                self.counts["junk"] += 1
                detail = f"the provider's answer is no valid message: {reason}"
                return self._answered(call_id, ErrorData(ErrorClass.INTERNAL, outcome=Outcome.UNKNOWN, detail=detail))
            case Malformed(reason=reason):
                self.counts["junk"] += 1
                return Stray(reason, is_junk=True)

    def _answered(self, call_id: int, answer: Mapping[str, object] | ErrorData) -> Answered | LateAnswer | Stray:
        if (call := self._open.pop(call_id, None)) is not None:
            return Answered(call, answer)
        if (call := self._forgotten.pop(call_id, None)) is None:
            self.counts["unknown_id"] += 1
            return Stray(f"an answer to {call_id}, which is no open call", is_junk=False)
        self.counts["late"] += 1
        return LateAnswer(call, answer)


def _parsed(answer: Answer | ErrorAnswer) -> Mapping[str, object] | ErrorData:
    """The library's reading of an answer already known to be one: it sees a result wherever there is one, even null."""
    if isinstance(answer, Answer):
        parsed = jsonrpcclient.parse({"id": answer.id, "result": answer.result})
    else:
        parsed = jsonrpcclient.parse({"id": answer.id, "error": {"code": None, "message": None, **answer.error}})
    if isinstance(parsed, jsonrpcclient.Ok):
        result: Mapping[str, object] = parsed.result
        return result
    assert isinstance(parsed, jsonrpcclient.Error)  # noqa: S101  one object is never a batch
    return read_error({"code": parsed.code, "message": parsed.message, "data": parsed.data})


def _refusal(call_id: int, error_class: ErrorClass, detail: str) -> Asked:
    return Asked(error_object(call_id, write_error(ContractError(error_class, detail))))
