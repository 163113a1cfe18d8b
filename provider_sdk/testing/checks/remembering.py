"""Checks of §9 over the life of several processes: kill -9, restart, an empty folder, damaged records, a full disk."""

import os
from pathlib import Path

from provider_sdk.contract import (
    ErrorClass,
    Health,
    InstanceState,
    Outcome,
    PingResult,
    Report,
    RequestStatusResult,
    ReturnState,
)
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.checks.buying import keeps_tombstones, not_bought
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.reply import Reply
from provider_sdk.testing.saying import Params
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

MOMENTS = (0.0, 0.3, 0.6, 0.9)
MOMENT_MOST_S = 10.0
LATE_MOST_S = 3.0


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
    denied: list[tuple[Conversation, Params]] = []
    for share in MOMENTS:
        first = await stage.open()
        replay = first.promises.token.replay
        params = stage.order(first)
        await first.ask("request", params)
        await first.quiet(share * usual_s)
        await stage.end(first)
        second = await stage.open(first.state_dir)
        report = await acting.status(second, params)
        if report.outcome is Outcome.NOT_MADE:
            denied.append((second, params))
        if replay == "none":
            continue
        reply = await second.call("request", {**params, **second.fence()})
        if reply.error is None:
            await _at_most_once(second, params, report, reply.result(Report))
        elif report.outcome is Outcome.MADE:
            raise reply.broken("ST-6", f"the report of {params['token']}, which was said to be made")
    await _stays_denied(denied)


async def _stays_denied(denied: list[tuple[Conversation, Params]]) -> None:
    """What was begun before the kill may take effect late, and be listed later still: `not_made` must hold then too."""
    if not denied:
        return
    promises = denied[0][0].promises
    await denied[0][0].quiet(min(promises.calls.late_effect_s + promises.list.delay_s, LATE_MOST_S))
    for conversation, params in denied:
        found = (await acting.list_all(conversation)).of_token(params["token"])
        if found:
            came = ", ".join(each.instance for each in found)
            sent = "request, kill -9 before its answer, request_status, list"
            raise Broken("ST-6", f"nothing under {params['token']}, said to be not_made", came, sent)


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


async def _denied_before(stage: Stage) -> None:
    """Never heard of, said to be not_made, killed: the tombstone is still there when the request comes."""
    first = await stage.open()
    if not keeps_tombstones(first):
        raise Inapplicable("no tombstone is due: there are no own records, or no tokens")
    params = stage.order(first)
    report = await acting.status(first, params)
    if report.outcome is not Outcome.NOT_MADE:
        raise Inapplicable(f"a token never heard of is {report.outcome}")
    await stage.end(first)
    second = await stage.open(first.state_dir)
    await not_bought(second, params, "ST-6", "was said to be not_made, before a kill -9")


async def _returns_after(stage: Stage) -> None:
    """Killed at once, or after an answer that nobody has read: the give-back comes to its end all the same."""
    for is_answered in (False, True):
        first = await stage.open()
        bought = await stage.buy(first)
        params = acting.giving(first, bought.ids)
        call_id = await first.ask("return", params)
        if is_answered:
            await first.answer(call_id)
        await stage.end(first)
        second = await stage.open(first.state_dir)
        try:
            items = await acting.returned(second, {**params, **second.fence()}, stage.subject.settle_s)
        except Inapplicable:
            items = await acting.return_items(second, params)
        taken = {item.instance for item in items if item.state in (ReturnState.RETURNING, ReturnState.RETURNED)}
        if taken != set(bought.ids):
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


async def _no_room(stage: Stage) -> None:
    """A purchase whose record can't be written is refused before anything is bought; what is made was written."""
    first = await stage.open()
    if first.promises.memory.where == "far_side" or first.promises.token.replay == "none":
        raise Inapplicable("the state folder need not hold purchases")
    params = stage.order(first)
    if not first.process.give_room(0):
        raise Inapplicable("its files can't be limited from here")
    try:
        reply = await first.call("request", params)
        bought = None if reply.error is not None else await _without_room(stage, first, params, reply)
    except Broken as found:
        raise Inapplicable(f"without room for its files the process did not go on: {found.came}") from found
    first.process.give_room(None)
    await stage.end(first)
    second = await stage.open(first.state_dir, loose=True)
    report = await acting.status(second, params)
    living = {each.instance for each in report.instances if each.state is not InstanceState.GONE}
    if bought is not None and not set(bought.ids) <= living:
        expected = "a refusal, since the record of the purchase could not be written"
        raise Broken("ST-2", expected, f"made, and after a restart {report.outcome}", reply.sent)
    if reply.says_not_made and living:
        raise reply.broken("ST-2", f"nothing made where the record can't be written, but {', '.join(sorted(living))}")


async def _without_room(stage: Stage, conversation: Conversation, params: Params, reply: Reply) -> Bought | None:
    try:
        return await acting.settled(conversation, params, reply.result(Report), min(stage.subject.settle_s, 3.0))
    except Inapplicable:  # it came to nothing, or to no end
        return None


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


_SAME = ("RQ-1", "OT-1", "EP-5", "PR-token.replay")

REMEMBERING: tuple[Check, ...] = (
    check("killed after the answer, then again", "PR-token.replay", "EP-5", unless=("RQ-1",))(_after_the_answer),
    check("killed in the middle of a request", "ST-1", "ST-6", "PR-token.replay", unless=_SAME)(_in_the_middle),
    check("killed, then asked", "PR-memory.keep_s", unless=("PR-token.replay", "RP-1"))(_status_after),
    check("said to be not_made, killed, then sent", "ST-6", unless=("OT-1", "PR-token.replay"))(_denied_before),
    check("killed during a give-back", "RT-5", unless=("RX-1",))(_returns_after),
    check("asked with an empty folder", "PR-memory.where", "PR-list.covers")(_other_folder),
    check("no room for records", "ST-2", unless=("ST-1", "ST-6", "PR-memory.keep_s", "PR-token.replay"))(_no_room),
    check("damaged records", "ST-2")(_damaged),
)
