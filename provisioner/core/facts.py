"""The facts: the closed union of records that must survive, the unit of durability; it stores nothing itself.

A fact is (kind, id, version, value). What may write which, under which guard, is said in docs/explanation/facts.md.
"""

from enum import StrEnum

from attrs import frozen

from provisioner.core.giveback import ReturnState
from provisioner.core.instance import InstanceState
from provisioner.core.model import (
    BrokenPromise,
    Carrier,
    Drain,
    Kind,
    Labels,
    Line,
    Notice,
    Place,
    Price,
    Problem,
    Promises,
    Rejected,
    ReturnItem,
    Share,
    SharedLimit,
    SupplyEntry,
    Template,
    Terms,
)
from provisioner.core.reasons import Reason
from provisioner.core.request import RequestState


class FactKind(StrEnum):
    """The kinds of fact; the words are also those in the store and never change."""

    HEAD = "head"
    EPOCH = "epoch"
    DEMAND = "demand"
    SUPPLY = "supply"
    REQUEST = "request"
    RETURN = "return"
    INSTANCE = "instance"
    DECISION = "decision"
    DESCRIPTION = "description"
    HEALTH = "health"
    WISH = "wish"
    PROCESS = "process"
    OVERRIDE = "override"


@frozen
class HeadFact:
    """Moved by every planner commit, so that a late one is refused. One record, id `planner`."""

    n: int
    epoch: int


@frozen
class EpochFact:
    """The counter of one lease and its present holder; id is the lease's name."""

    epoch: int
    holder: str


@frozen
class DemandFact:
    """The newest snapshot of what a source lacks; id is the source. `supply_revision` is the supply snapshot it has
    counted."""

    incarnation: int
    revision: int
    supply_revision: int | None
    pushed_at: float
    lines: tuple[Line, ...]


@frozen
class ShrunkView:
    """A supply snapshot that lost too much at once: counted only when a later one agrees."""

    incarnation: int
    revision: int
    first_at: float
    instances: tuple[str, ...]


@frozen
class SupplyFact:
    """The newest snapshot of what a source has; id is the source. `unmatched` names entries that are none of ours."""

    incarnation: int
    revision: int
    pushed_at: float
    entries: tuple[SupplyEntry, ...]
    digest: str
    shrunk: ShrunkView | None = None


@frozen
class RequestFact:
    """One purchase. What is sent is frozen here when it is planned: provider to data are one token's one content.

    `cancel_at` is since when the provider is asked to make no more of it; `forgotten` whether the provider was told
    that its final answer is stored for good. `crashes` are ends of the process at which a frame of it was open.
    """

    id: str
    provider: str
    template: str
    kind: Kind
    token: str
    units: int
    min_units: int
    consumer: str
    shares: tuple[Share, ...]
    terms: Terms
    reserve_nanos: int
    price_cap: Price | None
    planned_at: float
    send_by: float
    deadline_at: float
    decision: str
    state: RequestState = RequestState.PLANNED
    state_at: float = 0.0
    carrier: Carrier | None = None
    frames: int = 0
    armed: bool = False
    mark_epoch: int | None = None
    sent_at: float | None = None
    made_units: int = 0
    instances: tuple[str, ...] = ()
    gone_units: int = 0
    problems: tuple[Problem, ...] = ()
    reason: str = ""
    late: bool = False
    settled_at: float | None = None
    cancel_at: float | None = None
    cancel_why: str = ""
    forgotten: bool = False
    quote: str | None = None
    crashes: int = 0


@frozen
class ReturnFact:
    """One give-back of named instances of one provider. `after_at` is the earliest time of the next frame."""

    id: str
    provider: str
    items: tuple[ReturnItem, ...]
    why: str
    planned_at: float
    state: ReturnState = ReturnState.PLANNED
    state_at: float = 0.0
    carrier: Carrier | None = None
    frames: int = 0
    tries: int = 0
    after_at: float = 0.0
    settled_at: float | None = None
    forgotten: bool = False
    crashes: int = 0


