"""What is bought for what is still open, line by line: the best offer first, the next for what it can't hold, all in
one pass.

It must not know what is held by whom, nor judge an offer by itself.
"""

from collections.abc import Iterable

from attrs import evolve, field, frozen

from provisioner.core.events import Moment
from provisioner.core.model import Line, Place, Rejected
from provisioner.core.policy.demand import LineKey, Want, may_share
from provisioner.core.policy.explain import how_near, nearest_first
from provisioner.core.policy.netting import Sheet
from provisioner.core.policy.offers import Market, Offer, terms_of, unfit
from provisioner.core.policy.pricing import reserve_nanos
from provisioner.core.policy.quotes import ASKED_FOR_A_LINE_MOST, QuoteWish, asked_again_boot_s, merged
from provisioner.core.policy.ranking import Fit, Ranked, best, passed_over, ranked
from provisioner.core.policy.rooms import Room, bundles_in, fill
from provisioner.core.policy.sizing import request_most, rounded_down, rounded_up, shares_of, split
from provisioner.core.policy.standing import Phase
from provisioner.core.policy.stock import OfferKey, Stock, most_units, take
from provisioner.core.policy.traits import Traits, mismatch
from provisioner.core.policy.words import Purchase
from provisioner.core.reasons import Reason, Why
from provisioner.core.settings import Settings
from provisioner.core.world import World

BuyKey = tuple[str, str, str, str]
"""(source, consumer, provider, template): what may travel in one purchase."""


@frozen(eq=False)
class Buy:
    """What is bought of one offer for one source and consumer: units so far, the rooms in them with something free,
    the full ones.
    """

    offer: Offer
    consumer: str
    units: int
    rooms: tuple[Room, ...]
    full: tuple[Room, ...]
    rejected: tuple[Rejected, ...]


@frozen(eq=False)
class Choices:
    """Offers that satisfy one shape of line, ranked; and those that do not, nearest first, `others` more besides."""

    ranked: Ranked
    rejected: tuple[Rejected, ...]
    others: int
    quotable: tuple[Fit, ...] = ()


@frozen(eq=False)
class Desk:
    """The working state of placing in one pass. `refused` is, per line, what was rejected for it and how many more
    were.
    """

    settings: Settings
    market: Market
    stock: Stock
    sheet: Sheet
    now: Moment
    buys: dict[BuyKey, Buy] = field(factory=dict)
    choices: dict[object, Choices] = field(factory=dict)
    refused: dict[LineKey, tuple[tuple[Rejected, ...], int]] = field(factory=dict)


def place(desk: Desk, wants: Iterable[Want]) -> None:
    """Buy for every line in force that is still open, in order; what could not be bought stays on the sheet."""
    for want in wants:
        if want.in_force and desk.sheet.left[want.key] > 0:
            _into_room_bought(desk, want)
            _place_one(desk, want)


def purchases(desk: Desk) -> tuple[Purchase, ...]:
    """What was bought, as requests to plan: as few as the sizes allow, in the order in which they were chosen."""
    return tuple(purchase for buy in desk.buys.values() for purchase in _requests(buy, desk.settings))


def bought_for(desk: Desk) -> set[LineKey]:
    """The lines for which something was bought in this pass."""
    return {key for buy in desk.buys.values() for room in (*buy.full, *buy.rooms) for key, _ in room.holds}


def _into_room_bought(desk: Desk, want: Want) -> None:
    """Room that is left in what was bought for earlier lines of the same source costs nothing."""
    for key, buy in desk.buys.items():
        if key[0] != want.key[0] or not may_share(desk.settings, buy.consumer, want.line.consumer):
            continue
        if desk.sheet.left[want.key] <= 0:
            return
        if buy.rooms and unfit(buy.offer, want.line, desk.settings) is None:
            _settle(desk, key, buy, want)


