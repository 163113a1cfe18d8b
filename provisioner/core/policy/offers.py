"""What can be bought at all: every template of every provider as an offer, with the operator's word over the
provider's.

It judges offers one at a time, against a line or by themselves; it must not know how much is wanted or held.
"""

from collections.abc import Iterator

from attrs import frozen

from provisioner.core.crashes import is_suspect
from provisioner.core.events import Moment
from provisioner.core.facts import DescriptionFact, HealthFact
from provisioner.core.model import Kind, Line, Price, Rejected, SharedLimit, Template, Terms
from provisioner.core.money import decimal_text
from provisioner.core.policy.overrides import overridden, traits_on_offer
from provisioner.core.policy.pricing import cost_nanos, hourly_nanos, once_nanos
from provisioner.core.policy.quotes import at_quote, price_refused, standing_quote, unknown_price
from provisioner.core.policy.retry import WHOLE_PROVIDER
from provisioner.core.policy.rooms import bundles_in
from provisioner.core.policy.traits import Traits, holds, mismatch, shortage
from provisioner.core.process import ProcessState
from provisioner.core.provider_settings import (
    ProviderSettings,
    TemplateOverride,
)
from provisioner.core.reasons import Why
from provisioner.core.settings import Settings
from provisioner.core.standing_orders import pause_of, pause_text
from provisioner.core.trust import has_lost_memory
from provisioner.core.world import ListView, ProcessView, QuoteView, World

_READY = frozenset({ProcessState.READY, ProcessState.DEGRADED})


@frozen(eq=False)
class Offer:
    """One template with overrides applied. `blocked` is why it can't be bought by anyone now, with the number that
    says so.

    `cost_nanos` is what one host (of a grant: one unit) costs over the expected stay, billing counted, and
    `once_nanos` each purchase besides; `hourly_nanos` is its price per hour. `rank` sorts by operator priority,
    higher first. `held_most` bounds the units held of the template, `held_when_read` is what its description counted of
    ours. `said_price` is the provider's own word, the cap it can check;
    with `quote` it is quoted, for one purchase. `limits` are shared ceilings by name; `serial`:
    one purchase of the provider at a time.
    """

    provider: str
    template: Template
    said_price: Price | None
    quote: str | None
    traits: Traits
    rank: tuple[int, int]
    consumers: tuple[str, ...] | None
    cost_nanos: int
    once_nanos: int
    hourly_nanos: int
    held_most: int | None
    held_when_read: int
    provider_most: int | None
    limits: dict[str, SharedLimit]
    serial: bool
    blocked: tuple[Why, str] | None

    @property
    def per_instance(self) -> int:
        """Units of one host; a grant is counted in units."""
        return (self.template.units_per_instance or 1) if self.template.kind is Kind.HOST else 1


@frozen(eq=False)
class Market:
    """All offers, and providers that offer nothing with the reason; `turns_at` is when (epoch) a back-off or a price
    ends.
    """

    offers: tuple[Offer, ...]
    absent: tuple[Rejected, ...]
    turns_at: tuple[float, ...]


def market(world: World, settings: Settings, now: Moment) -> Market:
    """Everything on offer now, in the order of names."""
    offers: list[Offer] = []
    absent: list[Rejected] = []
    for name in sorted(settings.providers):
        description = world.descriptions.get(name)
        closed = _closed(world, name, description, now)
        if description is None or not description.templates:
            why, number = closed or (Why.PROVIDER_NOT_READY, "it describes no templates")
            absent.append(Rejected(name, "*", why.value, number))
            continue
        offers += _offers_of(world, settings, settings.providers[name], description, closed, now)
    return Market(tuple(offers), tuple(absent), tuple(_turns_at(world, offers, now)))


def unfit(offer: Offer, line: Line, settings: Settings) -> tuple[Why, str] | None:
    """Why the offer is not for this line, and the condition or number; None if it is, and can be bought by someone
    now.
    """
    wrong = mismatch(offer.traits, line)
    if wrong is not None:
        return wrong
    if bundles_in(offer.traits.size, line) == 0 and offer.template.kind is Kind.HOST:
        return Why.TOO_SMALL, shortage(offer.traits.size, line) or ""
    if not _is_open_to(offer, line.consumer, settings):
        return Why.CONSUMER, line.consumer
    if offer.blocked is not None:
        return offer.blocked
    if line.max_price_nanos is not None and offer.hourly_nanos > line.max_price_nanos:
        return Why.OVER_MAX_PRICE, f"{decimal_text(offer.hourly_nanos)} > {decimal_text(line.max_price_nanos)}"
    return None


def terms_of(offer: Offer) -> Terms:
    """The terms as they are agreed when a purchase is planned: the offer in full, overrides applied, size as usable."""
    template = offer.template
    return Terms(
        price=template.price,
        billing=template.billing,
        hold_min_s=template.hold_min_s,
        size=tuple(sorted(offer.traits.size.items())),
        labels=offer.traits.labels,
        place=template.place,
        units_per_instance=template.units_per_instance,
        lead_typical_s=template.lead_typical_s,
        lead_worst_s=template.lead_worst_s,
    )


