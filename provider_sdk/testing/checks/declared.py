"""Checks of what stands behind a capability: quote, cancel, forget, extend, describe.delta, list.state.

Each is passed over where its capability is not declared; that an undeclared one is absent, describing.py checks.
"""

from itertools import pairwise

from provider_sdk.contract import (
    DescribeResult,
    ExtendResult,
    ForgetResult,
    ListResult,
    Outcome,
    QuoteResult,
    Report,
    ReturnState,
    Template,
    format_time,
    parse_time,
)
from provider_sdk.contract.words import Capability, ErrorClass
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.checks.buying import keeps_tombstones, not_bought, tells_tokens_apart
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.saying import Params
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

THIN = frozenset({"instance", "state", "units", "kind", "template", "notice"})
FAR, NEAR = 1_990_000_000.0, 1_980_000_000.0
NEVER = "i-never-existed"
ATTEMPTS = 5


async def _declares(stage: Stage, capability: Capability, *, own_process: bool = False) -> Conversation:
    conversation = await stage.shared()
    if capability not in conversation.capabilities:
        raise Inapplicable(f"the capability {capability} is not declared")
    return await stage.open() if own_process else conversation


# Quotes.


async def _quote(stage: Stage) -> None:
    conversation = await _declares(stage, Capability.QUOTE)
    before = await acting.list_all(conversation)
    asked = {"template": stage.wares.template.template, "units": stage.wares.units}
    reply = await conversation.call("quote", asked)
    first = reply.result(QuoteResult, "QT-1")
    price = stage.wares.template.price
    if price is not None and (first.price.currency, first.price.per) != (price.currency, price.per):
        raise reply.broken("QT-1", f"a price in {price.currency} per {price.per}, as the template's")
    if not 1 <= first.units <= stage.wares.units:
        raise reply.broken("QT-1", f"1 to {stage.wares.units} units, as asked for")
    (await conversation.call("quote", asked)).result(QuoteResult, "QT-1")
    await conversation.quiet(min(conversation.promises.list.delay_s, 3))
    after = await acting.list_all(conversation)
    new = {each.instance for each in after.living} - {each.instance for each in before.living}
    if new:
        raise Broken("QT-1", "nothing new in the list after a quote", ", ".join(sorted(new)), "quote")
    await _use(stage, conversation, first.quote)


async def _use(stage: Stage, conversation: Conversation, quote: str) -> None:
    await stage.buy(conversation, quote=quote)
    for gone in (quote, "never-quoted"):
        reply = await conversation.call("request", stage.order(conversation, quote=gone))
        if reply.error is None:
            raise reply.broken("QT-2", "quote_gone for a quote that was used or never given")
        reply.refused("QT-2", ErrorClass.QUOTE_GONE)


# Cancels.


async def _cancel(stage: Stage) -> None:
    conversation = await _declares(stage, Capability.CANCEL)
    bought = await stage.buy(conversation)
    for _ in range(2):
        reply = await conversation.call("cancel", _cancelling(conversation, bought.params))
        report = reply.result(Report, "CN-1")
        living = {each.instance for each in report.instances if each.state not in acting.ENDED}
        if report.outcome is not Outcome.MADE or not set(bought.ids) <= living:
            raise reply.broken("CN-1", "made, with everything still there: a cancel gives nothing back")
    after = await acting.status(conversation, bought.params)
    if not set(bought.ids) <= {each.instance for each in after.instances if each.state not in acting.ENDED}:
        raise Broken("CN-1", f"{', '.join(bought.ids)} still there after a cancel", str(after), "request_status")
    await _cancel_unseen(stage, conversation)
    await _cancel_open(stage, conversation)


async def _cancel_unseen(stage: Stage, conversation: Conversation) -> None:
    params = stage.order(conversation)
    reply = await conversation.call("cancel", _cancelling(conversation, params))
    outcome = reply.result(Report, "CN-3").outcome
    if outcome not in (Outcome.NOT_MADE, Outcome.UNKNOWN):
        raise reply.broken("CN-3", "not_made with a tombstone, or unknown")
    if outcome is Outcome.NOT_MADE and keeps_tombstones(conversation):
        await not_bought(conversation, params, "CN-3", "was cancelled as not_made")


