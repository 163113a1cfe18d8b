"""Checks of list (§4) and of the promises about lists and marks (§7)."""

import trio

from provider_sdk.contract import ErrorClass, Instance, ListResult
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

WAIT_MOST_S = 10.0
AGE_SLACK_S = 2


async def _listed(stage: Stage, conversation: Conversation, number: int) -> list[Bought]:
    """Buy, and wait until lists show it; Inapplicable if they don't (the check of LS-1 says so)."""
    bought = [await stage.buy(conversation) for _ in range(number)]
    ids = [each for one in bought for each in one.ids]
    if await acting.until_listed(conversation, ids, WAIT_MOST_S) is None:
        raise Inapplicable(f"lists do not show a purchase within {WAIT_MOST_S:g} s")
    return bought


async def _delay(stage: Stage) -> None:
    conversation = await stage.shared()
    declared = conversation.promises.list.delay_s
    bought = await stage.buy(conversation)
    listing, lacked_s = await _until_listed(conversation, bought, min(declared + 8.0, WAIT_MOST_S))
    if listing is None and declared >= WAIT_MOST_S:
        raise Inapplicable(f"declared {declared} s; not listed within {WAIT_MOST_S:g} s, longer is not waited")
    if listing is None:
        raise Broken("LS-1", f"{', '.join(bought.ids)} in the list", f"not there after {lacked_s:.1f} s", "list")
    if lacked_s > declared + 1.5:
        raise Broken("PR-list.delay_s", f"listed within {declared} s", f"still missing after {lacked_s:.1f} s", "list")
    stage.measured("PR-list.delay_s", f"declared {declared} s, measured {lacked_s:.2f} s")
    _marks(stage, conversation, listing, bought)


async def _until_listed(
    conversation: Conversation, bought: Bought, wait_s: float
) -> tuple[acting.Listing | None, float]:
    """List until it is there; with it, how long after the purchase the last list was begun that lacked it.

    By the begin, since on a busy machine an answer may be long on its way without being late.
    """
    answered_at, lacked_s = trio.current_time(), 0.0
    while lacked_s < wait_s:
        begun_s = trio.current_time() - answered_at
        listing = await acting.list_all(conversation)
        if set(bought.ids) <= {each.instance for each in listing.instances}:
            return listing, lacked_s
        lacked_s = begun_s
        await conversation.quiet(min(0.05 + begun_s / 4, 0.5))
    return None, lacked_s


def _marks(stage: Stage, conversation: Conversation, listing: acting.Listing, bought: Bought) -> None:
    kept = conversation.promises.mark.kept
    for each in listing.instances:
        if each.instance in bought.ids:
            _mark(stage, each, bought, kept)


def _mark(stage: Stage, found: Instance, bought: Bought, kept: str) -> None:
    if found.mark is None or found.mark.token is None:
        if kept != "none":
            raise Broken("PR-mark.kept", f"its mark, since mark.kept is {kept}", f"{found.instance} without", "list")
        stage.passed_over("PR-mark.kept", "declared none")
        return
    sent = bought.params["mark"]
    stated = {name: getattr(found.mark, name) for name in sent if getattr(found.mark, name) is not None}
    if any(sent[name] != value for name, value in stated.items()):
        raise Broken("MK-1", f"the mark as it was sent: {sent}", str(stated), "list")
    if kept == "none":
        stage.measured("PR-mark.kept", "declared none, measured: marks are listed")


