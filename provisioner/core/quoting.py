"""How prices that nobody stated are asked for, and what comes of it: one quote a template at a time, used once (QT-2).

Quotes oblige nobody and are only observed: they are empty at each start. It must not choose what is bought.
"""

from collections.abc import Iterable, Iterator

from attrs import evolve

from provisioner.core.capabilities import QUOTE, can
from provisioner.core.effects import AskQuote, EffectKey
from provisioner.core.events import Moment, NotWritten, Quote, QuoteAnswered, Refusal
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, Key, RequestFact
from provisioner.core.intake import want_plan
from provisioner.core.model import Problem
from provisioner.core.pauses import doubled_s
from provisioner.core.policy.quotes import QuoteWish, quote_id
from provisioner.core.providers import described_soon, is_present, view_of, with_view
from provisioner.core.world import QuoteView, World

EVERY_S = 30.0
"""The least pause between two quotes for one template."""

OPEN_MOST = 20
"""Quotes of one provider that may be asked for at once."""

UNWRITTEN_AGAIN_S = 1.0
REFUSED_FIRST_S, REFUSED_MOST_S = 5.0, 300.0
"""How long an offer whose price was refused is left out, besides until it is described anew; else a price that is
stated and never kept would be tried as fast as it is refused."""

PRICE_CLASSES = frozenset({"price", "quote_gone"})


def wished(draft: Draft, wishes: Iterable[QuoteWish]) -> Draft:
    """The draft in which exactly these quotes are wanted; what is not wanted any more is not asked for."""
    seen = draft.world.seen
    units = {quote_id(wish.provider, wish.template): wish.units for wish in wishes}
    quotes = seen.quotes.mutate()
    for id, view in seen.quotes.items():
        if id not in units and view.wanted_units:
            quotes[id] = evolve(view, wanted_units=0)
    for id, count in units.items():
        quotes[id] = evolve(seen.quotes.get(id, QuoteView()), wanted_units=count)
    draft = draft.see(evolve(seen, quotes=quotes.finish()))
    return draft.touch(*(Key(FactKind.PROCESS, id.partition("/")[0]) for id in units))


def used(draft: Draft, provider: str, template: str) -> Draft:
    """The draft in which the quote of an offer is spent: a purchase names it."""
    return _with(draft, quote_id(provider, template), quote=None)


def owed_quotes(world: World, provider: str, number: int, now: Moment) -> Iterator[AskQuote | float]:
    """The quotes that are owed to be asked for, and when (boot clock) others will be."""
    if not world.seen.quotes or not can(world, provider, QUOTE):
        return
    wanted = [(view.next_boot_s, id, view) for id, view in world.seen.quotes.items() if _is_wanted(id, view, provider)]
    # Whoever has waited longest comes first: else those always refused would be all that is ever asked for.
    for _, id, view in sorted(wanted, key=lambda one: one[:2])[:OPEN_MOST]:
        if now.boot_s < view.next_boot_s:
            yield view.next_boot_s
        else:
            template = id.partition("/")[2]
            key = EffectKey("ask_quote", provider, template, number, view.tries)
            yield AskQuote(key, provider, number, template, view.wanted_units)


def _is_wanted(id: str, view: QuoteView, provider: str) -> bool:
    return id.partition("/")[0] == provider and view.wanted_units > 0


def take_quoted(draft: Draft, event: QuoteAnswered, now: Moment) -> Draft:
    """What came of asking: a price to buy at while it holds, or why there is none; then it is asked for again."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    id = quote_id(event.provider, event.template)
    tries = draft.world.seen.quotes.get(id, QuoteView()).tries + 1
    draft = draft.touch(Key(FactKind.PROCESS, event.provider))
    match event.outcome:
        case Quote() as told:
            said = {"quote": told.quote, "units": told.units, "price": told.price, "valid_until": told.valid_until}
            draft = _with(
                draft, id, **said, held=told.held, number=event.number, problem=None, wanted_units=0,
                tries=tries, next_boot_s=now.boot_s + EVERY_S,
            )  # fmt: skip
            return want_plan(draft, at_once=True)
        case NotWritten():
            return _with(draft, id, tries=tries, next_boot_s=now.boot_s + UNWRITTEN_AGAIN_S)
        case Refusal(problem=problem):
            pause_s = max(EVERY_S, float(problem.retry_after_s or 0))
            return want_plan(_with(draft, id, problem=problem, tries=tries, next_boot_s=now.boot_s + pause_s))
        case lost:
            problem = Problem("transient", detail=lost.reason)
            return want_plan(_with(draft, id, problem=problem, tries=tries, next_boot_s=now.boot_s + EVERY_S))


def price_refused(draft: Draft, request: RequestFact, problem: Problem, now: Moment) -> Draft:
    """What a refused price comes to: its quote is dropped, the provider describes itself again, and until then other
    offers are bought; that is no failure of the offer."""
    id = quote_id(request.provider, request.template)
    before = draft.world.seen.quotes.get(id, QuoteView())
    pause_s = max(doubled_s(REFUSED_FIRST_S, before.refusals, REFUSED_MOST_S), float(problem.retry_after_s or 0))
    refused = {"refused_boot_s": now.boot_s, "refused_until_boot_s": now.boot_s + pause_s}
    draft = _with(draft, id, quote=None, refusals=before.refusals + 1, **refused)
    view = described_soon(view_of(draft.world, request.provider), now)
    return with_view(draft, request.provider, view).touch(Key(FactKind.PROCESS, request.provider))


def price_kept(draft: Draft, request: RequestFact) -> Draft:
    """The draft in which earlier refusals of an offer's price count no more: it was bought at it."""
    id = quote_id(request.provider, request.template)
    before = draft.world.seen.quotes.get(id)
    return _with(draft, id, refusals=0, refused_boot_s=None) if before is not None and before.refusals else draft


def _with(draft: Draft, id: str, **changes: object) -> Draft:
    seen = draft.world.seen
    view = evolve(seen.quotes.get(id, QuoteView()), **changes)  # type: ignore[arg-type]
    return draft.see(evolve(seen, quotes=seen.quotes.set(id, view)))
