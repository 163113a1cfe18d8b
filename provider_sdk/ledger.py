"""The intent ledger: lifts a provider whose far side knows no tokens to `at_most_once` (clauses ST-1, ST-2, ST-6).

Knows what must be on disk before and after each far-side call; must not know the far side, nor the wire.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import orjson
from attrs import evolve

from provider_sdk.call import Call
from provider_sdk.contract.codec import encode
from provider_sdk.contract.errors import outcome_of
from provider_sdk.contract.messages import (
    AskedRequest,
    CancelParams,
    ForgetParams,
    ForgetResult,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnItem,
    ReturnParams,
)
from provider_sdk.contract.shape import BadShape
from provider_sdk.contract.types import Instance, Problem, Report
from provider_sdk.contract.words import ErrorClass, Outcome
from provider_sdk.errors import ContractError
from provider_sdk.journal import Journal
from provider_sdk.orders import (
    GiveBack,
    Order,
    Stage,
    give_back_from,
    give_back_record,
    instances_from,
    order_from,
    record_of,
    sighting_record,
    with_instances,
)
from provider_sdk.purchase import Purchase, PurchaseScope
from provider_sdk.state import StateFolder

KEEP_S = 604_800
"""How long a final report is kept without `forget`: the weakest value of the promise `memory.keep_s`."""
COMPACT_AT = 1_000
"""Superseded records at which the file is written anew when it is opened."""
_OUTSIDE_CONTENT = ("epoch", "not_after")


def content_of(params: RequestParams) -> str:
    """The digest by which a repeated purchase is told from another one under the same token (clause RQ-1)."""
    content = {name: value for name, value in encode(params).items() if name not in _OUTSIDE_CONTENT}
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


class Ledger:
    """Purchases and give-backs in one journal of the state folder; open it in `Provider.open`. Safe from any thread.

    Every method that changes something returns when the change is durable, or raises StateFull and has changed
    nothing. With it a provider may promise token.replay `at_most_once`, memory.where `state_dir` and mark.kept
    `own_records`.
    """

    def __init__(
        self,
        folder: StateFolder,
        name: str = "ledger.jsonl",
        *,
        keep_s: float = KEEP_S,
        now: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._name = name
        self._journal = Journal(folder, name)
        self._keep_s = keep_s
        self._now = now
        self._steady = steady
        self._lock = threading.RLock()
        self._orders: dict[str, Order] = {}
        self._owners: dict[str, str] = {}
        self._give_backs: dict[str, GiveBack] = {}
        self._running: set[str] = set()
        self._is_whole = False
        # By a steady clock: one that is set forward would make "nothing was made" come too soon.
        self._opened_at = 0.0
        self._worked_at: dict[str, float] = {}

    def open(self) -> None:
        """Read everything; raises StateUnreadable (the file is set aside, and nothing may be bought), StateFull."""
        records = self._journal.open()
        for record in records:
            self._read(record)
        self._is_whole = not self._folder.damage()
        self._opened_at = self._steady()
        self._compact(len(records))

    def close_file(self) -> None:
        """Let go of the file."""
        self._journal.close()

    # Purchases.

    def purchase(self, params: RequestParams, call: Call, details: Mapping[str, Any] | None = None) -> PurchaseScope:
        """Around everything a `request` does; return `purchase.report` after it, not inside.

        If `purchase.new` is False, buy nothing and answer `purchase.report`. Else the intent and `details` are on disk
        by now: ask `call.check_fence()` before each far-side call, say `saw`, `made` or `not_made`; said neither, the
        purchase counts as `taken`. What is raised inside before the first fence, and a ContractError that says
        `not_made`, ends it as that; any other failure leaves it `unknown`. After units were seen a ContractError is
        swallowed, and the report tells (RQ-4). Raises `token_conflict` for another content under the same token.
        """
        return PurchaseScope(self._purchase(params, call, details or {}))

    def status(
        self, params: RequestStatusParams, look: Callable[[Purchase], None] | None = None
    ) -> RequestStatusResult:
        """Reports on purchases; `look` (if given) first brings each of them up to date with the far side.

        It is not called for a purchase that is running in this process. A token never heard of is closed for ever, so
        that `not_made` stays true; with damaged records it is `unknown`.
        """
        return RequestStatusResult(tuple(self._report(asked, look) for asked in params.requests))

    def cancel(self, params: CancelParams) -> Report:
        """Note that no further unit is wanted; a token never seen is closed for ever (CN-3).

        The provider then asks its far side and says `made` or `not_made` by `find(token)`.
        """
        with self._lock:
            order = self._orders.get(params.token)
            if order is None:
                self._tombstone(params.token, params.request_id)
            elif not order.is_final:
                self.change(params.token, lambda found: evolve(found, cancelling=True))
            return self._as_of_now(self._orders[params.token]).report(params.request_id)

    def forget(self, params: ForgetParams) -> ForgetResult:
        """Drop give-backs, and of purchases what is not needed to never buy their tokens again."""
        with self._lock:
            for token in params.tokens:
                order = self._orders.get(token)
                if order is not None and not order.forgotten:
                    told = evolve(order, forgotten=True)
                    self._store(told.shrunk() if told.may_shrink(0) else told)
            for return_id in params.returns:
                if return_id in self._give_backs:
                    self._journal.append({"forgot": return_id})
                    del self._give_backs[return_id]
        return ForgetResult()

    def find(self, token: str) -> Purchase | None:
        """A purchase to look into: to say `saw`, `made` or `not_made` when the far side has shown what became of it."""
        order = self._orders.get(token)
        return None if order is None else Purchase(self, order, new=False)

    def find_by_instance(self, instance: str) -> Purchase | None:
        """The purchase under which an instance was seen, None if none is known."""
        token = self._owners.get(instance)
        return None if token is None else self.find(token)

    def order(self, token: str) -> Order:
        """What is known of a token; KeyError if nothing."""
        return self._orders[token]

    def orders(self) -> tuple[Order, ...]:
        """All orders, oldest first."""
        with self._lock:
            return tuple(self._orders.values())

    def open_orders(self) -> tuple[Order, ...]:
        """The orders without a final outcome."""
        return tuple(order for order in self.orders() if not order.is_final)

    def instances(self) -> tuple[Instance, ...]:
        """Every instance that is still held, as last seen."""
        return tuple(each for order in self.orders() for each in order.instances)

    # Give-backs.

    def give_back(self, params: ReturnParams) -> GiveBack:
        """Note a give-back before it is begun; the same one again is noted once."""
        with self._lock:
            known = self._give_backs.get(params.return_id)
            if known is None or known.items != params.items:
                known = GiveBack(params.return_id, params.items, self._now())
                self._journal.append(give_back_record(known))
                self._give_backs[params.return_id] = known
            return known

    def given_back(self, return_id: str) -> tuple[ReturnItem, ...] | None:
        """The items of a give-back, None if it is not known (then the daemon sends it again)."""
        found = self._give_backs.get(return_id)
        return None if found is None else found.items

    # For Purchase.

    def quiet_s(self, token: str) -> float:
        """Seconds since a call last worked on it, counted in this process."""
        return self._steady() - self._worked_at.get(token, self._opened_at)

    def change(self, token: str, step: Callable[[Order], Order]) -> None:
        """Write what `step` makes of the order."""
        with self._lock:
            before = self._orders[token]
            after = step(before)
            if after != before:
                self._store(after)

    def saw(self, token: str, instances: Iterable[Instance]) -> None:
        """Write what is new of these instances, and no more: a purchase of a thousand is seen one by one."""
        with self._lock:
            order = self._orders[token]
            known = {each.instance: each for each in order.instances}
            news = tuple(each for each in instances if known.get(each.instance) != each)
            if news:
                self._journal.append(sighting_record(token, news))
                self._hold(with_instances(order, news))

    def close(self, token: str, stage: Stage, problems: Iterable[Problem] = ()) -> None:
        """Bring a purchase to a stage; a final one never changes (clause RP-1)."""
        with self._lock:
            order = self._orders[token]
            if order.is_final:
                return
            told = (*order.problems, *problems)
            self._worked_at[token] = self._steady()
            self._store(evolve(order, stage=stage, at=self._now(), problems=told[-100:]))

    # Inside.

    @contextmanager
    def _purchase(self, params: RequestParams, call: Call, details: Mapping[str, Any]) -> Iterator[Purchase]:
        purchase = self._enter(params, details)
        if not purchase.new:
            yield purchase
            return
        try:
            yield purchase
            if purchase.order.stage is Stage.BEGUN:
                purchase.taken()
        except ContractError as refusal:
            if not self._swallows(purchase, call, refusal):
                raise
        except BaseException:
            if call.begun:
                self._touch(params.token)
            else:
                purchase.not_made(Problem(ErrorClass.INTERNAL))
            raise
        finally:
            with self._lock:
                self._running.discard(params.token)

    def _enter(self, params: RequestParams, details: Mapping[str, Any]) -> Purchase:
        content = content_of(params)
        with self._lock:
            known = self._orders.get(params.token)
            if known is not None:
                if known.content not in (None, content):
                    raise ContractError(ErrorClass.TOKEN_CONFLICT, "this token has bought something else")
                return Purchase(self, known, new=False)
            order = Order(
                token=params.token,
                request_id=params.request_id,
                stage=Stage.BEGUN,
                at=self._now(),
                content=content,
                template=params.template,
                units=params.units,
                details={**details, "mark": encode(params.mark)},
            )
            self._store(order)
            self._worked_at[params.token] = self._steady()
            self._running.add(params.token)
            return Purchase(self, order, new=True)

    def _swallows(self, purchase: Purchase, call: Call, refusal: ContractError) -> bool:
        stated = refusal.data.outcome
        nothing = outcome_of(refusal.data) is Outcome.NOT_MADE or (stated is None and not call.begun)
        problem = Problem(
            refusal.error_class,
            scope=refusal.data.scope,
            retry_after_s=refusal.data.retry_after_s,
            reason=refusal.data.reason,
            detail=refusal.data.detail,
            limit=refusal.data.limit,
        )
        if not nothing:
            self._touch(purchase.order.token)
        elif purchase.order.instances:
            purchase.made(problem)
        else:
            purchase.not_made(problem)
            refusal.data = evolve(refusal.data, outcome=Outcome.NOT_MADE)
        return bool(purchase.order.instances)

    def _touch(self, token: str) -> None:
        self._worked_at[token] = self._steady()
        self.change(token, lambda order: evolve(order, at=self._now()))

    def _report(self, asked: AskedRequest, look: Callable[[Purchase], None] | None) -> Report:
        with self._lock:
            order = self._orders.get(asked.token)
            if order is None and not self._is_whole:
                return Report(asked.request_id, asked.token, Outcome.UNKNOWN, ())
            if order is None:
                order = self._tombstone(asked.token, asked.request_id)
        if look is not None and order.template is not None and order.token not in self._running:
            look(Purchase(self, order, new=False))
        return self._as_of_now(self._orders[asked.token]).report(asked.request_id)

    def _as_of_now(self, order: Order) -> Order:
        running = order.token in self._running and order.stage is Stage.BEGUN
        return evolve(order, stage=Stage.TAKEN) if running else order

    def _tombstone(self, token: str, request_id: str) -> Order:
        order = Order(token, request_id, Stage.NOT_MADE, self._now())
        self._store(order)
        return order

    def _store(self, order: Order) -> None:
        self._journal.append(record_of(order))
        self._hold(order)

    def _hold(self, order: Order) -> None:
        before = self._orders.get(order.token)
        if before is not None and len(before.instances) > len(order.instances):  # only the tombstone left
            for each in before.instances:
                self._owners.pop(each.instance, None)
        self._orders[order.token] = order
        for each in order.instances[0 if before is None else len(before.instances) :]:
            self._owners[each.instance] = order.token

    def _read(self, record: Any) -> None:
        try:
            match record:
                case {"order": str(token)}:
                    self._hold(order_from(token, dict(record)))
                case {"saw": str(token)}:
                    self._hold(with_instances(self._orders[token], instances_from(record["instances"])))
                case {"return": str(return_id)}:
                    self._give_backs[return_id] = give_back_from(return_id, dict(record))
                case {"forgot": str(return_id)}:
                    self._give_backs.pop(return_id, None)
                case _:
                    raise ValueError("of no known kind")
        except (KeyError, TypeError, ValueError, BadShape) as problem:
            self._journal.close()
            raise self._folder.set_aside(self._name, "holds a record that makes no sense") from problem

    def _compact(self, records: int) -> None:
        """Write the file anew once enough of it is superseded; what is old and final leaves its token behind."""
        older_than = self._now() - self._keep_s
        kept = {
            token: order.shrunk() if order.may_shrink(older_than) else order for token, order in self._orders.items()
        }
        fresh = {name: found for name, found in self._give_backs.items() if found.at >= older_than}
        if records - len(kept) - len(fresh) < COMPACT_AT:
            return
        self._orders, self._give_backs = kept, fresh
        self._owners = {each.instance: token for token, order in kept.items() for each in order.instances}
        self._journal.rewrite([*map(record_of, kept.values()), *map(give_back_record, fresh.values())])