async def _pages(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await _listed(stage, conversation, 3)
    ids = {each for one in bought for each in one.ids}
    listing = await acting.list_all(conversation, limit=1)
    named = [each.instance for each in listing.instances]
    if len(set(named)) < len(named):
        raise Broken("LS-4", "each instance once in one pass", ", ".join(named), "list limit=1")
    if not ids <= set(named):
        raise Broken("LS-4", f"{', '.join(sorted(ids))} in pages of one", ", ".join(named), "list limit=1")
    if any(len(page.instances) > 1 for page in listing.pages):
        raise Broken("SH-list", "pages of the limit asked for", "more", "list limit=1")
    if any(page.complete for page in listing.pages[:-1]):
        raise Broken("LS-3", "complete only on the last page", "on an earlier one", "list limit=1")
    await _moving(stage, conversation, ids)


async def _moving(stage: Stage, conversation: Conversation, ids: set[str]) -> None:
    """Buy between two pages: what existed during the whole pass must still be in it."""
    first = (await conversation.call("list", {"limit": 1})).result(ListResult)
    names = [each.instance for each in first.instances]
    await stage.buy(conversation)
    cursor = first.next
    while cursor is not None and len(names) < 1000:
        page = (await conversation.call("list", {"limit": 1, "cursor": cursor})).result(ListResult, "LS-8")
        names += [each.instance for each in page.instances]
        cursor = page.next
    if not ids <= set(names):
        missing = ", ".join(sorted(ids - set(names)))
        raise Broken(
            "LS-4", "what existed during the whole pass", f"without {missing}", "list, a purchase between pages"
        )


async def _cursors(stage: Stage) -> None:
    conversation = await stage.shared()
    await _listed(stage, conversation, 2)
    first = (await conversation.call("list", {"limit": 1})).result(ListResult)
    (await conversation.call("list", {"cursor": "no cursor of yours"})).refused("LS-8", ErrorClass.CURSOR_GONE)
    if first.next is None:
        raise Inapplicable("a list of two instances came in one page of one")
    names = []
    for _ in range(2):
        page = await conversation.call("list", {"limit": 1, "cursor": first.next})
        names.append([each.instance for each in page.result(ListResult, "LS-8").instances])
    if names[0] != names[1]:
        raise Broken("LS-8", f"the same page for the same cursor: {names[0]}", str(names[1]), "list, a cursor twice")


async def _age(stage: Stage) -> None:
    conversation = await stage.shared()
    for _ in range(2):
        reply = await conversation.call("list", {"max_age_s": 0})
        age_s = reply.result(ListResult).age_s
        if age_s > reply.seconds + AGE_SLACK_S:
            raise reply.broken("LS-2", f"a fresh read (age_s up to {reply.seconds + AGE_SLACK_S:.0f}), for max_age_s 0")
        await conversation.quiet(0.5)


async def _complete(stage: Stage) -> None:
    conversation = await stage.shared()
    listing = await acting.list_all(conversation)
    if not listing.complete and not any(page.missing_places or page.problems for page in listing.pages):
        stage.measured("LS-3", "lists are never complete here: they prove no absence")


async def _named(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await _listed(stage, conversation, 2)
    wanted, other = bought[0].ids, bought[1].ids
    reply = await conversation.call("list", {"instances": [*wanted, "i-never-existed"]})
    found = reply.result(ListResult, "LS-6")
    names = {each.instance for each in found.instances}
    if names & set(other) or not set(wanted) <= names:
        raise reply.broken("LS-6", f"those asked for only: {', '.join(wanted)}")
    if found.complete:
        raise reply.broken("LS-6", "complete false for a list of named instances")
    if found.not_found != ("i-never-existed",):
        raise reply.broken("LS-6", "the missing one in not_found")


async def _not_found(stage: Stage) -> None:
    """See that not_found says no living thing is gone once it is old enough for that word."""
    conversation = await stage.shared()
    declared = conversation.promises.list.not_found_gone_after_s
    if declared is None:
        raise Inapplicable("declared never: not found proves nothing")
    bought = await stage.buy(conversation)
    ends_at = trio.current_time() + min(declared, WAIT_MOST_S)
    is_old, missing = False, ""
    while not is_old:
        is_old = trio.current_time() > ends_at  # by the begin of the question: its answer may be long on its way
        found = (await conversation.call("list", {"instances": list(bought.ids)})).result(ListResult)
        if not found.not_found:
            stage.measured("PR-list.not_found_gone_after_s", f"declared {declared} s, found at once or soon")
            return
        missing = ", ".join(found.not_found)
        await conversation.quiet(0.3)
    if declared <= WAIT_MOST_S:
        expected = f"found, since it is older than {declared} s and lives"
        raise Broken("PR-list.not_found_gone_after_s", expected, f"not_found {missing}", "list instances")
    raise Inapplicable(f"declared {declared} s; not found within {WAIT_MOST_S:g} s, longer is not waited")


async def _views(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await _listed(stage, conversation, 1)
    reply = await conversation.call("list", {"view": "state"})
    found = {each.instance: each for each in reply.result(ListResult, "LS-9").instances}
    for each in bought[0].report.instances:
        thin = found.get(each.instance)
        if thin is None or (thin.units, thin.kind) != (each.units, each.kind):
            raise reply.broken("LS-9", f"instance, state, units (and kind) of {each.instance}")
    wide = await conversation.call("list", {"scope": "cluster"})
    names = {each.instance for each in wide.result(ListResult, "LS-10").instances}
    if not set(bought[0].ids) <= names:
        raise wide.broken("LS-10", f"at least what is ours ({', '.join(bought[0].ids)})")


LISTING: tuple[Check, ...] = (
    check("how soon a purchase is listed, and with which mark", "LS-1", "PR-list.delay_s", "PR-mark.kept", "MK-1")(
        _delay
    ),
    check("pages, with a purchase between two of them", "LS-4", "LS-3", "LS-8", "SH-list")(_pages),
    check("cursors", "LS-8")(_cursors),
    check("lists are as fresh as asked for", "LS-2")(_age),
    check("complete is no empty word", "LS-3", "LS-5")(_complete),
    check("lists of named instances", "LS-6")(_named),
    check("what not_found means", "PR-list.not_found_gone_after_s", unless=("LS-1",))(_not_found),
    check("thin and wide lists", "LS-9", "LS-10")(_views),
)
