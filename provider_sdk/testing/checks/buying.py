"""Checks of request and request_status (§4, §9) within one process."""

from provider_sdk.contract import (
    ErrorClass,
    InstanceState,
    MemoryWhere,
    Outcome,
    Report,
    RequestStatusResult,
    Template,
)
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.saying import Params, not_after
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

SMALL = 16
NO_TOKENS = "token.replay is none: a request frame is never sent twice"


def tells_tokens_apart(conversation: Conversation) -> bool:
    """Return whether a request may be sent again to this provider at all."""
    return conversation.promises.token.replay != "none"


async def _again(stage: Stage) -> None:
    conversation = await stage.shared()
    if not tells_tokens_apart(conversation):
        raise Inapplicable(NO_TOKENS)
    bought = await stage.buy(conversation)
    for _ in range(2):
        again = await conversation.call("request", {**bought.params, "not_after": not_after() + 1.5})
        report = again.result(Report, "RQ-1")
        new = {each.instance for each in report.instances} - {each.instance for each in bought.report.instances}
        if new or report.gone_units:
            raise again.broken("RQ-1", f"the present report ({', '.join(bought.ids)}), no second purchase")
    await no_second_purchase(conversation, bought, "RQ-1")
    await _other_content(conversation, bought)


async def _other_content(conversation: Conversation, bought: Bought) -> None:
    for changes in ({"units": bought.params["units"] + 1}, {"data": {"line": "another"}}):
        reply = await conversation.call("request", {**bought.params, **changes, "not_after": not_after()})
        if reply.error is None or reply.error.error_class is not ErrorClass.TOKEN_CONFLICT:
            raise reply.broken("RQ-1", "token_conflict for other content under the same token")


async def no_second_purchase(conversation: Conversation, bought: Bought, clause: str) -> None:
    """See in lists and status that a token bought once only, as far as lists show it."""
    await acting.until_listed(conversation, bought.ids, min(conversation.promises.list.delay_s + 1, 5))
    listing = await acting.list_all(conversation)
    found = {each.instance for each in listing.of_token(bought.token)}
    report = await acting.status(conversation, bought.params)
    found |= {each.instance for each in report.instances if each.state is not InstanceState.GONE}
    more = found - set(bought.ids)
    if more:
        came = f"also {', '.join(sorted(more))}"
        raise Broken(clause, f"only {', '.join(bought.ids)} under {bought.token}", came, "request, sent again")


async def _outcomes(stage: Stage) -> None:
    """Ask about one purchase again and again, before and after its end; the ledger compares every answer."""
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    for _ in range(2):
        await acting.status(conversation, bought.params)
    await acting.give_back(conversation, bought.ids, stage.subject.settle_s)
    report = await acting.status(conversation, bought.params)
    if report.outcome is not Outcome.MADE:
        raise Broken("RP-1", "made, also after everything was given back", str(report.outcome), "request_status")