async def _cancel_open(stage: Stage, conversation: Conversation) -> None:
    params = stage.order(conversation)
    first = await conversation.call("request", params)
    if first.error is not None or first.result(Report).outcome is not Outcome.PENDING:
        stage.passed_over("CN-2", "purchases are never pending long enough to be cancelled")
        return
    reply = await conversation.call("cancel", _cancelling(conversation, params))
    report = reply.result(Report, "CN-2")
    if report.outcome is Outcome.PENDING and not report.cancelling:
        raise reply.broken("CN-2", "pending with `cancelling`, or a final outcome")


def _cancelling(conversation: Conversation, params: Params) -> Params:
    return {"request_id": params["request_id"], "token": params["token"], **conversation.fence()}


async def _cancel_over_a_crash(stage: Stage) -> None:
    first = await _declares(stage, Capability.CANCEL, own_process=True)
    if not keeps_tombstones(first):
        raise Inapplicable("no tombstone is due: there are no own records, or no tokens")
    params = stage.order(first)
    report = (await first.call("cancel", _cancelling(first, params))).result(Report, "CN-3")
    if report.outcome is not Outcome.NOT_MADE:
        raise Inapplicable(f"a token cancelled before it came is {report.outcome}")
    await stage.end(first)
    second = await stage.open(first.state_dir)
    await not_bought(second, params, "CN-3", "was cancelled as not_made, before a kill -9")


# Forgetting.


async def _forget(stage: Stage) -> None:
    conversation = await _declares(stage, Capability.FORGET)
    bought = await stage.buy(conversation)
    await acting.give_back(conversation, bought.ids, stage.subject.settle_s)
    for _ in range(2):
        await _told_to_forget(stage, conversation, bought)
    await _not_bought_again(conversation, bought, "forgotten")


async def _told_to_forget(stage: Stage, conversation: Conversation, bought: Bought) -> None:
    stage.watch.ledger.forgot(bought.token)
    names = {"tokens": [bought.token, "tk-never-seen"], "returns": ["rt-never-seen"]}
    (await conversation.call("forget", names)).result(ForgetResult, "FG-1")


async def _not_bought_again(conversation: Conversation, bought: Bought, how: str) -> None:
    if not tells_tokens_apart(conversation):
        return
    reply = await conversation.call("request", {**bought.params, **conversation.fence()})
    if reply.error is None:
        before = {each.instance for each in bought.report.instances}
        if {each.instance for each in reply.result(Report).instances} - before:
            raise reply.broken("FG-1", f"no purchase under a token that was {how}")


async def _forget_the_living(stage: Stage) -> None:
    """The daemon forgets as soon as it has stored the final answer: what was bought lives on, also over a crash."""
    first = await _declares(stage, Capability.FORGET, own_process=True)
    bought = await stage.buy(first)
    was_listed = await acting.until_listed(first, bought.ids, min(first.promises.list.delay_s + 1, 5)) is not None
    await _told_to_forget(stage, first, bought)
    await stage.end(first)
    second = await stage.open(first.state_dir, loose=True)
    await _not_bought_again(second, bought, "forgotten, before a kill -9")
    if was_listed and await acting.until_listed(second, bought.ids, 5) is None:
        expected = f"{', '.join(bought.ids)} in the list: only the record of the answer may be dropped"
        raise Broken("FG-1", expected, "not there", "forget, kill -9, list")
    items = await acting.give_back(second, bought.ids, stage.subject.settle_s)
    if any(item.state is not ReturnState.RETURNED for item in items):
        raise Broken("FG-1", f"{', '.join(bought.ids)} given back", str(items), "forget, kill -9, return")


# Ends that move.


