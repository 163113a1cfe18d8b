"""One purchase as its author holds it: what he says of it is in the ledger, on disk, when the method returns.

Knows the words of a purchase; must not know files, other purchases or the far side.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from provider_sdk.contract.promises import Promises
from provider_sdk.contract.types import Instance, Problem, Report
from provider_sdk.orders import Order, Stage

if TYPE_CHECKING:
    from provider_sdk.ledger import Ledger


class Purchase:
    """One purchase, while its call runs or while it is looked into later."""

    def __init__(self, ledger: Ledger, order: Order, *, new: bool) -> None:
        self._ledger = ledger
        self._token = order.token
        self._request_id = order.request_id
        self.new = new
        """Whether this call is the first under its token: only then may anything be bought."""

    @property
    def order(self) -> Order:
        """What the ledger holds of it now."""
        return self._ledger.order(self._token)

    @property
    def details(self) -> Mapping[str, Any]:
        """What was settled before the first far-side call; the same at each repetition (RQ-3)."""
        return self.order.details

    @property
    def quiet_s(self) -> float:
        """For how long no call has worked on it: since its last stage, or since this process opened the ledger."""
        return self._ledger.quiet_s(self._token)

    def lists_tell(self, promises: Promises) -> bool:
        """Whether a list shows by now all it ever will of this purchase: then who sees nothing may say `not_made`.

        What was cut off may still take effect for `calls.late_effect_s`, and what took effect may stay out of lists for
        `list.delay_s`: nothing is disproved before the sum of both is over.
        """
        return self.quiet_s > promises.calls.late_effect_s + promises.list.delay_s

    @property
    def report(self) -> Report:
        """The answer, as of now."""
        return self.order.report(self._request_id)

    def saw(self, *instances: Instance) -> None:
        """These exist under this token (or have changed); to be said as soon as an id is known."""
        self._ledger.saw(self._token, instances)

    def taken(self) -> None:
        """The far side has it and goes on by itself: `pending`, also after a crash."""
        self._ledger.close(self._token, Stage.TAKEN)

    def made(self, *problems: Problem) -> None:
        """No further unit will ever come; `problems` say why units are missing. Without any instance: `not_made`."""
        self._ledger.close(self._token, Stage.MADE if self.order.instances else Stage.NOT_MADE, problems)

    def not_made(self, *problems: Problem) -> None:
        """Nothing was made and nothing ever will be."""
        self._ledger.close(self._token, Stage.NOT_MADE, problems)


class PurchaseScope:
    """The `with` around a purchase; it may swallow a refusal, so the report is returned after it, never inside."""

    def __init__(self, inner: AbstractContextManager[Purchase]) -> None:
        self._inner = inner

    def __enter__(self) -> Purchase:
        return self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return bool(self._inner.__exit__(kind, raised, trace))
