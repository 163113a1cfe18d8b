"""What can happen, as a closed union in the past tense; every event is a frozen value that was translated and checked
at the edge.

Over 400 lines because the union is closed: whoever adds an event finds all others here.
"""

from attrs import frozen

from provisioner.core.effects import EffectKey, ExtendItem
from provisioner.core.facts import Key
from provisioner.core.model import (
    Amounts,
    EntryState,
    Line,
    Notice,
    Place,
    Price,
    Problem,
    Promises,
    SharedLimit,
    Template,
)
from provisioner.core.orders import OperatorEvent
from provisioner.core.sightings import Report as Report  # noqa: PLC0414 - exported on purpose
from provisioner.core.sightings import SeenInstance as SeenInstance  # noqa: PLC0414 - exported on purpose
from provisioner.core.sightings import SeenMark as SeenMark  # noqa: PLC0414 - exported on purpose


@frozen
class Moment:
    """When an event is decided: wall time (epoch seconds), boot clock (CLOCK_BOOTTIME seconds), and fresh random text
    for new ids."""

    at: float
    boot_s: float
    seed: str


# --- what comes of a call


@frozen
class Refusal:
    """An error answer; `not_made` is whether it proves that nothing was made."""

    problem: Problem
    not_made: bool


@frozen
class NotWritten:
    """Not one byte of the frame left; `reason` says why."""

    reason: str


@frozen
class Lost:
    """No answer will come: cut, timed out, process ended; what it asked for may have happened.

    `at_crash`: the process ended by itself, or was ended for what it did, while this was open.
    """

    reason: str
    at_crash: bool = False


# --- start and time


@frozen
class DaemonStarted:
    """The facts are loaded and exclusively ours; the epochs are taken by deciding this event."""

    holder: str


@frozen
class CameDue:
    """These records were touched or their time has come."""

    keys: tuple[Key, ...]


@frozen
class PlanningDue:
    """It is time for a planner pass."""


# --- sources


@frozen
class DemandPushed:
    """A source said what it lacks."""

    source: str
    incarnation: int
    revision: int
    supply_revision: int | None
    lines: tuple[Line, ...]


@frozen
class PushedEntry:
    """One supply entry as the source sent it, not yet matched to an instance of ours."""

    state: EntryState
    instance: str | None = None
    provider: str | None = None
    provider_id: str | None = None
    token: str | None = None
    address: str | None = None
    name: str | None = None
    since: float | None = None
    drain: str | None = None
    in_use: int | None = None
    size: Amounts = ()


@frozen
class SupplyPushed:
    """A source said what it has."""

    source: str
    incarnation: int
    revision: int
    entries: tuple[PushedEntry, ...]


@frozen
class ClusterPushed:
    """Both snapshots of one source in one commit; the supply comes first."""

    supply: SupplyPushed
    demand: DemandPushed


# --- provider processes


@frozen
class ProcessSpawned:
    """The process runs; nothing was sent to it yet."""

    key: EffectKey
    provider: str
    number: int
    pid: int
    start_ticks: int
    boot_id: str
    memory_by: str = "none"
    """What holds it to its memory: a control group (`cgroup`), a limit on each process (`rlimit`), or `none`."""


@frozen
class ProcessNotSpawned:
    """It could not be started."""

    key: EffectKey
    provider: str
    number: int
    reason: str


@frozen
class ProviderOpened:
    """The handshake is done; `contract` is the version both sides speak from now on (HS-3)."""

    key: EffectKey
    provider: str
    number: int
    name: str
    version: str
    kinds: tuple[str, ...]
    capabilities: tuple[str, ...]
    promises: Promises
    state_id: str
    contract: str = "2.0"


@frozen
class ProviderNotOpened:
    """The handshake failed; `error_class` is a contract error class, or `lost`."""

    key: EffectKey
    provider: str
    number: int
    error_class: str
    detail: str


@frozen
class ProcessEnded:
    """The process and its group are reaped; `status` is the exit status, negative for a signal; `last_words` the last
    line it wrote to standard error."""

    provider: str
    number: int
    status: int
    reason: str
    last_words: str = ""


@frozen
class HealthSeen:
    """An answer to ping, or its absence (`quiet`)."""

    provider: str
    number: int
    health: str
    problem: Problem | None = None


@frozen
class Described:
    """The provider's whole description."""

    key: EffectKey
    provider: str
    number: int
    revision: str
    digest: str
    templates: tuple[Template, ...]
    limits: tuple[SharedLimit, ...]


@frozen
class ListedPage:
    """A page of a list that is followed by another; what it shows counts as seen, and it proves nothing."""

    provider: str
    number: int
    begun_boot_s: float
    age_s: int
    instances: tuple[SeenInstance, ...]
    is_first: bool


@frozen
class ShownByPages:
    """What the pages told of as ListedPage held, for the end of the pass: ids of instances, those of them that bear no
    token, and tokens."""

    ids: frozenset[str] = frozenset()
    nameless: frozenset[str] = frozenset()
    tokens: frozenset[str] = frozenset()


