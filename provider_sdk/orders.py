"""What a ledger knows of purchases and give-backs, as values, and how one record changes it. Pure.

Knows the records of a ledger's journal; must not know files, threads or the far side.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from attrs import evolve, frozen

from provider_sdk.contract.codec import decode, encode
from provider_sdk.contract.messages import ReturnItem
from provider_sdk.contract.types import Instance, Problem, Report
from provider_sdk.contract.words import InstanceState, Outcome


class Stage(StrEnum):
    """How far a purchase has come: `begun` is the only stage that a crash leaves unknown (clause ST-6)."""

    BEGUN = "begun"
    TAKEN = "taken"
    MADE = "made"
    NOT_MADE = "not_made"


OUTCOMES: Final[Mapping[Stage, Outcome]] = {
    Stage.BEGUN: Outcome.UNKNOWN,
    Stage.TAKEN: Outcome.PENDING,
    Stage.MADE: Outcome.MADE,
    Stage.NOT_MADE: Outcome.NOT_MADE,
}


@frozen
class Order:
    """One purchase in the ledger; a tombstone is a `not_made` one without content.

    `details` is what was settled before the first far-side call (RQ-3); `at` is when the stage was reached, seconds of
    the epoch.
    """

    token: str
    request_id: str
    stage: Stage
    at: float
    content: str | None = None
    template: str | None = None
    units: int = 0
    details: Mapping[str, Any] = {}
    instances: tuple[Instance, ...] = ()
    problems: tuple[Problem, ...] = ()
    cancelling: bool = False
    forgotten: bool = False

    @property
    def is_final(self) -> bool:
        """Whether no further unit will ever be made under this token."""
        return self.stage in (Stage.MADE, Stage.NOT_MADE)

    def report(self, request_id: str) -> Report:
        """The answer to who asks about it."""
        return Report(
            request_id=request_id,
            token=self.token,
            outcome=OUTCOMES[self.stage],
            instances=self.instances,
            problems=self.problems,
            cancelling=self.cancelling and not self.is_final,
        )

    def may_shrink(self, older_than: float) -> bool:
        """Whether only its token and its end need to be kept: final, not asked for any more, and nothing of it left."""
        return (
            self.is_final
            and (self.forgotten or self.at < older_than)
            and all(each.state is InstanceState.GONE for each in self.instances)
        )

    def shrunk(self) -> "Order":
        """The tombstone: a token is still never bought again."""
        return Order(self.token, self.request_id, self.stage, self.at, content=self.content, forgotten=True)


@frozen
class GiveBack:
    """One give-back as it was asked for."""

    return_id: str
    items: tuple[ReturnItem, ...]
    at: float


def record_of(order: Order) -> dict[str, object]:
    """The record from which `order_from` makes the same order."""
    return {
        "order": order.token,
        "request_id": order.request_id,
        "stage": order.stage.value,
        "at": order.at,
        "content": order.content,
        "template": order.template,
        "units": order.units,
        "details": order.details,
        "instances": [encode(each) for each in order.instances],
        "problems": [encode(each) for each in order.problems],
        "cancelling": order.cancelling,
        "forgotten": order.forgotten,
    }


def order_from(token: str, record: Mapping[str, Any]) -> Order:
    """The order that was written of a token; KeyError, TypeError, ValueError or BadShape for what is no such record."""
    return Order(
        token=token,
        request_id=str(record["request_id"]),
        stage=Stage(record["stage"]),
        at=float(record["at"]),
        content=record["content"],
        template=record["template"],
        units=int(record["units"]),
        details=dict(record["details"]),
        instances=instances_from(record["instances"]),
        problems=tuple(decode(Problem, each) for each in record["problems"]),
        cancelling=bool(record["cancelling"]),
        forgotten=bool(record["forgotten"]),
    )


def sighting_record(token: str, seen: tuple[Instance, ...]) -> dict[str, object]:
    """The record of instances seen, or seen anew, under a token."""
    return {"saw": token, "instances": [encode(each) for each in seen]}


def instances_from(raw: list[object]) -> tuple[Instance, ...]:
    """The instances that were written; BadShape or TypeError for what is none."""
    return tuple(decode(Instance, each) for each in raw)


def give_back_record(give_back: GiveBack) -> dict[str, object]:
    """The record from which `give_back_from` makes the same give-back."""
    items = [[item.instance, item.keep] for item in give_back.items]
    return {"return": give_back.return_id, "items": items, "at": give_back.at}


def give_back_from(return_id: str, record: Mapping[str, Any]) -> GiveBack:
    """The give-back that was written; KeyError, TypeError or ValueError for what is no such record."""
    items = tuple(ReturnItem(str(instance), int(keep)) for instance, keep in record["items"])
    return GiveBack(return_id, items, float(record["at"]))


def with_instances(order: Order, seen: tuple[Instance, ...]) -> Order:
    """The order with these instances added, or told anew; none is ever lost (clause RP-2)."""
    known = {each.instance: each for each in order.instances}
    known.update({each.instance: each for each in seen})
    return evolve(order, instances=tuple(known.values()))
