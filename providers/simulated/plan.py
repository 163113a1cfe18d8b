"""Decides what a purchase yields: a refusal, or instances with all the times of their lives drawn beforehand.

Pure. Everything it needs is handed in (offer, stock held, struck faults, time, seed); must not know storage or
messages.
"""

from fnmatch import fnmatchcase
from typing import Literal

from attrs import frozen

from providers.simulated.config import Config
from providers.simulated.draws import exponential_ms, fraction
from providers.simulated.faults import Rule
from providers.simulated.lives import NEVER, Life
from providers.simulated.offers import Offer, Price

Wrong = Literal["not_made", "unknown"]

REASONS = {
    "no_capacity": "InsufficientInstanceCapacity",
    "throttled": "RequestLimitExceeded",
    "quota": "InstanceLimitExceeded",
    "auth": "AuthFailure",
    "internal": "InternalError",
    "transient": "ServiceUnavailable",
}


@frozen
class Purchase:
    """One purchase as asked for; `cap` is the dearest acceptable price (its `once_nanos` is not looked at)."""

    token: str
    template: str
    units: int
    min_units: int
    asked_ms: int
    cap: Price | None = None
    deadline_ms: int | None = None


@frozen
class Held:
    """What is not gone: machines altogether, and units of the template asked for."""

    machines: int
    units: int


@frozen
class Shortfall:
    """Why units are missing (None: all of them): an error class, its scope, and what the far side says."""

    error_class: str
    units: int | None = None
    reason: str | None = None
    detail: str | None = None
    retry_after_s: int | None = None
    scope: Literal["template", "provider", "place"] = "template"
    limit: tuple[str, int, int] | None = None


@frozen
class Refused:
    """Nothing is made; `outcome` is what the answer may say. Only a `not_made` is written into the books."""

    why: Shortfall
    outcome: Wrong = "not_made"


@frozen
class Granted:
    """What will be made, each with its whole life, what is missing, and a lie to tell until the last one is made."""

    lives: tuple[Life, ...]
    shortfalls: tuple[Shortfall, ...] = ()
    lie: Wrong | None = None

    @property
    def closes_ms(self) -> int:
        """When the last unit is made."""
        return max(life.made_ms for life in self.lives)


def decide(
    purchase: Purchase, offer: Offer | None, held: Held, config: Config, struck: tuple[Rule, ...]
) -> Refused | Granted:
    """Return what this purchase yields; the same arguments always give the same."""
    if offer is None:
        return _refuse("unknown_template", f"there is no template {purchase.template[:200]}")
    objection = _objection(purchase, offer, config)
    if objection is not None:
        return objection
    for rule in struck:
        if rule.do == "error":
            return Refused(_ordered(rule, None), rule.outcome)
    return _grant(purchase, offer, held, config, struck)


def _objection(purchase: Purchase, offer: Offer, config: Config) -> Refused | None:
    units, step = purchase.units, offer.step_units
    outside = not offer.min_units <= units <= offer.max_units or purchase.min_units > units
    # "In steps" may be counted from zero or from the least number: both are taken.
    if outside or (units % step and (units - offer.min_units) % step):
        return _refuse("bad_request", f"{purchase.units} units do not fit the granularity of {offer.terms.template}")
    if purchase.deadline_ms is not None and purchase.asked_ms >= purchase.deadline_ms:
        return _refuse("transient", "the deadline has passed")
    return _price_objection(purchase, offer, config)


def _price_objection(purchase: Purchase, offer: Offer, config: Config) -> Refused | None:
    price, cap = offer.terms.price, purchase.cap
    if price is None:
        return None
    if cap is None:
        omitted = is_price_omitted(offer, config)
        return None if omitted else _refuse("bad_request", "a priced template is bought under a price_cap")
    if (cap.currency, cap.per) != (price.currency, price.per):
        return _refuse("price", f"the price is in {price.currency} per {price.per}")
    if cap.nanos < price.nanos:
        return _refuse("price", f"the price is {price.nanos} nano-{price.currency} per {price.per}, above the cap")
    return None


