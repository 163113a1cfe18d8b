"""Checks of §8: several calls at once, the same token twice, questions beside a purchase, cancelled calls."""

from provider_sdk.contract import ErrorClass, Outcome, PingResult, Report, RequestStatusResult, ReturnState
from provider_sdk.testing import acting
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.reply import Reply
from provider_sdk.testing.saying import Params
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

AT_ONCE_MOST = 16
NO_SLOW = "the subject file has no slow_config"


async def _together(conversation: Conversation, calls: list[tuple[str, Params]]) -> list[Reply]:
    """Send calls in one write and return their answers in the order of the calls."""
    announced = [conversation.announce(method, params) for method, params in calls]
    await conversation.write(b"".join(data for _, data in announced))
    return [await conversation.answer(call_id) for call_id, _ in announced]


async def _in_flight(stage: Stage) -> None:
    conversation = await stage.shared()
    declared = conversation.promises.calls.in_flight
    reads = ["ping", "list", "describe", "ping"]
    calls = [(reads[number % 4], Params()) for number in range(min(declared, AT_ONCE_MOST))]
    try:
        replies = await _together(conversation, calls)
    except Broken as found:
        expected = f"an answer to each of {len(calls)} calls that came together"
        raise Broken("CC-1", expected, found.came, found.sent) from found
    for reply in replies:
        error = reply.error
        if error is not None:
            raise reply.broken("PR-calls.in_flight", f"a result: {len(calls)} calls at once are within {declared}")
    if declared == 1:
        stage.passed_over("CC-1", "in_flight is 1: there is only one call at a time")


async def _one_token_at_once(stage: Stage) -> None:
    conversation = await stage.shared()
    if conversation.promises.calls.in_flight < 2:
        raise Inapplicable("in_flight is 1: there is only one call at a time")
    if conversation.promises.token.replay == "none":
        raise Inapplicable("token.replay is none: a request frame is never sent twice")
    params = stage.order(conversation)
    replies = await _together(conversation, [("request", params), ("request", params)])
    if all(reply.error is not None for reply in replies):
        raise Inapplicable("nothing could be bought")
    named: set[str] = set()
    for reply in replies:
        if reply.error is None:
            named |= {each.instance for each in reply.result(Report).instances}
    report = await acting.status(conversation, params)
    bought = await acting.settled(conversation, params, report, stage.subject.settle_s)
    named |= {each.instance for each in bought.report.instances}
    await acting.until_listed(conversation, bought.ids, min(conversation.promises.list.delay_s + 1, 3))
    named |= {each.instance for each in (await acting.list_all(conversation)).of_token(bought.token)}
    units = sum(each.units for each in bought.report.instances)
    if len(named) > len(bought.report.instances) or units > stage.wares.units + max(
        (each.units - 1 for each in bought.report.instances), default=0
    ):
        raise replies[1].broken("CC-3", f"one purchase of {stage.wares.units}, found {', '.join(sorted(named))}")


async def _slow(stage: Stage) -> Conversation:
    if stage.subject.slow_config is None:
        raise Inapplicable(NO_SLOW)
    conversation = await stage.open(config=stage.subject.slow_config)
    if conversation.promises.calls.in_flight < 2:
        raise Inapplicable("in_flight is 1: nothing can be asked beside a running request")
    return conversation


async def _beside(stage: Stage) -> None:
    conversation = await _slow(stage)
    params = stage.order(conversation)
    call_id = await conversation.ask("request", params)
    for method in ("ping", "list", "describe"):
        reply = await conversation.call(method, within_s=10.0)
        if reply.error is not None:
            raise reply.broken("CC-2", "a read is answered beside a running request")
    (await conversation.call("ping", within_s=10.0)).result(PingResult, "CC-2")
    asked = {"requests": [acting.asked_about(params)]}
    reply = await conversation.call("request_status", asked, within_s=10.0)
    reports = reply.result(RequestStatusResult, "CC-2").requests
    if conversation.has_answer(call_id):
        raise Inapplicable("with slow_config the request was answered at once")
    if reports[0].outcome is not Outcome.PENDING:
        raise reply.broken("CC-2", "pending, since the request is still being worked on")
    await _cancelled(conversation, call_id)


async def _cancelled(conversation: Conversation, call_id: int) -> None:
    await conversation.tell("cancel_call", {"id": call_id})
    reply = await _answered(conversation, call_id)
    if reply.error is not None and reply.error.error_class is not ErrorClass.CANCELLED:
        raise reply.broken("CC-6", "the result, or the error cancelled with its outcome")


async def _answered(conversation: Conversation, call_id: int) -> Reply:
    try:
        return await conversation.answer(call_id)
    except Broken as found:
        raise Broken("CC-6", "an answer to a cancelled call", found.came, found.sent) from found


async def _cancel_quick(stage: Stage) -> None:
    """A cancelled call is answered once, whether it was still running or not."""
    conversation = await stage.shared()
    params = stage.order(conversation)
    call_id = await conversation.ask("request", params)
    await conversation.tell("cancel_call", {"id": call_id})
    reply = await _answered(conversation, call_id)
    if reply.error is None:
        await acting.settled(conversation, params, reply.result(Report), stage.subject.settle_s)
    await conversation.tell("cancel_call", {"id": call_id})
    (await conversation.call("ping")).result(PingResult, "CC-6")


async def _return_while_pending(stage: Stage) -> None:
    conversation = await stage.shared()
    params = stage.order(conversation)
    first = await conversation.call("request", params)
    if first.error is not None:
        raise Inapplicable("nothing could be bought")
    report = first.result(Report)
    if report.outcome is not Outcome.PENDING or not report.instances:
        raise Inapplicable("no purchase was pending with instances already reported")
    ids = [each.instance for each in report.instances]
    reply = await conversation.call("return", acting.giving(conversation, ids))
    if reply.error is not None or ReturnState.FAILED in {
        ReturnState(item["state"]) for item in reply.frame["result"]["items"]
    }:
        raise reply.broken("CC-4", "a give-back of what is reported, while its request is pending")


CONCURRENCY: tuple[Check, ...] = (
    check("as many calls as promised", "PR-calls.in_flight", "CC-1")(_in_flight),
    check("one token twice at once", "CC-3", unless=("RQ-1", "RQ-6"))(_one_token_at_once),
    check("questions beside a running request, which is then cancelled", "CC-2", "CC-6")(_beside),
    check("a cancelled call is answered", "CC-6")(_cancel_quick),
    check("a give-back while its request is pending", "CC-4", unless=("RT-2",))(_return_while_pending),
)