def _offers_of(
    world: World,
    settings: Settings,
    entry: ProviderSettings,
    description: DescriptionFact,
    closed: tuple[Why, str] | None,
    now: Moment,
) -> Iterator[Offer]:
    limits = {limit.limit: limit for limit in description.limits}
    held = dict(description.held)
    serial = description.promises.token_replay == "none"
    for described in description.templates:
        override = entry.override(described.template) if entry.templates else None
        template = described if override is None else overridden(described, override)
        blocked = closed or _blocked(world, entry.name, template, description, now)
        said = override is not None and override.price is not None
        template, quote, unpriced = _priced(world, entry.name, template, description, now, said=said)
        price = template.price
        blocked = blocked or unpriced or _foreign(settings, price)
        traits = traits_on_offer(entry.name, template, override)
        yield Offer(
            provider=entry.name,
            template=template,
            said_price=described.price if quote is None else quote.price,
            quote=None if quote is None else quote.quote,
            traits=traits,
            rank=(-entry.priority, -template.priority),
            consumers=None if override is None else override.consumers,
            cost_nanos=0 if price is None else cost_nanos(template, price),
            once_nanos=0 if price is None else once_nanos(template, price),
            hourly_nanos=0 if price is None else hourly_nanos(template, price),
            held_most=template.capacity_max,
            held_when_read=held.get(described.template, 0),
            provider_most=entry.max_units,
            limits=limits,
            serial=serial,
            blocked=blocked or _excluded(traits, override),
        )


def _closed(world: World, provider: str, description: DescriptionFact | None, now: Moment) -> tuple[Why, str] | None:
    """Why nothing at all of a provider can be bought now; None if its offers are looked at one by one."""
    pause = pause_of(world, provider, now)
    if pause is not None:
        return Why.PAUSED, pause_text(pause)
    if has_lost_memory(world, provider):
        return Why.MEMORY_LOST, ""
    unready = _unready(world.seen.processes.get(provider), description)
    if not unready and is_suspect(world.seen.lists.get(provider, ListView()).crashes):
        unready = "its process ends when its list is read"
    return (Why.PROVIDER_NOT_READY, unready) if unready else None


def _unready(view: ProcessView | None, description: DescriptionFact | None) -> str:
    if view is None or view.state not in _READY:
        return f"its process is {ProcessState.ABSENT if view is None else view.state}"
    if view.auth_failed:
        return "its credentials are refused"
    return "it has not described itself yet" if description is None or view.described_boot_s is None else ""


def _blocked(
    world: World, provider: str, template: Template, description: DescriptionFact, now: Moment
) -> tuple[Why, str] | None:
    for scope in (template.template, WHOLE_PROVIDER) if world.health else ():
        health = world.health.get(f"{provider}/{scope}")
        if health is None:
            continue
        if health.parked and health.seen_digest in ("", description.digest):
            return Why.PARKED, f"{health.failures} × {health.error_class}"
        if health.until is not None and health.until > now.at:
            return Why.BACKED_OFF, f"{health.failures} × {health.error_class}"
    return None


def _priced(
    world: World, provider: str, template: Template, description: DescriptionFact, now: Moment, *, said: bool
) -> tuple[Template, QuoteView | None, tuple[Why, str] | None]:
    """The template at a price that holds, the quote it is from, and why there is none."""
    lacks = _lacks_price(world, provider, template, now, said=said)
    if not lacks:
        return template, None, None
    quote = standing_quote(world, provider, template.template, now)
    if quote is not None:
        return at_quote(template, quote), quote, None
    return template, None, unknown_price(world, provider, template.template, description, lacks, now)


def _lacks_price(world: World, provider: str, template: Template, now: Moment, *, said: bool) -> str:
    """Why what is stated is no price to buy at; empty if it is one."""
    if template.price is None:
        return "none stated"
    if template.valid_until is not None and template.valid_until <= now.at and not said:
        return "what was stated has lapsed"
    return "what was stated was refused" if price_refused(world, provider, template.template, now) else ""


def _foreign(settings: Settings, price: Price | None) -> tuple[Why, str] | None:
    if price is None or price.currency == settings.money.currency:
        return None
    return Why.FOREIGN_CURRENCY, f"{price.currency}, not {settings.money.currency}"


def _excluded(traits: Traits, override: TemplateOverride | None) -> tuple[Why, str] | None:
    for constraint in () if override is None else override.where:
        if not holds(traits, constraint):
            return Why.CONSTRAINT, f"the configuration offers only some of {constraint.attribute}"
    return None


def _is_open_to(offer: Offer, consumer: str, settings: Settings) -> bool:
    if offer.consumers is not None and consumer not in offer.consumers:
        return False
    providers = settings.consumer(consumer).providers
    return providers is None or offer.provider in providers


def _turns_at(world: World, offers: list[Offer], now: Moment) -> Iterator[float]:
    for health in world.health.values():
        if _ends_later(health, now) and health.until is not None:
            yield health.until
    for view in world.seen.quotes.values():
        if view.refused_until_boot_s > now.boot_s:
            yield now.at + view.refused_until_boot_s - now.boot_s
    for offer in offers:
        lapses_at = offer.template.valid_until
        if lapses_at is not None and lapses_at > now.at:
            yield lapses_at


def _ends_later(health: HealthFact, now: Moment) -> bool:
    return not health.parked and health.until is not None and health.until > now.at