def _place_one(desk: Desk, want: Want) -> None:
    choices = _choices(desk, want.line)
    out: set[OfferKey] = set()
    refused: list[Rejected] = []
    while desk.sheet.left[want.key] > 0:
        found = best(choices.ranked, desk.sheet.left[want.key], out)
        if found is None:
            rejected = nearest_first((*refused, *choices.rejected))
            desk.refused[want.key] = (rejected, choices.others + len(refused) + len(choices.rejected) - len(rejected))
            return
        offer = found[0]
        stop = _buy(desk, want, found, _Against(choices, out, tuple(refused)))
        if stop is not None:
            out.add((offer.provider, offer.template.template))
            refused.append(Rejected(offer.provider, offer.template.template, stop[0].value, stop[1]))


@frozen(eq=False)
class _Against:
    """What an offer was chosen against: the others of its shape, those already out, and why."""

    choices: Choices
    out: set[OfferKey]
    refused: tuple[Rejected, ...]

    def alternatives(self, chosen: Fit, left: int) -> tuple[Rejected, ...]:
        """The alternatives and the number that rejected each, nearest first."""
        rivals = passed_over(self.choices.ranked, chosen, left, self.out)
        return nearest_first((*rivals, *self.refused, *self.choices.rejected))


def _choices(desk: Desk, line: Line) -> Choices:
    shape = (*line.shape(), line.max_price_nanos)
    if shape not in desk.choices:
        desk.choices[shape] = _sorted_out(desk, line)
    return desk.choices[shape]


def _sorted_out(desk: Desk, line: Line) -> Choices:
    fits: list[tuple[Offer, int]] = []
    rejected: list[tuple[float, Rejected]] = []
    quotable: list[Fit] = []
    for offer in desk.market.offers:
        wrong = unfit(offer, line, desk.settings)
        if wrong is None:
            fits.append((offer, bundles_in(offer.traits.size, line)))
            continue
        if wrong[0] is Why.QUOTE_AWAITED:
            quotable.append((offer, bundles_in(offer.traits.size, line)))
        near = how_near(offer, line) if wrong[0] is Why.TOO_SMALL else 0.0
        rejected.append((near, Rejected(offer.provider, offer.template.template, wrong[0].value, wrong[1])))
    rejected.sort(key=lambda pair: -pair[0])
    absent = tuple(_for_line(provider, line) for provider in desk.market.absent)
    kept = nearest_first((*(r for _, r in rejected), *absent))
    return Choices(ranked(fits), kept, len(rejected) + len(absent) - len(kept), tuple(sorted(quotable, key=_rank)))


def _rank(fit: Fit) -> tuple[tuple[int, int], str, str]:
    """Operators' priority, then name: what it costs is not known yet."""
    return fit[0].rank, fit[0].provider, fit[0].template.template


