"""The closed vocabularies of the contract, and to what an unknown word weakens (GR-2).

Alone responsible for the words a field may hold. Knows no message and no codec.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What a template supplies."""

    HOST = "host"
    GRANT = "grant"


class InstanceKind(StrEnum):
    """What an instance is; a remnant outlived an instance and costs money."""

    HOST = "host"
    GRANT = "grant"
    REMNANT = "remnant"


class InstanceState(StrEnum):
    """What the far side says of an instance."""

    BOOTING = "booting"
    RUNNING = "running"
    FAILED = "failed"
    UNKNOWN = "unknown"
    RETURNING = "returning"
    GONE = "gone"


class Outcome(StrEnum):
    """What became of a purchase; only MADE and NOT_MADE are final."""

    PENDING = "pending"
    MADE = "made"
    NOT_MADE = "not_made"
    UNKNOWN = "unknown"


class ReturnState(StrEnum):
    """What became of one item of a give-back; only RETURNED ends it."""

    RETURNING = "returning"
    RETURNED = "returned"
    HELD = "held"
    FAILED = "failed"
    NOT_FOUND = "not_found"
    UNKNOWN = "unknown"


class ReturnWhy(StrEnum):
    """Why an instance is given back."""

    IDLE = "idle"
    ORPHAN = "orphan"
    NEVER_JOINED = "never_joined"
    SURPLUS = "surplus"
    OPERATOR = "operator"


class NoticeKind(StrEnum):
    """What the far side warned of."""

    RECLAIM = "reclaim"
    REBALANCE = "rebalance"
    MAINTENANCE = "maintenance"
    EXPIRY = "expiry"
    PRICE = "price"
    WITHDRAWN = "withdrawn"


class Per(StrEnum):
    """What an amount of money is paid for."""

    HOUR = "hour"
    UNIT_HOUR = "unit_hour"
    PURCHASE = "purchase"


class PriceModel(StrEnum):
    """How a template is sold."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    OWNED = "owned"
    RESERVED = "reserved"


class BillingStart(StrEnum):
    """From when an instance is charged."""

    REQUESTED = "requested"
    MADE = "made"
    RUNNING = "running"


class BillingEnd(StrEnum):
    """Until when an instance is charged."""

    RETURN_ACCEPTED = "return_accepted"
    GONE = "gone"


class AddressScope(StrEnum):
    """From where an address can be reached."""

    PRIVATE = "private"
    PUBLIC = "public"


class QuantityUnit(StrEnum):
    """The units an attribute's number may carry."""

    B = "B"
    KIB = "KiB"
    MIB = "MiB"
    GIB = "GiB"
    TIB = "TiB"
    MB_PER_S = "MB/s"
    MBIT_PER_S = "Mbit/s"
    GBIT_PER_S = "Gbit/s"
    HZ = "Hz"
    S = "s"


class Mode(StrEnum):
    """What a process was started for."""

    SERVE = "serve"
    CHECK = "check"


class View(StrEnum):
    """How much of each instance a list gives."""

    FULL = "full"
    STATE = "state"


class ListScope(StrEnum):
    """Whose instances a list gives."""

    PROVIDER = "provider"
    CLUSTER = "cluster"


class Health(StrEnum):
    """The far side as the provider saw it last."""

    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


class ChangedWhat(StrEnum):
    """What is worth asking for again."""

    DESCRIPTION = "description"
    INSTANCES = "instances"
    HEALTH = "health"