@frozen
class InstanceFact:
    """One supplied thing. `request` is None for what was found without one. Charges are its own record of cost."""

    id: str
    provider: str
    provider_id: str
    kind: Kind
    template: str
    token: str
    request: str | None
    units: int
    units_made: int
    consumer: str
    shares: tuple[Share, ...]
    terms: Terms
    requested_at: float
    made_at: float
    state: InstanceState
    state_at: float
    reason: str = ""
    labels: Labels = ()
    size: tuple[tuple[str, int], ...] = ()
    place: Place = Place()
    name: str | None = None
    addresses: tuple[tuple[str, str], ...] = ()
    running_at: float | None = None
    return_accepted_at: float | None = None
    gone_at: float | None = None
    billed_from: float | None = None
    billed_until: float | None = None
    charged_nanos: int | None = None
    expires_at: float | None = None
    drain: Drain | None = None
    notice: Notice | None = None
    return_id: str | None = None
    surplus: bool = False
    reopened_at: float | None = None
    reopened_why: str = ""


@frozen
class DecisionFact:
    """What the planner chose and why, with the alternatives it rejected and the number that rejected each."""

    id: str
    at: float
    what: str
    subject: str
    reason: Reason
    lines: tuple[Share, ...] = ()
    provider: str | None = None
    template: str | None = None
    units: int | None = None
    rejected: tuple[Rejected, ...] = ()


@frozen
class DescriptionFact:
    """What a provider said of itself last, in our words; id is the provider. `digest` changes when its content does.

    `held` is what we held of each template when it was read, in units: what it says is used or available counts that.
    `promises` are those it is believed; where some are `broken`, `declared` holds what it said.
    """

    provider_name: str
    provider_version: str
    kinds: tuple[str, ...]
    capabilities: tuple[str, ...]
    promises: Promises
    revision: str
    digest: str
    read_at: float
    templates: tuple[Template, ...] = ()
    limits: tuple[SharedLimit, ...] = ()
    held: tuple[tuple[str, int], ...] = ()
    declared: Promises | None = None
    broken: tuple[BrokenPromise, ...] = ()


@frozen
class HealthFact:
    """How an offer has behaved: id is `provider/template`, or `provider/*` for the whole provider."""

    failures: int
    error_class: str
    detail: str
    since: float
    until: float | None
    parked: bool = False
    seen_digest: str = ""


class WishKind(StrEnum):
    """What the planner or an operator wishes of the owner of a provider."""

    DRAIN = "drain"
    REOPEN = "reopen"
    CANCEL = "cancel"


@frozen
class WishFact:
    """A wish, deleted by the owner in the commit that honours it; id is `kind.target`."""

    kind: WishKind
    target: str
    reason: Reason
    at: float
    drain: Drain | None = None


@frozen
class ProcessFact:
    """The process last started for a provider, recorded before `initialize` is sent; id is the provider.

    `memory_lost_at` is since when its records are not those it had (ST-4), until an operator says that this is known.
    """

    number: int
    epoch: int
    pid: int
    start_ticks: int
    boot_id: str
    started_at: float
    state_id: str | None = None
    memory_lost_at: float | None = None


class OverrideKind(StrEnum):
    """What an operator can order against the daemon's own judgement; every order has an end."""

    PAUSE = "pause"


@frozen
class OverrideFact:
    """An operator's order with its end (epoch seconds), who gave it when, and why; id is `kind.provider`."""

    kind: OverrideKind
    provider: str
    until_at: float
    why: str
    by: str
    at: float


Fact = (
    HeadFact
    | EpochFact
    | DemandFact
    | SupplyFact
    | RequestFact
    | ReturnFact
    | InstanceFact
    | DecisionFact
    | DescriptionFact
    | HealthFact
    | WishFact
    | ProcessFact
    | OverrideFact
)

CLASS_OF: dict[FactKind, type[Fact]] = {
    FactKind.HEAD: HeadFact,
    FactKind.EPOCH: EpochFact,
    FactKind.DEMAND: DemandFact,
    FactKind.SUPPLY: SupplyFact,
    FactKind.REQUEST: RequestFact,
    FactKind.RETURN: ReturnFact,
    FactKind.INSTANCE: InstanceFact,
    FactKind.DECISION: DecisionFact,
    FactKind.DESCRIPTION: DescriptionFact,
    FactKind.HEALTH: HealthFact,
    FactKind.WISH: WishFact,
    FactKind.PROCESS: ProcessFact,
    FactKind.OVERRIDE: OverrideFact,
}


@frozen
class Key:
    """Which record: its kind and its id within the kind."""

    kind: FactKind
    id: str


@frozen
class Change:
    """One change a decision asks for: a new value, or None to delete. It is guarded by the version it was decided
    on."""

    key: Key
    value: Fact | None
