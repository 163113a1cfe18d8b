"""Checks of §9 and §10 over the life of several processes: kill -9, restart, epochs, fences, damaged records."""

import os
from pathlib import Path

from provider_sdk.contract import ErrorClass, Health, InstanceState, Outcome, PingResult, Report, RequestStatusResult
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.saying import Params, long_past
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

MOMENTS = (0.0, 0.3, 0.6, 0.9)
MOMENT_MOST_S = 10.0


async def _after_the_answer(stage: Stage) -> None:
    """Bought, answered, killed: the same token again buys nothing more, under the next epoch with the old mark."""
    first = await stage.open()
    promise = first.promises.token.replay
    if promise == "none":
        raise Inapplicable("declared none")
    bought = await stage.buy(first)
    await stage.end(first)
    second = await stage.open(first.state_dir, loose=True)
    reply = await second.call("request", {**bought.params, **second.fence()})
    if reply.error is not None and reply.error.error_class in (ErrorClass.TOKEN_CONFLICT, ErrorClass.FENCED):
        raise reply.broken("EP-5", "the present report: the old mark under a new epoch is the same content")
    if reply.error is None:
        await _one_purchase(second, bought, reply.result(Report))
    elif promise == "exact":
        raise reply.broken("PR-token.replay", "the present report, since token.replay is exact")


async def _one_purchase(conversation: Conversation, bought: Bought, report: Report) -> None:
    found = {each.instance for each in report.instances}
    await acting.until_listed(conversation, bought.ids, min(conversation.promises.list.delay_s + 1, 3))
    listing = await acting.list_all(conversation)
    found |= {each.instance for each in listing.of_token(bought.token)}
    more = found - set(bought.ids)
    if more or report.gone_units:
        expected = f"only {', '.join(bought.ids)} under the token, since token.replay is"
        expected = f"{expected} {conversation.promises.token.replay}"
        came = f"also {', '.join(sorted(more))}"
        raise Broken("PR-token.replay", expected, came, "request, kill -9, the same request")


async def _in_the_middle(stage: Stage) -> None:
    """Killed at several moments of a request: afterwards the token has bought once at most, and no word is false."""
    usual_s = await _usual_s(stage)
    for share in MOMENTS:
        first = await stage.open()
        replay = first.promises.token.replay
        params = stage.order(first)
        await first.ask("request", params)
        await first.quiet(share * usual_s)
        await stage.end(first)
        second = await stage.open(first.state_dir)
        report = await acting.status(second, params)
        if replay == "none":
            continue
        reply = await second.call("request", {**params, **second.fence()})
        if reply.error is None:
            await _at_most_once(second, params, report, reply.result(Report))
        elif report.outcome is Outcome.MADE:
            raise reply.broken("ST-6", f"the report of {params['token']}, which was said to be made")


async def _usual_s(stage: Stage) -> float:
    """Return how long a purchase's answer takes, so that kills can fall in between."""
    conversation = await stage.open()
    reply = await conversation.call("request", stage.order(conversation))
    if reply.error is not None:
        raise Inapplicable(f"nothing could be bought: {reply.error.error_class}")
    await stage.end(conversation)
    return min(reply.seconds, MOMENT_MOST_S)


async def _at_most_once(second: Conversation, params: Params, before: Report, report: Report) -> None:
    if second.promises.token.replay == "exact" and report.outcome is Outcome.UNKNOWN:
        expected = "an unknown settled by sending the request again, since token.replay is exact"
        raise Broken("PR-token.replay", expected, str(report), "request, kill -9, the same request")
    known = {each.instance: each.units for each in (*before.instances, *report.instances)}
    listing = await acting.list_all(second)
    known |= {each.instance: each.units for each in listing.of_token(params["token"])}
    if sum(known.values()) - params["units"] >= max(known.values(), default=1):
        came = ", ".join(sorted(known))
        expected = f"{params['units']} units at most under {params['token']}"
        raise Broken("ST-1", expected, came, "request, kill -9 before its answer, the same request")
    if before.outcome is Outcome.NOT_MADE and known:
        raise Broken("ST-6", "nothing under a token that was said to be not_made", ", ".join(known), "request_status")


async def _status_after(stage: Stage) -> None:
    """What was reported as made is known after kill -9, in the same words; and can be given back."""
    first = await stage.open()
    if first.promises.token.replay == "none":
        raise Inapplicable("token.replay is none: nothing need be remembered")
    bought = await stage.buy(first)
    await stage.end(first)
    second = await stage.open(first.state_dir, loose=True)
    report = await acting.status(second, bought.params)
    living = {each.instance for each in report.instances if each.state is not InstanceState.GONE}
    if report.outcome is not Outcome.MADE or not set(bought.ids) <= living:
        expected = f"made, with {', '.join(bought.ids)}, after a restart"
        raise Broken("PR-memory.keep_s", expected, str(report), "request, kill -9, request_status")
    items = await acting.give_back(second, bought.ids, stage.subject.settle_s)
    if {item.instance for item in items} != set(bought.ids):
        raise Broken("PR-memory.keep_s", f"{', '.join(bought.ids)} given back", str(items), "return after a restart")


