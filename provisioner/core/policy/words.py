"""The words policy answers in: what to buy, drop, drain, reopen and give back, and how every line stands; values
only.
"""

from attrs import frozen

from provisioner.core.model import DrainKind, Kind, Price, Rejected, Share, Terms
from provisioner.core.policy.quotes import QuoteWish
from provisioner.core.reasons import Reason
from provisioner.core.world import LineStatus


@frozen
class Purchase:
    """One purchase to plan: `units` in the template's unit, for these shares, on these terms; the money it may cost
    at worst. `price_cap` is in the provider's own words, None where it states no price;
    with `quote` it is the price quoted.
    """

    provider: str
    template: str
    kind: Kind
    units: int
    min_units: int
    consumer: str
    shares: tuple[Share, ...]
    terms: Terms
    price_cap: Price | None
    reserve_nanos: int
    reason: Reason
    rejected: tuple[Rejected, ...] = ()
    quote: str | None = None


@frozen
class Drop:
    """A planned purchase, never sent, that nobody wants any more."""

    request: str
    reason: Reason


@frozen
class Cancel:
    """A purchase that was sent and is to be ended early: no more of it is to be made."""

    request: str
    reason: Reason


@frozen
class DrainChoice:
    """An instance that is to take no new work."""

    instance: str
    kind: DrainKind
    reason: Reason
    deadline_at: float | None = None


@frozen
class ReopenChoice:
    """A drained or draining instance that may take work again."""

    instance: str
    reason: Reason


@frozen
class GiveBack:
    """Named instances of one provider to return together; `why` is the contract's word (idle, orphan, never_joined,
    surplus, operator).
    """

    provider: str
    instances: tuple[str, ...]
    why: str
    reason: Reason


@frozen
class Plan:
    """The outcome of one planner pass; `wake_boot_s` is when time alone would change it.

    `unneeded` names what has not joined and serves no line, instances and purchases that were sent; whoever folds the
    pass remembers since when without a break.
    """

    purchases: tuple[Purchase, ...] = ()
    drops: tuple[Drop, ...] = ()
    cancels: tuple[Cancel, ...] = ()
    drains: tuple[DrainChoice, ...] = ()
    reopens: tuple[ReopenChoice, ...] = ()
    returns: tuple[GiveBack, ...] = ()
    lines: tuple[LineStatus, ...] = ()
    unneeded: tuple[str, ...] = ()
    quotes: tuple[QuoteWish, ...] = ()
    wake_boot_s: float | None = None
