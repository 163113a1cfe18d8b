"""The common types of the contract (§3): what templates, instances, reports and problems are made of.

Alone responsible for their fields and defaults. Values do nothing; the checks named in the annotations are made by
the codec. Absent means not stated: `None`, or the default the contract gives.
"""

from collections.abc import Mapping
from typing import Annotated

from attrs import frozen
from msgspec import Meta

from provider_sdk.contract.forms import (
    ATTRIBUTE_KEY_PATTERN,
    AccessValue,
    Amount,
    Count,
    Currency,
    Duration,
    EncodedLimit,
    Epoch,
    Extra,
    HostName,
    Int,
    Matches,
    Name,
    Number,
    Positive,
    Ref,
    Text,
    Time,
    UnitName,
    Units,
    Word,
)
from provider_sdk.contract.words import (
    AddressScope,
    BillingEnd,
    BillingStart,
    ErrorClass,
    InstanceKind,
    InstanceState,
    Kind,
    NoticeKind,
    Outcome,
    Per,
    PriceCapPromise,
    PriceModel,
    QuantityUnit,
)

# Classes that come by the thousand with most fields at their defaults are made without slots: msgspec fills defaults
# into slotted classes several times slower.


@frozen
class Money:
    """A price: `amount` of `currency` for each `per`; an unknown price is an absent one, a free thing costs "0"."""

    amount: Amount
    currency: Currency
    per: Per


@frozen(slots=False)
class TemplatePrice:
    """A template's price, with what is charged `once` for each purchase besides."""

    amount: Amount
    currency: Currency
    per: Per
    once: Amount | None = None


@frozen
class Charge:
    """A sum that was charged."""

    amount: Amount
    currency: Currency


@frozen
class Quantity:
    """A number with its unit, as an attribute's value."""

    value: Number
    unit: QuantityUnit


AttributeValue = (
    bool
    | Number
    | Annotated[str, Meta(max_length=256)]
    | Annotated[tuple[Annotated[str, Meta(max_length=256)], ...], Meta(max_length=64)]
    | Quantity
)
AttributeKey = Annotated[str, Matches(ATTRIBUTE_KEY_PATTERN)]
Attributes = Annotated[Mapping[AttributeKey, AttributeValue], Meta(max_length=64)]


@frozen(slots=False)
class Place:
    """Where something is, as far as stated."""

    region: Word | None = None
    zone: Word | None = None
    rack: Word | None = None


@frozen(slots=False)
class PartialMark:
    """A mark as read back from a thing: the far side may have kept a part of it only."""

    cluster: Name | None = None
    lineage: Name | None = None
    provider: Name | None = None
    request_id: Name | None = None
    token: Name | None = None
    epoch: Epoch | None = None


@frozen(slots=False)
class Mark(PartialMark):
    """What is written on every supplied thing at birth, fixed for ever; `epoch` is that of the first sending."""

    cluster: Name
    lineage: Name
    provider: Name
    request_id: Name
    token: Name
    epoch: Epoch


@frozen
class Scope:
    """How far a failure reaches; no scope means the template asked for."""

    template: Ref | None = None
    place: Place | None = None
    limit: Ref | None = None
    provider: bool = False


@frozen
class LimitFact:
    """A limit that was met, in its own unit."""

    name: Annotated[str, Meta(max_length=200)]
    value: Number
    used: Number


@frozen
class ParamFault:
    """One fault of what was sent: a JSON pointer and a sentence."""

    path: Annotated[str, Meta(max_length=2000)]
    detail: Text


Faults = Annotated[tuple[ParamFault, ...], Meta(max_length=1000)]
Versions = Annotated[tuple[Word, ...], Meta(max_length=16)]


@frozen
class ErrorData:
    """What an error says besides its code (§6); without `outcome` the class decides (`errors.outcome_of`)."""

    error_class: ErrorClass
    outcome: Outcome | None = None
    scope: Scope | None = None
    retry_after_s: Duration | None = None
    reason: Word | None = None
    detail: Text | None = None
    ref: Annotated[str, Meta(max_length=200)] | None = None
    limit: LimitFact | None = None
    faults: Faults = ()
    supported: Versions = ()