async def _returns_after(stage: Stage) -> None:
    first = await stage.open()
    bought = await stage.buy(first)
    params = acting.giving(first, bought.ids)
    await first.ask("return", params)
    await stage.end(first)
    second = await stage.open(first.state_dir)
    items = await acting.returned(second, {**params, **second.fence()}, stage.subject.settle_s)
    if {item.instance for item in items} != set(bought.ids):
        raise Broken("RT-5", f"{', '.join(bought.ids)} given back", str(items), "return, kill -9, return again")


async def _other_folder(stage: Stage) -> None:
    """Memory at the far side is there for a process with an empty folder too."""
    first = await stage.open()
    if first.promises.memory.where != "far_side":
        raise Inapplicable("declared state_dir")
    bought = await stage.buy(first)
    await acting.until_listed(first, bought.ids, min(first.promises.list.delay_s + 1, 5))
    await stage.end(first)
    second = await stage.open(loose=True)
    report = await acting.status(second, bought.params)
    if report.outcome is not Outcome.MADE:
        raise Broken("PR-memory.where", "made, known from the far side", str(report), "request_status, empty folder")
    if second.promises.list.covers == "far_side":
        listing = await acting.list_all(second)
        if not set(bought.ids) <= {each.instance for each in listing.instances}:
            raise Broken("PR-list.covers", f"{', '.join(bought.ids)} in the list", "not there", "list, empty folder")
    else:
        stage.passed_over("PR-list.covers", "declared own_records")


async def _damaged(stage: Stage) -> None:
    """Records that make no sense are never read as none: no final `not_made` for what was made, no second purchase."""
    first = await stage.open()
    if first.promises.memory.where == "far_side" or first.promises.token.replay == "none":
        raise Inapplicable("the state folder need not hold purchases")
    bought = await stage.buy(first)
    await acting.give_back(first, bought.ids, stage.subject.settle_s)
    await stage.end(first)
    _damage(first.state_dir)
    second = await stage.start(first.state_dir, loose=True)
    await second.greet()
    if not second.greeted:
        return  # refusing to serve is an honest answer
    asked = {"requests": [bought.asked]}
    reply = await second.call("request_status", asked)
    health = (await second.call("ping")).result(PingResult).health
    if reply.error is None:
        report = reply.result(RequestStatusResult).requests[0]
        if report.outcome is Outcome.NOT_MADE:
            raise reply.broken("ST-2", "no `not_made` for a purchase whose record is damaged")
    if health is Health.OK and second.state_id == first.state_id:
        raise Broken("ST-2", "health down, another state_id or no service", "health ok, as if nothing were", "ping")


def _damage(state_dir: Path) -> None:
    for path in sorted(state_dir.rglob("*")):
        if path.is_file() and path.stat().st_size:
            path.write_bytes(b"\x00garbage{" + os.urandom(24))


async def _fences(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    wrong = conversation.epoch + 1
    await _fenced_purchase(stage, conversation, {"epoch": wrong}, "EP-4")
    given = await conversation.call("return", acting.giving(conversation, bought.ids, epoch=wrong))
    given.refused("EP-4", ErrorClass.FENCED)
    if conversation.promises.calls.not_after != "honoured":
        stage.passed_over("PR-calls.not_after", "declared ignored")
        return
    await _fenced_purchase(stage, conversation, {"not_after": long_past()}, "PR-calls.not_after")
    late = await conversation.call("return", acting.giving(conversation, bought.ids, not_after=long_past()))
    late.refused("PR-calls.not_after", ErrorClass.FENCED)
    report = await acting.status(conversation, bought.params)
    if not set(bought.ids) <= {each.instance for each in report.instances if each.state not in acting.ENDED}:
        raise Broken("PR-calls.not_after", "nothing given back by a call that was fenced", str(report), late.sent)


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


_SAME = ("RQ-1", "OT-1", "EP-5", "PR-token.replay")

REMEMBERING: tuple[Check, ...] = (
    check("killed after the answer, then again", "PR-token.replay", "EP-5", unless=("RQ-1",))(_after_the_answer),
    check("killed in the middle of a request", "ST-1", "ST-6", "PR-token.replay", unless=_SAME)(_in_the_middle),
    check("killed, then asked", "PR-memory.keep_s", unless=("PR-token.replay", "RP-1"))(_status_after),
    check("killed during a give-back", "RT-5")(_returns_after),
    check("asked with an empty folder", "PR-memory.where", "PR-list.covers")(_other_folder),
    check("damaged records", "ST-2")(_damaged),
    check("another epoch, and too late", "EP-4", "PR-calls.not_after")(_fences),
    check("caps and deadlines", "PR-limits.price_cap", "PR-limits.deadline")(_limits),
)
