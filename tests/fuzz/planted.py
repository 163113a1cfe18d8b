"""Faults planted in the product, one rule switched off at a time, each with the target that must find it."""

from collections.abc import Callable
from typing import Any

import pytest

from provider_sdk.contract import ErrorClass, Outcome, fast, framing
from provider_sdk.errors import ContractError
from provider_sdk.session import Session
from provisioner.core import providers
from provisioner.core import request as request_life
from provisioner.core.lives import Arc
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.edge import from_provider
from provisioner.runtime.conversation import Conversation

Plant = Callable[[pytest.MonkeyPatch], None]


class _Anything:
    """Matches every text and keeps none, so that nothing of it outlives the planted fault."""

    def all(self, _texts: set[str | None]) -> bool:
        return True


def _keys_may_repeat(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(framing, "_repeats_a_key", lambda _line, _obj: False)


def _nesting_has_no_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(framing, "_written_if_shallow", lambda obj: framing._written(obj) or b"")


def _junk_is_quoted_whole(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(framing, "_excerpt", lambda line: line.decode("utf-8", "backslashreplace"))


def _texts_need_not_match(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fast, "_fits", lambda _pattern: _Anything())


def _every_error_is_a_no(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(from_provider, "outcome_of", lambda _error: Outcome.NOT_MADE)


def _lost_is_a_no(patch: pytest.MonkeyPatch) -> None:
    lost = (RequestState.SENDING, RequestTrigger.LOST)
    patch.setitem(request_life._TABLE, lost, Arc(RequestState.NOT_MADE, "no answer"))


def _waits_have_no_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(from_provider, "WAIT_MOST_S", 2**60)


def _hints_pile_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(providers, "WANTED_MOST", 10**9)


def _early_answers_count(patch: pytest.MonkeyPatch) -> None:
    def take_back(self: Conversation, call: Any) -> None:
        del self._open[call.sent.id]
        self.peer.withdraw(call.sent)
        self._slots.release()

    patch.setattr(Conversation, "_take_back", take_back)


def _refusals_are_not_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Session, "_refuse", lambda _self, _call_id, _refused: None)


def _failures_are_told_in_full(patch: pytest.MonkeyPatch) -> None:
    def as_refusal(self: Session, call_id: int, bug: Exception) -> ContractError:
        return ContractError(ErrorClass.INTERNAL, str(bug))

    patch.setattr(Session, "_as_refusal", as_refusal)


def _true_is_one(patch: pytest.MonkeyPatch) -> None:
    def cancel(self: Session, params: Any) -> None:
        call = self._calls.get(params.get("id")) if isinstance(params.get("id"), int) else None
        if call is not None:
            call.scope.cancel()

    patch.setattr(Session, "_cancel_call", cancel)


PLANTED: dict[str, tuple[str, Plant]] = {
    "keys may repeat": ("frames", _keys_may_repeat),
    "nesting has no bound": ("frames", _nesting_has_no_bound),
    "junk is quoted whole": ("frames", _junk_is_quoted_whole),
    "texts need not match": ("schema", _texts_need_not_match),
    "every error is a No": ("daemon", _every_error_is_a_no),
    "a lost answer is a No": ("daemon", _lost_is_a_no),
    "waits have no bound": ("daemon", _waits_have_no_bound),
    "hints pile up": ("daemon", _hints_pile_up),
    "early answers count": ("runtime", _early_answers_count),
    "refusals are not sent": ("sdk", _refusals_are_not_sent),
    "failures are told in full": ("sdk", _failures_are_told_in_full),
    "true is one": ("sdk", _true_is_one),
}