def quotes_wanted(desk: Desk, wants: Iterable[Want], world: World) -> tuple[QuoteWish, ...]:
    """The prices that would be of use for what is still open once everything was placed; who refused to name one comes
    after those who were not asked yet."""

    def turn(fit: Fit) -> float:
        return asked_again_boot_s(world, fit[0].provider, fit[0].template.template)

    wishes: list[QuoteWish] = []
    for want in wants:
        left = desk.sheet.left[want.key]
        if not want.in_force or left <= 0:
            continue
        for offer, fit in sorted(_choices(desk, want.line).quotable, key=turn)[:ASKED_FOR_A_LINE_MOST]:
            units = rounded_up(max(left // max(fit, 1), 1) * offer.per_instance, offer.template)
            most = request_most(offer.template, desk.settings)
            wishes += [QuoteWish(offer.provider, offer.template.template, min(units, most))] if most else []
    return merged(wishes)


def _for_line(absent: Rejected, line: Line) -> Rejected:
    """A provider that offers nothing is no near miss of a line that would not take it anyway."""
    named = Traits(line.kind, absent.provider, absent.template, {}, (), Place())
    asked = evolve(line, resource=None, where=tuple(c for c in line.where if c.attribute == "provider"))
    wrong = mismatch(named, asked)
    return absent if wrong is None else evolve(absent, reason=wrong[0].value, number=wrong[1])


def _buy(desk: Desk, want: Want, chosen: Fit, against: _Against) -> tuple[Why, str] | None:
    """Buy as many whole hosts as are useful and may be had; what stopped it if that is not one."""
    offer, fit = chosen
    left = desk.sheet.left[want.key]
    key = (want.key[0], want.line.consumer, offer.provider, offer.template.template)
    buy = desk.buys.get(key)
    if buy is None:
        buy = Buy(offer, want.line.consumer, 0, (), (), against.alternatives(chosen, left))
    wanted = buy.units + max(left // fit, 1) * offer.per_instance
    most, why, number = _most(desk, key, buy)
    units = min(rounded_up(wanted, offer.template), rounded_down(buy.units + most, offer.template))
    hosts = (units - buy.units) // offer.per_instance
    if hosts <= 0:
        small = most > 0 and why is not Why.PROVIDER_UNSETTLED
        return (Why.GRANULARITY, f"{most} may be bought, {_grain(offer)}") if small else (why, number)
    take(desk.stock, offer, units - buy.units)
    rooms = (*buy.rooms, Room(hosts, offer.traits.size))
    _settle(desk, key, evolve(buy, units=units, rooms=rooms), want)
    return None


def _most(desk: Desk, key: BuyKey, buy: Buy) -> tuple[int, Why, str]:
    """Units that may be added; a provider used one purchase at a time has one request, open or new."""
    offer = buy.offer
    one_request = request_most(offer.template, desk.settings)
    if not one_request:
        return 0, Why.GRANULARITY, _grain(offer)
    most, why, number = most_units(desk.stock, offer)
    if offer.quote is not None:
        return _most_quoted(desk, key, buy, (most, why, number))
    if not offer.serial:
        return most, why, number
    elsewhere = any(other[2] == offer.provider and other != key for other in desk.buys)
    if elsewhere or offer.provider in desk.stock.unsettled:
        return 0, Why.PROVIDER_UNSETTLED, offer.provider
    if one_request - buy.units < most:
        return one_request - buy.units, Why.PROVIDER_UNSETTLED, f"{one_request} in one purchase"
    return most, why, number


def _most_quoted(desk: Desk, key: BuyKey, buy: Buy, most: tuple[int, Why, str]) -> tuple[int, Why, str]:
    """A quote is used once, for what was quoted."""
    one_request = request_most(buy.offer.template, desk.settings)
    if any(other[2:] == key[2:] and other != key for other in desk.buys):
        return 0, Why.QUOTE_AWAITED, "the quote is used for another purchase"
    if one_request - buy.units < most[0]:
        return one_request - buy.units, Why.QUOTE_AWAITED, f"{one_request} quoted"
    return most


def _grain(offer: Offer) -> str:
    template = offer.template
    return f"at least {template.min_units} in steps of {template.step_units}, at most {template.max_units} at once"


def _settle(desk: Desk, key: BuyKey, buy: Buy, want: Want) -> None:
    """Pack the line into the room of a purchase and book it; hosts in which something has run out are not looked at
    again.
    """
    rooms, placed = fill(buy.rooms, want.key, want.line, desk.sheet.left[want.key])
    full = [room for room in rooms if _is_full(room)] if placed else []
    left = tuple(room for room in rooms if not _is_full(room)) if placed else tuple(rooms)
    desk.buys[key] = evolve(buy, rooms=left, full=(*buy.full, *full))
    if placed:
        desk.sheet.answer(want.key, placed, Phase.PLANNED, desk.now.at + buy.offer.template.lead_typical_s)


def _is_full(room: Room) -> bool:
    return not room.whole and min(room.free.values(), default=0) <= 0


def _requests(buy: Buy, settings: Settings) -> Iterable[Purchase]:
    offer, template, terms = buy.offer, buy.offer.template, terms_of(buy.offer)
    pieces = split(buy.units, template, settings)
    hosts = [units // offer.per_instance for units in pieces]
    for units, shares in zip(pieces, shares_of((*buy.full, *buy.rooms), hosts), strict=True):
        price = template.price
        yield Purchase(
            provider=offer.provider,
            template=template.template,
            kind=template.kind,
            units=units,
            min_units=1,
            consumer=buy.consumer,
            shares=shares,
            terms=terms,
            price_cap=offer.said_price,
            quote=offer.quote,
            reserve_nanos=0 if price is None else reserve_nanos(template.kind, terms, price, units),
            reason=Reason(Why.CHEAPEST, f"{template.template} of {offer.provider}"),
            rejected=buy.rejected,
        )