class LogLevel(StrEnum):
    """How much a line of a provider's log matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Replay(StrEnum):
    """What happens when a request is sent twice with one token."""

    EXACT = "exact"
    AT_MOST_ONCE = "at_most_once"
    NONE = "none"


class MarkKept(StrEnum):
    """Where marks are kept."""

    FAR_SIDE = "far_side"
    OWN_RECORDS = "own_records"
    NONE = "none"


class ListCovers(StrEnum):
    """What a list is read from."""

    FAR_SIDE = "far_side"
    OWN_RECORDS = "own_records"


class MemoryWhere(StrEnum):
    """Where a provider remembers its purchases."""

    FAR_SIDE = "far_side"
    STATE_DIR = "state_dir"


class PriceCapPromise(StrEnum):
    """How far a price cap is kept."""

    LIFE = "life"
    PURCHASE = "purchase"
    IGNORED = "ignored"


class MinUnitsPromise(StrEnum):
    """How a minimum of units is kept."""

    ATOMIC = "atomic"
    BEST_EFFORT = "best_effort"
    IGNORED = "ignored"


class Honoured(StrEnum):
    """Whether a limit in time is kept."""

    HONOURED = "honoured"
    IGNORED = "ignored"


class Capability(StrEnum):
    """What a provider can do beyond the required methods."""

    QUOTE = "quote"
    CANCEL = "cancel"
    EXTEND = "extend"
    FORGET = "forget"
    DESCRIBE_DELTA = "describe.delta"
    LIST_STATE = "list.state"


class ErrorClass(StrEnum):
    """Why a call, or a part of one, did not do what was asked (§6)."""

    BAD_MESSAGE = "bad_message"
    UNKNOWN_METHOD = "unknown_method"
    BAD_PARAMS = "bad_params"
    INTERNAL = "internal"
    SHUTTING_DOWN = "shutting_down"
    NOT_INITIALIZED = "not_initialized"
    TOO_LARGE = "too_large"
    VERSION = "version"
    CONFIG = "config"
    FENCED = "fenced"
    STATE_LOCKED = "state_locked"
    CANCELLED = "cancelled"
    NO_CAPACITY = "no_capacity"
    THROTTLED = "throttled"
    QUOTA = "quota"
    AUTH = "auth"
    BAD_REQUEST = "bad_request"
    UNKNOWN_TEMPLATE = "unknown_template"
    NOT_FOUND = "not_found"
    TRANSIENT = "transient"
    PRICE = "price"
    QUOTE_GONE = "quote_gone"
    TOKEN_CONFLICT = "token_conflict"
    HELD = "held"
    CURSOR_GONE = "cursor_gone"
    UNSUPPORTED = "unsupported"


# What a word of a later minor version is read as. A vocabulary that is not here has no weaker word: an unknown one
# is a fault (per, unit, mode), or its item is skipped and reported (the kind of a template).
WEAKEST: Final[Mapping[type[StrEnum], StrEnum]] = {
    InstanceKind: InstanceKind.HOST,  # the kind of who says nothing; never left out, since it costs money
    InstanceState: InstanceState.UNKNOWN,
    Outcome: Outcome.UNKNOWN,
    ReturnState: ReturnState.UNKNOWN,
    ErrorClass: ErrorClass.TRANSIENT,
    NoticeKind: NoticeKind.REBALANCE,
    BillingStart: BillingStart.REQUESTED,
    BillingEnd: BillingEnd.GONE,
    Health: Health.DEGRADED,
    LogLevel: LogLevel.INFO,
    View: View.FULL,
    ListScope: ListScope.PROVIDER,
    AddressScope: AddressScope.PRIVATE,
    Replay: Replay.NONE,
    MarkKept: MarkKept.NONE,
    ListCovers: ListCovers.OWN_RECORDS,
    MemoryWhere: MemoryWhere.STATE_DIR,
    PriceCapPromise: PriceCapPromise.IGNORED,
    MinUnitsPromise: MinUnitsPromise.IGNORED,
    Honoured: Honoured.IGNORED,
}

# Vocabularies whose unknown words are left out of the value, each with the reason it may be missed.
DROPPED_WHEN_UNKNOWN: Final[frozenset[type[StrEnum]]] = frozenset(
    {
        ReturnWhy,  # optional, for the provider's log only
        PriceModel,  # optional, for show and for preferring
    }
)
