"""Checks of return and return_status (§4)."""

import trio

from provider_sdk.contract import (
    ErrorClass,
    ReturnedItem,
    ReturnResult,
    ReturnState,
    ReturnStatusResult,
)
from provider_sdk.testing import acting
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.reply import Reply
from provider_sdk.testing.stage import Stage, as_wares
from provider_sdk.testing.verdict import Broken, Inapplicable

TAKEN = (ReturnState.RETURNING, ReturnState.RETURNED)
NOT_THERE = "i-never-existed"


def _item(reply: Reply, instance: str, clause: str) -> ReturnedItem:
    """Return what was answered for one instance; Broken if nothing was."""
    for item in reply.result(ReturnResult, clause).items:
        if item.instance == instance:
            return item
    raise reply.broken(clause, f"an item for {instance}")


async def _again(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    await acting.give_back(conversation, bought.ids, stage.subject.settle_s)
    for _ in range(2):
        reply = await conversation.call("return", acting.giving(conversation, bought.ids))
        for instance in bought.ids:
            if _item(reply, instance, "RT-1").state is not ReturnState.RETURNED:
                raise reply.broken("RT-1", f"{instance} returned, as before")


async def _at_once(stage: Stage) -> None:
    """Give back what has only just been made, in whatever state it is."""
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    reply = await conversation.call("return", acting.giving(conversation, bought.ids))
    for instance in bought.ids:
        item = _item(reply, instance, "RT-2")
        if item.state is ReturnState.HELD and stage.wares.template.hold is not None:
            raise Inapplicable(f"the template is held for {stage.wares.template.hold.min_s} s")
        if item.state not in TAKEN:
            raise reply.broken("RT-2", f"{instance} returning or returned, whatever its state")


async def _one_bad(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    ids = (NOT_THERE, *bought.ids)
    reply = await conversation.call("return", acting.giving(conversation, ids))
    for instance in bought.ids:
        if _item(reply, instance, "RT-4").state not in (*TAKEN, ReturnState.HELD):
            raise reply.broken("RT-4", f"{instance} taken beside an item that does not exist")
    if _item(reply, NOT_THERE, "RT-4").state in TAKEN:
        raise reply.broken("RT-4", f"no give-back of {NOT_THERE}, which never existed")


async def _only_the_named(stage: Stage) -> None:
    conversation = await stage.shared()
    kept = await stage.buy(conversation)
    given = await stage.buy(conversation)
    await acting.give_back(conversation, given.ids, stage.subject.settle_s)
    report = await acting.status(conversation, kept.params)
    living = {each.instance for each in report.instances if each.state not in acting.ENDED}
    if not set(kept.ids) <= living:
        lost = ", ".join(sorted(set(kept.ids) - living))
        raise Broken("RT-6", f"only {', '.join(given.ids)} given back", f"{lost} is gone as well", "return")


async def _statuses(stage: Stage) -> None:
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    params = acting.giving(conversation, bought.ids)
    await conversation.call("return", params)
    asked = [params["return_id"], "rt-never-sent"]
    reply = await conversation.call("return_status", {"returns": asked})
    found = {each.return_id: each.items for each in reply.result(ReturnStatusResult, "RX-1").returns}
    if found.get("rt-never-sent") is not None:
        raise reply.broken("RX-1", "no items for a give-back that was never sent")
    items = {each.instance for each in found.get(asked[0]) or ()}
    if found.get(asked[0]) is not None and items != set(bought.ids):
        raise reply.broken("RX-1", f"items for {', '.join(bought.ids)}")


async def _keep(stage: Stage) -> None:
    conversation = await stage.shared()
    divisible = [each for each in stage.may_buy() if each.units_per_instance != 1 and each.granularity.max_units >= 3]
    if not divisible:
        raise Inapplicable("no template that may be bought gives one instance of several units")
    step = divisible[0].granularity.step_units
    units = max(divisible[0].granularity.min_units, 3 * step)
    bought = await stage.buy(conversation, as_wares(divisible[0], units))
    big = [each for each in bought.report.instances if each.units >= 2]
    if not big:
        raise Inapplicable("no instance of several units was made")
    if not conversation.promises.return_.partial:
        await _unsupported(conversation, big[0].instance)
        stage.passed_over("PR-return.partial", "not promised")
    else:
        stage.passed_over("RT-3", "return.partial is promised")
        await _lowered(stage, conversation, big[0].instance, big[0].units - step)


async def _unsupported(conversation: Conversation, instance: str) -> None:
    reply = await conversation.call("return", acting.giving(conversation, [instance], keep=1))
    if reply.error is not None:
        reply.refused("RT-3", ErrorClass.UNSUPPORTED)
        return
    item = _item(reply, instance, "RT-3")
    if item.problem is None or item.problem.error_class is not ErrorClass.UNSUPPORTED:
        raise reply.broken("RT-3", "unsupported, since return.partial is not promised")


async def _lowered(stage: Stage, conversation: Conversation, instance: str, keep: int) -> None:
    params = acting.giving(conversation, [instance], keep=keep)
    reply = await conversation.call("return", params)
    if _item(reply, instance, "PR-return.partial").state not in TAKEN:
        raise reply.broken("PR-return.partial", f"{instance} lowered to {keep} units")
    items = await acting.returned(conversation, params, stage.subject.settle_s)
    if items[0].units is not None and items[0].units != keep:
        raise Broken("PR-return.partial", f"{keep} units still ours", str(items[0]), reply.sent)
    higher = await conversation.call("return", acting.giving(conversation, [instance], keep=keep + 1))
    found = _item(higher, instance, "RT-1")
    if found.units is not None and found.units > keep:
        raise higher.broken("RT-1", f"{keep} units: keep lowers and never raises")


async def _observed(stage: Stage) -> None:
    """Measure how long a give-back takes, and whether what is called returned is really out of the lists."""
    conversation = await stage.shared()
    bought = await stage.buy(conversation)
    promised = conversation.promises
    listed = await acting.until_listed(conversation, bought.ids, min(promised.list.delay_s + 1, 5))
    began = trio.current_time()
    await acting.give_back(conversation, bought.ids, stage.subject.settle_s)
    took_s = trio.current_time() - began
    stage.measured("PR-return.typical_s", f"declared {promised.return_.typical_s} s, measured {took_s:.2f} s")
    listing = await acting.list_all(conversation)
    still = {each.instance for each in listing.living} & set(bought.ids)
    if not promised.return_.observed:
        word = "still listed" if still else "out of the list at once"
        stage.passed_over("PR-return.observed", f"not promised (measured: {word})")
    elif still:
        raise Broken("PR-return.observed", "`returned` only when it is seen to be so", f"{still} is listed as living")
    if listed is None:
        stage.passed_over("PR-list.gone_visible_s", "not listed before it was given back")
        return
    await _gone_visible(stage, conversation, set(bought.ids))


async def _gone_visible(stage: Stage, conversation: Conversation, ids: set[str]) -> None:
    listing = await acting.list_all(conversation)
    gone = {each.instance for each in listing.instances if each.state in acting.ENDED} & ids
    declared = conversation.promises.list.gone_visible_s
    if declared and gone != ids:
        expected = f"gone instances listed for {declared} s"
        raise Broken("PR-list.gone_visible_s", expected, f"{', '.join(sorted(ids - gone))} is not listed any more")
    if gone and not declared:
        stage.measured("PR-list.gone_visible_s", "declared 0 s, measured: still listed after the give-back")


RETURNING: tuple[Check, ...] = (
    check("the same give-back again", "RT-1")(_again),
    check("a give-back at once", "RT-2")(_at_once),
    check("a give-back with one bad item", "RT-4", "SH-return", unless=("RT-2",))(_one_bad),
    check("only what was named is given back", "RT-6")(_only_the_named),
    check("questions about give-backs", "RX-1", "SH-return_status")(_statuses),
    check("a part is given back", "RT-3", "PR-return.partial", "RT-1", unless=("RT-2",))(_keep),
    check("what returned means", "PR-return.observed", "PR-return.typical_s", "PR-list.gone_visible_s")(_observed),
)
