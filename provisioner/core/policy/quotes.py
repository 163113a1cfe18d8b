"""Which prices are asked for because nobody stated them, and which of those that were told may be bought at.

An unknown price never wins: a quote is asked for only where a line stays open that such an offer would fit (QT-1). It
must not know how one is asked for.
"""

from collections.abc import Iterable

from attrs import evolve, frozen

from provisioner.core.capabilities import QUOTE
from provisioner.core.events import Moment
from provisioner.core.facts import DescriptionFact
from provisioner.core.model import Template
from provisioner.core.reasons import Why
from provisioner.core.world import QuoteView, World

ASKED_FOR_A_LINE_MOST = 3
"""Quotes that one open line may lead to in one pass."""


@frozen
class QuoteWish:
    """A price that would be of use: for so many units of a template."""

    provider: str
    template: str
    units: int


def quote_id(provider: str, template: str) -> str:
    """By which the quotes of an offer are kept."""
    return f"{provider}/{template}"


def standing_quote(world: World, provider: str, template: str, now: Moment) -> QuoteView | None:
    """The quote that may be bought at now: told by the present process, not lapsed, not used (QT-2)."""
    view = world.seen.quotes.get(quote_id(provider, template))
    if view is None or view.quote is None or view.price is None or view.valid_until <= now.at:
        return None
    process = world.seen.processes.get(provider)
    return view if process is not None and process.number == view.number else None


def at_quote(template: Template, quote: QuoteView) -> Template:
    """The template at its quoted price, for no more units than were quoted."""
    return evolve(
        template, price=quote.price, valid_until=quote.valid_until, max_units=min(template.max_units, quote.units)
    )


def price_refused(world: World, provider: str, template: str, now: Moment) -> bool:
    """Whether the stated price was refused and has not been stated anew since."""
    if not world.seen.quotes:
        return False
    view, process = world.seen.quotes.get(quote_id(provider, template)), world.seen.processes.get(provider)
    if view is None or view.refused_boot_s is None:
        return False
    described_boot_s = process.described_boot_s if process is not None else None
    is_anew = described_boot_s is not None and described_boot_s >= view.refused_boot_s
    return not is_anew or now.boot_s < view.refused_until_boot_s


def unknown_price(
    world: World, provider: str, template: str, description: DescriptionFact, number: str, now: Moment
) -> tuple[Why, str]:
    """Why an offer without a price that holds can't be bought now, and what is done about it."""
    if QUOTE not in description.capabilities:
        return Why.UNKNOWN_PRICE, number
    view = world.seen.quotes.get(quote_id(provider, template), QuoteView())
    if view.problem is None or now.boot_s >= view.next_boot_s:
        return Why.QUOTE_AWAITED, number
    again_s = view.next_boot_s - now.boot_s
    return Why.QUOTE_AWAITED, f"{number}; refused: {view.problem.error_class}, asked again in {again_s:.0f} s"


def asked_again_boot_s(world: World, provider: str, template: str) -> float:
    """When an offer whose quote was refused last may be asked again, by the boot clock; 0 where none was refused."""
    view = world.seen.quotes.get(quote_id(provider, template))
    return view.next_boot_s if view is not None and view.problem is not None else 0.0


def merged(wishes: Iterable[QuoteWish]) -> tuple[QuoteWish, ...]:
    """One wish a template, for the most units that anybody wants."""
    found: dict[tuple[str, str], QuoteWish] = {}
    for wish in wishes:
        key = (wish.provider, wish.template)
        if key not in found or found[key].units < wish.units:
            found[key] = wish
    return tuple(found[key] for key in sorted(found))