def is_price_omitted(offer: Offer, config: Config) -> bool:
    """Is this offer described without its price, because a fault says so?"""
    return any(fnmatchcase(offer.terms.template, glob) for glob in config.faults.prices.omit)


def _grant(purchase: Purchase, offer: Offer, held: Held, config: Config, struck: tuple[Rule, ...]) -> Refused | Granted:
    units, shortfalls = _available(purchase, offer, held, config)
    lie: Wrong | None = None
    late_ms = 0
    for rule in struck:
        if rule.do == "partial" and rule.made < units:
            shortfalls.append(_ordered(rule, units - rule.made))
            units = rule.made
        elif rule.do == "fulfil_late":
            shortfalls.append(_ordered(rule, None))
            lie, late_ms = rule.outcome, rule.for_ms
    lives = _lives(purchase, offer, units, late_ms, config)
    made = sum(life.units for life in lives)
    if made < units:
        shortfalls.append(Shortfall("transient", units - made, "Deadline", "these would have come after the deadline"))
    if not made or made < purchase.min_units:
        return Refused(shortfalls[0])
    return Granted(lives, tuple(shortfalls), lie)


def _available(purchase: Purchase, offer: Offer, held: Held, config: Config) -> tuple[int, list[Shortfall]]:
    units, shortfalls = purchase.units, list[Shortfall]()
    if offer.capacity is not None and units > offer.capacity - held.units:
        left = max(0, offer.capacity - held.units)
        shortfalls.append(Shortfall("no_capacity", units - left, REASONS["no_capacity"]))
        units = left
    if (
        offer.terms.kind == "host"
        and config.stock.machines is not None
        and units > config.stock.machines - held.machines
    ):
        left = max(0, config.stock.machines - held.machines)
        name = config.stock.error_class
        limit = ("machines", config.stock.machines, held.machines) if name == "quota" else None
        shortfalls.append(Shortfall(name, units - left, REASONS[name], scope="provider", limit=limit))
        units = left
    # What is delivered stays a multiple of the step.
    whole = units - (units % offer.step_units) if offer.step_units > 1 else units
    if whole < units:
        shortfalls.append(Shortfall("no_capacity", units - whole, REASONS["no_capacity"]))
    return whole, shortfalls


def _lives(purchase: Purchase, offer: Offer, units: int, late_ms: int, config: Config) -> tuple[Life, ...]:
    if units == 0:
        return ()
    shares = [1] * units if offer.terms.kind == "host" else [units]
    lives = [_life(purchase, offer, number, share, late_ms, config) for number, share in enumerate(shares)]
    deadline = purchase.deadline_ms
    return tuple(life for life in lives if deadline is None or life.made_ms <= deadline)


def _life(purchase: Purchase, offer: Offer, number: int, units: int, late_ms: int, config: Config) -> Life:
    def drawn(what: str) -> float:
        return fraction(config.seed, purchase.token, number, what)

    made = purchase.asked_ms + late_ms + config.fulfil.draw_ms(drawn("fulfil"))
    ready = max(made, purchase.asked_ms + late_ms + offer.lead.draw_ms(drawn("lead")))
    notice = reclaim = NEVER
    if offer.spot is not None:
        notice = made + exponential_ms(offer.spot.mean_to_notice_s, drawn("notice"))
        reclaim = notice + offer.spot.notice_s * 1000
    hold = offer.terms.hold_max_s
    return Life(
        units=units,
        requested_ms=purchase.asked_ms,
        made_ms=made,
        ready_ms=ready,
        boot_fails=drawn("boot") < offer.boot_failures,
        notice_ms=notice,
        reclaim_ms=reclaim,
        expires_ms=NEVER if hold is None else made + hold * 1000,
        first_of_order=number == 0,
    )


def _refuse(error_class: str, detail: str) -> Refused:
    return Refused(Shortfall(error_class, detail=detail))


def _ordered(rule: Rule, units: int | None) -> Shortfall:
    reason = rule.reason or REASONS.get(rule.error_class)
    return Shortfall(rule.error_class, units, reason, retry_after_s=rule.retry_after_s, scope=rule.scope)