async def _extend(stage: Stage) -> None:
    conversation = await _declares(stage, Capability.EXTEND)
    bought = await stage.buy(conversation)
    instance = bought.ids[0]
    ends = []
    for until in (FAR, NEAR, FAR):
        items = [{"instance": each, "until": format_time(until)} for each in (NEVER, instance)]
        reply = await conversation.call("extend", {"items": items, **conversation.fence()})
        found = {each.instance: each for each in reply.result(ExtendResult, "XT-1").items}
        if instance not in found or found[instance].problem is not None:
            raise reply.broken("XT-1", f"an end of {instance}, beside an item that does not exist")
        if NEVER in found and found[NEVER].problem is None:
            raise reply.broken("XT-1", f"a problem of {NEVER}, which never existed")
        ends.append(found[instance].expires_at)
    times = [parse_time(each) for each in ends if each is not None]
    if any(later < earlier for earlier, later in pairwise(times)):
        raise Broken("XT-1", "an end that never comes nearer", str(ends), "extend, far and then near")


# Changes of the description, thin lists.


async def _delta(stage: Stage) -> None:
    """A change, applied to what is known, gives what is told whole."""
    conversation = await stage.shared()
    declared = Capability.DESCRIBE_DELTA in conversation.capabilities
    known, before = await _whole(conversation)
    await stage.buy(conversation)
    for _ in range(ATTEMPTS):
        pages = await acting.describe_all(conversation, known)
        change = pages[0]
        revision, whole = await _whole(conversation)
        if revision != change.revision:
            continue  # it changed once more in between
        if revision == known:
            raise Inapplicable("a purchase changes nothing of what is described")
        if change.base is None and declared:
            stage.measured("DS-2", "declares describe.delta, and told everything of a purchase's change")
        if change.base is not None and not declared:
            raise Broken("DS-2", "everything, since describe.delta is not declared", str(change)[:300], "describe")
        told = before if change.base is not None else {}
        _compared(_applied(told, pages), whole)
        return
    raise Inapplicable("the description changed each time it was read")


async def _whole(conversation: Conversation) -> tuple[str, dict[str, Template]]:
    pages = await acting.describe_all(conversation)
    return pages[0].revision, {each.template: each for page in pages for each in page.templates}


def _applied(before: dict[str, Template], pages: list[DescribeResult]) -> dict[str, Template]:
    removed = {name for page in pages for name in page.removed}
    kept = {name: each for name, each in before.items() if name not in removed}
    return kept | {each.template: each for page in pages for each in page.templates}


def _compared(applied: dict[str, Template], whole: dict[str, Template]) -> None:
    wrong = sorted(name for name in applied.keys() | whole.keys() if applied.get(name) != whole.get(name))
    if wrong:
        expected = "known and change together are what is told whole"
        raise Broken("DS-2", expected, f"{', '.join(wrong[:5])} differ", "describe with known, describe without")


async def _thin(stage: Stage) -> None:
    conversation = await _declares(stage, Capability.LIST_STATE)
    bought = await stage.buy(conversation)
    if await acting.until_listed(conversation, bought.ids, min(conversation.promises.list.delay_s + 1, 5)) is None:
        raise Inapplicable("the purchase is not listed soon enough")
    reply = await conversation.call("list", {"view": "state"})
    reply.result(ListResult, "LS-9")
    stated = {name for each in reply.frame["result"]["instances"] for name, value in each.items() if value is not None}
    more = sorted(name for name in stated - THIN if not name.startswith("x-"))
    if more:
        raise reply.broken("LS-9", f"no {', '.join(more)} in a thin list, since list.state is declared")


DECLARED: tuple[Check, ...] = (
    check("quotes oblige nobody and are used once", "QT-1", "QT-2", "SH-quote")(_quote),
    check("cancel", "CN-1", "CN-2", "CN-3", "SH-cancel")(_cancel),
    check("forget", "FG-1", "SH-forget", unless=("RQ-1",))(_forget),
    check("extend", "XT-1", "SH-extend")(_extend),
    check("a change of the description", "DS-2", unless=("DS-1",))(_delta),
    check("thin lists, where they are declared", "LS-9", unless=("LS-9",))(_thin),
)
_SAME = ("RQ-1", "PR-token.replay", "PR-memory.keep_s", "ST-6")
DECLARED_OVER_CRASHES: tuple[Check, ...] = (
    check("cancelled before it came, then killed", "CN-3", unless=("CN-3", *_SAME))(_cancel_over_a_crash),
    check("forgotten, killed, and still there", "FG-1", unless=("FG-1", *_SAME))(_forget_the_living),
)
