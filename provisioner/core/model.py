"""The words of the core as frozen values: demand lines, supply entries, templates, terms and shares; no behaviour
beyond reading.

Amounts of resources are integers in thousandths of the canonical unit (cores, bytes, pieces), so that half a core is
exact.
Times (`*_at`) are seconds of the Unix epoch, UTC; durations end in `_s`; money is integer nano-units.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

Amounts = tuple[tuple[str, int], ...]
"""Sorted (resource, thousandths) pairs; a resource that is absent is not stated."""

Labels = tuple[tuple[str, str], ...]
"""Sorted (attribute, value) pairs for attributes that are words, such as arch or gpu_model; lists are one pair an
element."""


class Kind(StrEnum):
    """What one instance is."""

    HOST = "host"
    GRANT = "grant"
    REMNANT = "remnant"


class Per(StrEnum):
    """What a price is for."""

    HOUR = "hour"
    UNIT_HOUR = "unit_hour"
    PURCHASE = "purchase"


class BillingStart(StrEnum):
    """From when an instance is charged (contract v2 §4, template field billing)."""

    REQUESTED = "requested"
    MADE = "made"
    RUNNING = "running"


class BillingEnd(StrEnum):
    """Until when an instance is charged."""

    RETURN_ACCEPTED = "return_accepted"
    GONE = "gone"


class DrainKind(StrEnum):
    """`ask` is ended by work or new demand; `firm` stays closed."""

    ASK = "ask"
    FIRM = "firm"


class EntryState(StrEnum):
    """What a source says of one of its hosts or grants."""

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    DRAINED = "drained"
    UNREACHABLE = "unreachable"
    HELD = "held"
    GONE = "gone"


@frozen
class Constraint:
    """One condition on an attribute, a place or an offer; all conditions of a line hold at once.

    `one_of` are accepted words; `least` and `most` bound a number in thousandths; `negated` turns the whole around.
    """

    attribute: str
    one_of: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    negated: bool = False


@frozen
class Line:
    """One thing a source lacks: `count` times `each` (a bundle), whole hosts if `each` is empty, or `units` of a
    resource.

    `count` of a grant line is the number of units. `max_price_nanos` is per hour of one whole host, or of one unit of
    a grant.
    """

    id: str
    kind: Kind
    count: int
    each: Amounts = ()
    alone: bool = False
    resource: str | None = None
    where: tuple[Constraint, ...] = ()
    priority: int | None = None
    consumer: str = "default"
    since: float | None = None
    expires_at: float | None = None
    max_price_nanos: int | None = None

    def shape(self) -> tuple[object, ...]:
        """What may not change under one id: another shape is a withdrawal and a new line."""
        return (self.kind, self.each, self.alone, self.resource, self.where, self.consumer)


@frozen
class SupplyEntry:
    """What a source said last of one instance, as matched to ours.

    `joined_rev` is the (incarnation, revision) of the snapshot in which it first stood without a break,
    `reopened_rev` that in which it
    was last seen open again after a drain; both say which demand snapshot has counted it.
    """

    instance: str
    name: str
    state: EntryState
    since: float | None
    drain: str | None
    joined_rev: tuple[int, int]
    joined_at: float
    reopened_rev: tuple[int, int] | None = None
    reopened_at: float | None = None
    in_use: int | None = None
    size: Amounts = ()


@frozen
class Share:
    """How many bundles or units of one line something was bought for."""

    source: str
    line: str
    units: int


@frozen
class Billing:
    """How an instance is charged; the defaults are the dearest reading."""

    quantum_s: int = 1
    minimum_s: int = 0
    starts: BillingStart = BillingStart.REQUESTED
    ends: BillingEnd = BillingEnd.GONE


@frozen
class Price:
    """A known price: nano-units of `currency` per `per`, and `once_nanos` charged per purchase besides."""

    nanos: int
    currency: str
    per: Per
    once_nanos: int = 0


@frozen
class Place:
    """Where something stands; absent parts are not stated."""

    region: str | None = None
    zone: str | None = None
    rack: str | None = None


@frozen
class Draw:
    """What one unit takes of a limit that templates share."""

    limit: str
    amount: int


@frozen
class SharedLimit:
    """A ceiling shared by templates: quota, rack power, license pool."""

    limit: str
    name: str
    most: int
    used: int | None = None


@frozen
class Template:
    """One kind of thing a provider can supply, in our words; the least that every delivered instance has."""

    template: str
    kind: Kind
    unit: str
    units_per_instance: int | None = None
    size: Amounts = ()
    labels: Labels = ()
    place: Place = Place()
    capacity_max: int | None = None
    capacity_available: int | None = None
    draws: tuple[Draw, ...] = ()
    min_units: int = 1
    step_units: int = 1
    max_units: int = 1
    hold_min_s: int = 0
    hold_max_s: int | None = None
    price: Price | None = None
    model: str | None = None
    valid_until: float | None = None
    billing: Billing = Billing()
    lead_typical_s: int = 0
    lead_worst_s: int = 0
    notice_s: int | None = None
    priority: int = 0


@frozen
class Terms:
    """What was agreed when a purchase was planned; history never depends on live descriptions or configuration."""

    price: Price | None = None
    billing: Billing = Billing()
    hold_min_s: int = 0
    size: Amounts = ()
    labels: Labels = ()
    place: Place = Place()
    units_per_instance: int | None = None
    lead_typical_s: int = 0
    lead_worst_s: int = 0


@frozen
class Carrier:
    """The one provider process that may send a frame: the lease epoch it serves and its number."""

    epoch: int
    process: int


@frozen
class Problem:
    """Why something is missing or failed, in the contract's error classes."""

    error_class: str
    units: int | None = None
    reason: str | None = None
    detail: str | None = None
    retry_after_s: int | None = None
    template: str | None = None
    place: Place | None = None
    limit: str | None = None
    whole_provider: bool = False


@frozen
class Drain:
    """A host is to take no new work; the source answers by `id`."""

    id: str
    kind: DrainKind
    reason: str
    asked_at: float
    deadline_at: float | None = None


@frozen
class Notice:
    """The far side's warning; out of supply from now on."""

    kind: str
    deadline_at: float | None = None
    detail: str | None = None


@frozen
class ReturnItem:
    """One instance of a give-back: `keep` is what is left afterwards; `state` is the provider's last word (contract
    v2 §4, return)."""

    instance: str
    provider_id: str
    keep: int = 0
    state: str = "asked"
    problem: Problem | None = None


@frozen
class Rejected:
    """An alternative that was not taken and the number that rejected it."""

    provider: str
    template: str
    reason: str
    number: str = ""


@frozen
class Promises:
    """What a provider promised, the weakest where it said nothing (contract v2 §7)."""

    token_replay: str = "none"
    token_lifetime_s: int = 0
    unknown_ends_s: int | None = None
    mark_kept: str = "none"
    list_covers: str = "own_records"
    list_delay_s: int = 3600
    gone_visible_s: int = 0
    not_found_gone_after_s: int | None = None
    memory_where: str = "state_dir"
    price_cap: str = "ignored"
    min_units: str = "ignored"
    return_partial: bool = False
    return_observed: bool = False
    return_typical_s: int = 300
    in_flight: int = 1
    answer_s: Mapping[str, int] = field(factory=dict)
    not_after: str = "ignored"
    late_effect_s: int = 60


@frozen
class BrokenPromise:
    """A promise (contract v2 §7, by its dotted name) that a provider was seen to break, and what was seen when."""

    promise: str
    why: str
    at: float