@frozen
class Listed:
    """The end of one pass over the provider's list, or over `named` instances; `begun_boot_s` is when its first frame
    was written, `instances` are those of its last page, `earlier` is None where that is its only one. `missing` are
    places that could not be read: such a list is never complete (LS-5)."""

    key: EffectKey
    provider: str
    number: int
    begun_boot_s: float
    complete: bool
    age_s: int
    instances: tuple[SeenInstance, ...]
    named: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    missing: tuple[Place, ...] = ()
    earlier: ShownByPages | None = None


@frozen
class ReadFailed:
    """A description or a list could not be read; it says nothing about anything."""

    key: EffectKey
    provider: str
    number: int
    what: str
    outcome: Refusal | Lost | NotWritten


@frozen
class ProviderHinted:
    """A `changed` notification: worth asking again."""

    provider: str
    number: int
    what: tuple[str, ...]
    instances: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


@frozen
class ProgressTold:
    """A `progress` notification: how far one purchase is, for people."""

    provider: str
    number: int
    request: str
    phase: str
    eta_s: int | None = None


@frozen
class NoticeGiven:
    """The far side warned of one instance."""

    provider: str
    number: int
    provider_id: str
    notice: Notice


# --- purchases and give-backs


@frozen
class RequestAnswered:
    """What came of one request frame."""

    key: EffectKey
    provider: str
    number: int
    request: str
    outcome: Report | Refusal | NotWritten | Lost


@frozen
class RequestAsked:
    """What came of asking for one purchase; `asked_boot_s` is when the question was written."""

    key: EffectKey
    provider: str
    number: int
    request: str
    asked_boot_s: float
    outcome: Report | Refusal | NotWritten | Lost


@frozen
class CancelAnswered:
    """What came of asking that no more of a purchase be made; `asked_boot_s` is when that was written."""

    key: EffectKey
    provider: str
    number: int
    request: str
    asked_boot_s: float
    outcome: Report | Refusal | NotWritten | Lost


@frozen
class LateAnswer:
    """An answer to a request or cancel frame whose outcome had been given up: a Yes in it still counts.

    `closes_frame` is whether it answers the frame that carried the purchase.
    """

    provider: str
    number: int
    request: str
    report: Report
    closes_frame: bool = True


@frozen
class ForgetAnswered:
    """What came of telling a provider which final answers are stored; `refusal` is None if it took it."""

    key: EffectKey
    provider: str
    number: int
    requests: tuple[str, ...]
    returns: tuple[str, ...]
    refusal: Refusal | NotWritten | Lost | None = None


@frozen
class ItemWord:
    """The provider's word on one item of a give-back (contract v2 §4, return)."""

    provider_id: str
    state: str
    units: int | None = None
    problem: Problem | None = None


@frozen
class ReturnWords:
    """The provider's words on a give-back; `known` is False if it does not know that return at all."""

    items: tuple[ItemWord, ...]
    known: bool = True


@frozen
class ReturnAnswered:
    """What came of a return frame, or of asking for it (`asked`)."""

    key: EffectKey
    provider: str
    number: int
    return_id: str
    asked: bool
    outcome: ReturnWords | Refusal | NotWritten | Lost


@frozen
class ExtendWord:
    """The provider's word on one instance: the end that now stands, and why it is not the one asked for."""

    provider_id: str
    expires_at: float | None = None
    problem: Problem | None = None


@frozen
class ExtendAnswered:
    """What came of asking for a later end of these instances."""

    key: EffectKey
    provider: str
    number: int
    items: tuple[ExtendItem, ...]
    outcome: tuple[ExtendWord, ...] | Refusal | NotWritten | Lost


@frozen
class Quote:
    """A price that holds until `valid_until` (epoch) for one purchase of at most `units`; `held` are set aside."""

    quote: str
    units: int
    price: Price
    valid_until: float
    held: bool


@frozen
class QuoteAnswered:
    """What came of asking for a quote of one template."""

    key: EffectKey
    provider: str
    number: int
    template: str
    outcome: Quote | Refusal | NotWritten | Lost


SourceEvent = DemandPushed | SupplyPushed | ClusterPushed
PurchaseEvent = RequestAnswered | RequestAsked | CancelAnswered | LateAnswer
CallEvent = ForgetAnswered | ExtendAnswered | QuoteAnswered | ReturnAnswered
ReadEvent = Listed | Described | ReadFailed
HintEvent = NoticeGiven | ProgressTold | ListedPage
ProcessEvent = (
    ProcessSpawned | ProcessNotSpawned | ProviderOpened | ProviderNotOpened | ProcessEnded | HealthSeen | ProviderHinted
)
Event = (
    DaemonStarted
    | CameDue
    | PlanningDue
    | SourceEvent
    | OperatorEvent
    | PurchaseEvent
    | CallEvent
    | ReadEvent
    | HintEvent
    | ProcessEvent
)
