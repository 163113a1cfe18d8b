"""What a daemon does with one greeted provider, as far as several checks need it: buy, ask, give back, list, describe.

Alone responsible for these sequences and their bounds. Says nothing of clauses except where an answer is impossible.
"""

from collections.abc import Awaitable, Callable, Iterable
from itertools import count
from typing import Final, TypeVar

import trio
from attrs import frozen

from provider_sdk.contract import (
    DescribeResult,
    Instance,
    InstanceState,
    ListResult,
    Outcome,
    Report,
    RequestStatusResult,
    ReturnedItem,
    ReturnResult,
    ReturnState,
    ReturnStatusResult,
    Template,
)
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.reply import Reply
from provider_sdk.testing.saying import Params
from provider_sdk.testing.verdict import Inapplicable

POLL_S: Final = 0.02
PAGES_MOST: Final = 200
ENDED: Final = (InstanceState.GONE, InstanceState.RETURNING)
T = TypeVar("T")


@frozen
class Wares:
    """What is bought: a template, how many units at a time, and the cap that its price allows."""

    template: Template
    units: int

    @property
    def price_cap(self) -> Params | None:
        """Return the price itself as the cap, None for an unpriced template."""
        price = self.template.price
        return None if price is None else {"amount": price.amount, "currency": price.currency, "per": price.per}


