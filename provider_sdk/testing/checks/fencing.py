"""Checks of what a purchase or change must keep within (§7, §10): epoch, not_after, deadline, price cap."""

from collections.abc import Iterator

from provider_sdk.contract import ErrorClass, Outcome, Report
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.saying import Params, long_past
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable


async def _fences(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    wrong = conversation.epoch + 1
    await _fenced_purchase(stage, conversation, {"epoch": wrong}, "EP-4")
    given = await conversation.call("return", acting.giving(conversation, bought.ids, epoch=wrong))
    given.refused("EP-4", ErrorClass.FENCED)
    for method, params in _declared_changes(conversation, bought):
        (await conversation.call(method, {**params, "epoch": wrong})).refused("EP-4", ErrorClass.FENCED)
    if conversation.promises.calls.not_after != "honoured":
        stage.passed_over("PR-calls.not_after", "declared ignored")
        return
    await _fenced_purchase(stage, conversation, {"not_after": long_past()}, "PR-calls.not_after")
    late = await conversation.call("return", acting.giving(conversation, bought.ids, not_after=long_past()))
    late.refused("PR-calls.not_after", ErrorClass.FENCED)
    report = await acting.status(conversation, bought.params)
    if not set(bought.ids) <= {each.instance for each in report.instances if each.state not in acting.ENDED}:
        raise Broken("PR-calls.not_after", "nothing given back by a call that was fenced", str(report), late.sent)


def _declared_changes(conversation: Conversation, bought: Bought) -> Iterator[tuple[str, Params]]:
    if "cancel" in conversation.capabilities:
        yield "cancel", {**{name: bought.params[name] for name in ("request_id", "token")}, **conversation.fence()}
    if "extend" in conversation.capabilities:
        items = [{"instance": each, "until": "2031-03-04T17:58:12Z"} for each in bought.ids]
        yield "extend", {"items": items, **conversation.fence()}


async def _fenced_purchase(stage: Stage, conversation: Conversation, changes: Params, clause: str) -> None:
    params = stage.order(conversation, **changes)
    reply = await conversation.call("request", params)
    error = reply.refused(clause, ErrorClass.FENCED)
    if error.outcome is not Outcome.NOT_MADE:
        raise reply.broken(clause, "fenced, which says that nothing was made")
    report = await acting.status(conversation, params)
    if report.outcome in (Outcome.MADE, Outcome.PENDING) or report.instances:
        raise Broken(clause, "nothing made by a fenced purchase", str(report), reply.sent)


async def _limits(stage: Stage) -> None:
    conversation = await stage.shared()
    promised = conversation.promises.limits
    await _deadline(stage, conversation, promised.deadline == "honoured")
    cap = stage.wares.price_cap
    if promised.price_cap == "ignored" or cap is None:
        why = "declared ignored" if cap is not None else "the template has no price"
        stage.passed_over("PR-limits.price_cap", why)
        return
    if cap["amount"] == "0":
        raise Inapplicable("the template is free: no cap is too low")
    for changes in ({"amount": "0"}, {"currency": "XTS"}):
        await _refused_by_price(stage, conversation, {**cap, **changes})


async def _deadline(stage: Stage, conversation: Conversation, honoured: bool) -> None:
    if not honoured:
        stage.passed_over("PR-limits.deadline", "declared ignored")
        return
    params = stage.order(conversation, deadline="2001-02-03T04:05:06Z")
    reply = await conversation.call("request", params)
    report = await acting.status(conversation, params)
    if report.instances or (reply.error is None and reply.result(Report).instances):
        raise reply.broken("PR-limits.deadline", "nothing made after the deadline")


async def _refused_by_price(stage: Stage, conversation: Conversation, cap: Params) -> None:
    reply = await conversation.call("request", stage.order(conversation, price_cap=cap))
    if reply.error is None and not reply.result(Report).instances:
        return
    error = reply.refused("PR-limits.price_cap", ErrorClass.PRICE)
    if error.outcome is not Outcome.NOT_MADE:
        raise reply.broken("PR-limits.price_cap", "price, with outcome not_made")


FENCING: tuple[Check, ...] = (
    check("another epoch, and too late", "EP-4", "PR-calls.not_after")(_fences),
    check("caps and deadlines", "PR-limits.price_cap", "PR-limits.deadline")(_limits),
)