async def _status_items(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = [await stage.buy(conversation) for _ in range(2)]
    unknown = acting.asked_about(stage.order(conversation, template="no-such-template"))
    asked: list[Params] = [bought[0].asked, unknown, bought[1].asked]
    wanted = {item["token"] for item in asked}
    while wanted:
        reply = await conversation.call("request_status", {"requests": asked})
        reports = reply.result(RequestStatusResult, "RS-2").requests
        tokens = {report.token for report in reports}
        if not tokens or not tokens <= wanted:
            raise reply.broken("RS-1", f"reports on one or more of {', '.join(sorted(wanted))}, on no others")
        for report in reports:
            if report.token != unknown["token"] and report.outcome is not Outcome.MADE:
                raise reply.broken("RS-2", "made for the good items beside one bad item")
            if report.token == unknown["token"] and report.outcome is Outcome.MADE:
                raise reply.broken("RP-3", "no `made` for a token that was never sent")
        wanted -= tokens
        asked = [item for item in asked if item["token"] in wanted]


async def _read_twice(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    first = await acting.status(conversation, bought.params)
    second = await acting.status(conversation, bought.params)
    names = [{each.instance for each in report.instances} for report in (first, second)]
    if second.outcome is not first.outcome or names[1] < names[0]:
        raise Broken(
            "RS-3", f"the same report as before ({first.outcome})", f"{second.outcome}", "request_status twice"
        )


async def _never_heard(stage: Stage) -> None:
    conversation = await stage.shared()
    params = stage.order(conversation)
    report = await acting.status(conversation, params)
    if report.outcome in (Outcome.MADE, Outcome.PENDING) or report.instances:
        raise Broken("OT-1", "not_made or unknown for a token never heard of", str(report), "request_status")
    if report.outcome is not Outcome.NOT_MADE:
        stage.measured("OT-1", "a token never heard of is unknown")
    elif keeps_tombstones(conversation):
        await not_bought(conversation, params, "OT-1", "was said to be not_made")
    else:
        stage.measured("OT-1", "not_made, and no tombstone is due: memory is at the far side alone")


def keeps_tombstones(conversation: Conversation) -> bool:
    """Return whether `not_made` must hold against a late frame: with own records a tombstone is kept (§4, CN-3)."""
    promises = conversation.promises
    return promises.memory.where == MemoryWhere.STATE_DIR and tells_tokens_apart(conversation)


async def not_bought(conversation: Conversation, params: Params, clause: str, why: str) -> None:
    """Send a request whose token is closed; the check itself judges what comes, not the ledger."""
    conversation.loose = True
    try:
        reply = await conversation.call("request", {**params, **conversation.fence()})
        if reply.error is None and reply.result(Report).outcome is not Outcome.NOT_MADE:
            raise reply.broken(clause, f"no purchase under a token that {why}")
    finally:
        conversation.loose = False


async def _errors_made_nothing(stage: Stage) -> None:
    conversation = await stage.shared()
    params = stage.order(conversation, template="no-such-template")
    reply = await conversation.call("request", params)
    error = reply.error
    if error is None:
        raise reply.broken("RQ-5", "an error for a template that does not exist")
    if not reply.says_not_made:
        stage.measured("RQ-5", "an unknown template is refused without the word not_made")
        return
    listing = await acting.list_all(conversation)
    report = await acting.status(conversation, params)
    if report.outcome in (Outcome.MADE, Outcome.PENDING) or report.instances or listing.of_token(params["token"]):
        raise Broken("RQ-5", "nothing under a token whose error said not_made", str(report), reply.sent)


async def _shortage(stage: Stage) -> None:
    conversation = await stage.shared()
    for template in stage.may_buy():
        free = None if template.capacity is None else template.capacity.available
        if free is None or not 2 <= free <= SMALL:
            continue
        least, step, most = _granularity(template)
        if free >= most:  # take some first, so that the longest request asks for more than is left
            await stage.buy(conversation, acting.Wares(template, free - most + max(step, least)))
            free = most - max(step, least)
        await _ask_for_more(stage, conversation, acting.Wares(template, free + step), free)
        return
    raise Inapplicable(f"no template that may be bought states a capacity of 2 to {SMALL} units")


def _granularity(template: Template) -> tuple[int, int, int]:
    found = template.granularity
    return found.min_units, found.step_units, found.max_units


async def _ask_for_more(stage: Stage, conversation: Conversation, wares: acting.Wares, free: int) -> None:
    params = acting.order(conversation, wares)
    reply = await conversation.call("request", params)
    if reply.error is not None:
        report = await acting.status(conversation, params)
        if any(each.state is not InstanceState.GONE for each in report.instances):
            raise reply.broken("RQ-4", f"a result with problems, since {len(report.instances)} instances exist")
        return
    bought = await acting.settled(conversation, params, reply.result(Report), stage.subject.settle_s)
    made = sum(each.units for each in bought.report.instances)
    if made < wares.units and not bought.report.problems:
        raise reply.broken("RQ-4", f"problems that say why {wares.units - made} of {wares.units} units are missing")
    if conversation.promises.limits.min_units != "atomic":
        stage.passed_over("PR-limits.min_units", f"declared {conversation.promises.limits.min_units}")
        return
    await acting.give_back(conversation, bought.ids, stage.subject.settle_s)
    now = {each.template: each for page in await acting.describe_all(conversation) for each in page.templates}
    capacity = now[wares.template.template].capacity
    if capacity is None or (capacity.available or 0) >= wares.units:
        raise Inapplicable("meanwhile there is enough for the whole order")
    again = await conversation.call("request", acting.order(conversation, wares, min_units=wares.units))
    if again.error is None and again.result(Report).instances:
        raise again.broken("PR-limits.min_units", f"none at all, since {wares.units} units are more than {free}")


BUYING: tuple[Check, ...] = (
    check("the same request again, and another under its token", "RQ-1")(_again),
    check("one purchase from its begin to its end", "RP-1", "RP-2", "IN-1", "RQ-6", "SH-request", "RQ-2")(_outcomes),
    check("questions about several purchases, one of them bad", "RS-2", "RS-1", "SH-request_status")(_status_items),
    check("reading destroys nothing", "RS-3")(_read_twice),
    check("a token never heard of", "OT-1")(_never_heard),
    check("an error that says not_made", "RQ-5", unless=("RS-2",))(_errors_made_nothing),
    check("more than there is", "RQ-4", "PR-limits.min_units")(_shortage),
)