@frozen
class Bought:
    """A purchase with a final answer: its params and the report."""

    params: Params
    report: Report

    @property
    def token(self) -> str:
        """Return its token."""
        return str(self.params["token"])

    @property
    def asked(self) -> Params:
        """Return the item that asks about it in `request_status`."""
        return asked_about(self.params)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the instances that exist."""
        return tuple(each.instance for each in self.report.instances if each.state is not InstanceState.GONE)


def asked_about(params: Params) -> Params:
    """Return the item of `request_status` that asks about a purchase."""
    return {name: params[name] for name in ("request_id", "token", "template", "units", "mark")}


def order(conversation: Conversation, wares: Wares, **changes: object) -> Params:
    """Return the params of a new purchase; `changes` replace or (None) remove."""
    identity = conversation.identity
    request_id, token = identity.fresh("rq"), identity.fresh("tk")
    params: Params = {
        "request_id": request_id,
        "token": token,
        "template": wares.template.template,
        "units": wares.units,
        "min_units": 1,
        "price_cap": wares.price_cap,
        "mark": identity.mark(request_id, token, conversation.epoch),
        **conversation.fence(),
        **changes,
    }
    return {name: value for name, value in params.items() if value is not None}


async def until(wait_s: float, ask: Callable[[], Awaitable[T | None]]) -> T | None:
    """Ask again and again until there is something, or the time is over."""
    ends_at = trio.current_time() + wait_s
    for attempt in count():
        found = await ask()
        if found is not None or trio.current_time() >= ends_at:
            return found
        await trio.sleep(min(POLL_S * 1.5**attempt, 1.0))
    return None


async def buy(conversation: Conversation, params: Params, settle_s: float) -> Bought:
    """Send a purchase and wait for `made`; Inapplicable if nothing can be bought now."""
    reply = await conversation.call("request", params)
    error = reply.error
    if error is not None:
        raise Inapplicable(f"nothing could be bought: {error.error_class} {error.detail or error.reason or ''}".strip())
    return await settled(conversation, params, reply.result(Report), settle_s)


async def settled(conversation: Conversation, params: Params, first: Report, settle_s: float) -> Bought:
    """Wait until a purchase is `made`; Inapplicable if it ends otherwise or does not end."""

    async def is_final() -> Report | None:
        report = await status(conversation, params)
        return report if report.outcome in (Outcome.MADE, Outcome.NOT_MADE) else None

    report: Report | None = first
    if first.outcome not in (Outcome.MADE, Outcome.NOT_MADE):
        report = await until(settle_s, is_final)
    if report is None:
        raise Inapplicable(f"a purchase was still open after {settle_s:g} s (settle_s of the subject file)")
    if report.outcome is Outcome.NOT_MADE:
        why = ", ".join(f"{each.error_class} {each.detail or ''}".strip() for each in report.problems)
        raise Inapplicable(f"nothing could be bought: {why or 'not_made without a problem'}")
    return Bought(params, report)


async def status(conversation: Conversation, params: Params) -> Report:
    """Return the present report of one purchase."""
    reply = await conversation.call("request_status", {"requests": [asked_about(params)]})
    reports = reply.result(RequestStatusResult).requests
    for report in reports:
        if report.token == params["token"]:
            return report
    raise reply.broken("RS-1", f"a report on {params['token']}")


def giving(conversation: Conversation, ids: Iterable[str], keep: int = 0, **changes: object) -> Params:
    """Return the params of a give-back of these instances."""
    items = [{"instance": each, "keep": keep} for each in ids]
    return_id = conversation.identity.fresh("rt")
    return {"return_id": return_id, "items": items, "why": "idle", **conversation.fence(), **changes}


async def give_back(conversation: Conversation, ids: Iterable[str], settle_s: float) -> tuple[ReturnedItem, ...]:
    """Give instances back and wait until each is `returned`; Inapplicable if one is not in time."""
    params = giving(conversation, ids)
    reply = await conversation.call("return", params)
    items = reply.result(ReturnResult).items
    if not all(each.state is ReturnState.RETURNED for each in items):
        items = await returned(conversation, params, settle_s)
    return items


async def returned(conversation: Conversation, params: Params, settle_s: float) -> tuple[ReturnedItem, ...]:
    """Wait until every item of a give-back is `returned`; Inapplicable if one is not in time."""

    async def is_over() -> tuple[ReturnedItem, ...] | None:
        items = await return_items(conversation, params)
        return items if items and all(each.state is ReturnState.RETURNED for each in items) else None

    items = await until(settle_s, is_over)
    if items is None:
        raise Inapplicable(f"a give-back was not over after {settle_s:g} s (settle_s of the subject file)")
    return items


async def return_items(conversation: Conversation, params: Params) -> tuple[ReturnedItem, ...]:
    """Return what has become of a give-back, sent again if it is not known or a part was refused (§4)."""
    reply = await conversation.call("return_status", {"returns": [params["return_id"]]})
    found = [each for each in reply.result(ReturnStatusResult).returns if each.return_id == params["return_id"]]
    items = found[0].items if found else None
    if items is None or any(each.state not in (ReturnState.RETURNING, ReturnState.RETURNED) for each in items):
        again = await conversation.call("return", {**params, **conversation.fence()})
        items = again.result(ReturnResult).items
    return items


@frozen
class Listing:
    """One pass over all pages."""

    instances: tuple[Instance, ...]
    pages: tuple[ListResult, ...]
    replies: tuple[Reply, ...]

    @property
    def complete(self) -> bool:
        """Return whether the last page says that it proves absence."""
        return self.pages[-1].complete

    @property
    def living(self) -> tuple[Instance, ...]:
        """Return what is there and not on its way out."""
        return tuple(each for each in self.instances if each.state not in ENDED)

    def of_token(self, token: str) -> tuple[Instance, ...]:
        """Return what bears the mark of a token, gone ones left out."""
        return tuple(
            each
            for each in self.instances
            if each.mark is not None and each.mark.token == token and each.state is not InstanceState.GONE
        )


async def list_all(conversation: Conversation, **params: object) -> Listing:
    """List through all pages."""
    pages: list[ListResult] = []
    replies: list[Reply] = []
    cursor: Params = {}
    while len(pages) < PAGES_MOST:
        reply = await conversation.call("list", {**params, **cursor})
        pages.append(reply.result(ListResult))
        replies.append(reply)
        if pages[-1].next is None:
            return Listing(tuple(each for page in pages for each in page.instances), tuple(pages), tuple(replies))
        cursor = {"cursor": pages[-1].next}
    raise replies[-1].broken("SH-list", f"a last page within {PAGES_MOST} pages")


async def until_listed(conversation: Conversation, ids: Iterable[str], wait_s: float) -> Listing | None:
    """List until all these instances are there; None if they are not in time."""
    wanted = set(ids)

    async def has_all() -> Listing | None:
        listing = await list_all(conversation)
        return listing if wanted <= {each.instance for each in listing.instances} else None

    return await until(wait_s, has_all)


async def describe_all(conversation: Conversation, known: str | None = None) -> list[DescribeResult]:
    """Describe through all pages."""
    pages: list[DescribeResult] = []
    params: Params = {} if known is None else {"known": known}
    while len(pages) < PAGES_MOST:
        reply = await conversation.call("describe", params)
        pages.append(reply.result(DescribeResult))
        if pages[-1].next is None:
            return pages
        params = {**params, "cursor": pages[-1].next}
    raise Inapplicable(f"the description has more than {PAGES_MOST} pages")