@frozen(slots=False)
class Problem:
    """Why something is missing from a result: an error's data and how many units it concerns."""

    error_class: ErrorClass
    units: Units | None = None
    outcome: Outcome | None = None
    scope: Scope | None = None
    retry_after_s: Duration | None = None
    reason: Word | None = None
    detail: Text | None = None
    ref: Annotated[str, Meta(max_length=200)] | None = None
    limit: LimitFact | None = None
    faults: Faults = ()
    supported: Versions = ()


Problems = Annotated[tuple[Problem, ...], Meta(max_length=100)]


@frozen
class Capacity:
    """The most this cluster may hold here, counting what it holds, and the further units to be had now."""

    max: Units | None = None
    available: Units | None = None


@frozen
class Draw:
    """What one unit takes of a shared limit."""

    limit: Ref
    amount: Count


@frozen
class Limit:
    """A ceiling shared by templates."""

    limit: Ref
    max: Count
    name: Annotated[str, Meta(max_length=200)]
    used: Count | None = None


@frozen
class Granularity:
    """How many units one request may ask for."""

    max_units: Positive
    min_units: Positive = 1
    step_units: Positive = 1


@frozen
class Hold:
    """The stay a provider insists on: no return before `min_s`, taken back after `max_s`."""

    min_s: Duration = 0
    max_s: Duration | None = None


@frozen
class Billing:
    """How time is charged; the defaults are the dearest reading."""

    quantum_s: Positive = 1
    minimum_s: Duration = 0
    starts: BillingStart = BillingStart.REQUESTED
    ends: BillingEnd = BillingEnd.GONE


@frozen
class LeadTime:
    """From request sent to running."""

    typical_s: Duration
    worst_s: Duration


@frozen(slots=False)
class Template:
    """One kind of thing that can be asked for many times; a host's `attributes` are the least that is delivered."""

    template: Ref
    kind: Kind
    unit: UnitName
    granularity: Granularity
    lead_time: LeadTime
    units_per_instance: Positive | None = None
    attributes: Attributes | None = None
    variants: Annotated[tuple[Text, ...], Meta(max_length=200)] = ()
    capacity: Capacity | None = None
    draws: Annotated[tuple[Draw, ...], Meta(max_length=64)] = ()
    hold: Hold | None = None
    price: TemplatePrice | None = None
    model: PriceModel | None = None
    valid_until: Time | None = None
    price_cap: PriceCapPromise | None = None
    billing: Billing | None = None
    notice_s: Duration | None = None
    place: Place | None = None
    priority: Int | None = None
    extra: Extra | None = None


@frozen
class Address:
    """One address of a host."""

    address: HostName
    scope: AddressScope


@frozen
class InstanceNotice:
    """The strongest open notice of an instance; stays until gone or withdrawn."""

    kind: NoticeKind
    deadline: Time | None = None
    detail: Text | None = None


@frozen(slots=False)
class Instance:
    """One supplied thing; `template` may be left out by remnants and thin views only."""

    instance: Ref
    units: Units
    state: InstanceState
    kind: InstanceKind = InstanceKind.HOST
    template: Ref | None = None
    reason: Text | None = None
    name: HostName | None = None
    addresses: Annotated[tuple[Address, ...], Meta(max_length=8)] = ()
    access: Mapping[str, AccessValue] | None = None
    place: Place | None = None
    attributes: Attributes | None = None
    made_at: Time | None = None
    billed_from: Time | None = None
    billed_until: Time | None = None
    expires_at: Time | None = None
    price: Money | None = None
    charged: Charge | None = None
    notice: InstanceNotice | None = None
    mark: PartialMark | None = None


INSTANCE_BYTES = 8 * 1024
TEMPLATE_BYTES = 12 * 1024
Instances = Annotated[tuple[Annotated[Instance, EncodedLimit(INSTANCE_BYTES)], ...], Meta(max_length=1000)]
Templates = Annotated[tuple[Annotated[Template, EncodedLimit(TEMPLATE_BYTES)], ...], Meta(max_length=1000)]


@frozen
class ReportProgress:
    """How far a purchase is, for people."""

    phase: Word
    eta_s: Duration | None = None


@frozen(slots=False)
class Report:
    """The present state of one purchase; a final outcome never changes, states of its instances do."""

    request_id: Name
    token: Name
    outcome: Outcome
    instances: Instances
    gone_units: Units | None = None
    problems: Problems = ()
    poll_after_s: Duration | None = None
    progress: ReportProgress | None = None
    cancelling: bool = False
