"""What the simulated cloud sells: the terms that are copied into each purchase, and the offer around them.

Pure values. Knows no configuration notation, no storage and no contract message.
"""

import json
from collections.abc import Mapping
from typing import Literal

from attrs import asdict, field, frozen

from providers.simulated.draws import Spread

Kind = Literal["host", "grant"]
Per = Literal["hour", "unit_hour", "purchase"]
Model = Literal["on_demand", "spot", "owned", "reserved"]
Starts = Literal["requested", "made", "running"]
Ends = Literal["return_accepted", "gone"]


@frozen
class Price:
    """An exact price: nano-units of `currency` per `per`, and once per purchase besides."""

    nanos: int
    currency: str = "USD"
    per: Per = "hour"
    once_nanos: int | None = None


@frozen
class Billing:
    """How time becomes money: whole quanta, a minimum, and what starts and ends the charge."""

    quantum_s: int = 1
    minimum_s: int = 0
    starts: Starts = "running"
    ends: Ends = "gone"


@frozen
class Terms:
    """What a purchase is bound to for its whole life, however the configuration changes afterwards."""

    template: str
    kind: Kind
    unit: str
    attributes: Mapping[str, object]
    place: Mapping[str, str]
    price: Price | None
    model: Model
    billing: Billing
    hold_min_s: int = 0
    hold_max_s: int | None = None
    access: Mapping[str, str] = field(factory=dict)


@frozen
class Spot:
    """When the far side takes things back: mean time to the notice, and the warning it gives."""

    mean_to_notice_s: int
    notice_s: int


@frozen
class Offer:
    """One template: its terms, how fast it comes, and how much of it there is (units; None: without limit)."""

    terms: Terms
    lead: Spread
    capacity: int | None = None
    min_units: int = 1
    step_units: int = 1
    max_units: int = 100
    spot: Spot | None = None
    priority: int | None = None
    boot_failures: float = 0.0


def terms_to_text(terms: Terms) -> str:
    """Write terms for the cloud's books."""
    return json.dumps(asdict(terms), sort_keys=True, separators=(",", ":"))


def terms_from_text(text: str) -> Terms:
    """Read terms that `terms_to_text` wrote."""
    values = json.loads(text)
    price = values.pop("price")
    billing = values.pop("billing")
    return Terms(price=Price(**price) if price else None, billing=Billing(**billing), **values)
