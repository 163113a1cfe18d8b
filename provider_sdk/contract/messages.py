"""The params and results of every method of the contract (§2, §4).

Alone responsible for what each call carries. Values do nothing; the codec checks them. Field names are those of the
wire; collections are tuples; an optional field that is absent holds `None` or the contract's default. Those of
notifications are written down next door and are to be had from here too.
"""

from typing import Annotated

from attrs import Factory, frozen
from msgspec import Meta

from provider_sdk.contract.forms import (
    AbsolutePath,
    Config,
    Count,
    Cursor,
    Duration,
    Epoch,
    FrameBytes,
    Name,
    Number,
    PageLimit,
    Positive,
    Ref,
    RequestData,
    Revision,
    StateId,
    Time,
    Units,
    Word,
)
from provider_sdk.contract.notifications import CancelCall as CancelCall  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import Changed as Changed  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import Exit as Exit  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import Log as Log  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import Notice as Notice  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import NoticeItem as NoticeItem  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.notifications import Progress as Progress  # noqa: PLC0414 - exported on purpose
from provider_sdk.contract.promises import Promises
from provider_sdk.contract.types import (
    Instances,
    LeadTime,
    Limit,
    Mark,
    Money,
    Place,
    Problem,
    Problems,
    Report,
    Templates,
)
from provider_sdk.contract.words import (
    Health,
    Kind,
    ListScope,
    Mode,
    ReturnState,
    ReturnWhy,
    View,
)


@frozen
class Program:
    """Name and version of a program."""

    name: Word
    version: Word


# --- initialize


@frozen
class InitializeParams:
    """What a provider is told once, first of all; `versions` are best first."""

    versions: Annotated[tuple[Word, ...], Meta(min_length=1, max_length=16)]
    mode: Mode
    cluster: Name
    lineage: Name
    provider: Name
    owner: Name
    epoch: Epoch
    config: Config
    state_dir: AbsolutePath
    frame_bytes: FrameBytes
    answer_s_max: Positive
    credentials_dir: AbsolutePath | None = None
    daemon: Program | None = None
    capabilities: Annotated[tuple[Word, ...], Meta(max_length=64)] = ()


@frozen
class InitializeResult:
    """The chosen version, and what the provider is, can do and promises."""

    version: Word
    provider: Program
    kinds: Annotated[tuple[Kind, ...], Meta(max_length=8)]
    state_id: StateId
    capabilities: Annotated[tuple[Word, ...], Meta(max_length=64)] = ()
    promises: Promises = Factory(Promises)


# --- describe


@frozen
class DescribeParams:
    """Ask for the templates, or for what changed since the revision `known`."""

    known: Revision | None = None
    cursor: Cursor | None = None


@frozen
class DescribeResult:
    """One page of templates; with `base` a change to apply to that revision."""

    revision: Revision
    templates: Templates = ()
    base: Revision | None = None
    removed: Annotated[tuple[Ref, ...], Meta(max_length=20_000)] = ()
    limits: Annotated[tuple[Limit, ...], Meta(max_length=1000)] | None = None
    next: Cursor | None = None


# --- quote


@frozen
class QuoteParams:
    """Ask what a purchase would cost; obliges nobody."""

    template: Ref
    units: Positive
    min_units: Positive = 1
    duration_s: Duration | None = None


@frozen
class QuoteResult:
    """A price that holds until `valid_until`; `held` units are set aside until then."""

    quote: Ref
    units: Units
    price: Money
    valid_until: Time
    held: bool
    lead_time: LeadTime | None = None
    problems: Problems = ()


# --- request, request_status, cancel, forget


@frozen
class RequestParams:
    """One purchase; all but `epoch` and `not_after` (CLOCK_BOOTTIME seconds) is its content under `token`."""

    request_id: Name
    token: Name
    template: Ref
    units: Positive
    mark: Mark
    epoch: Epoch
    not_after: Number
    min_units: Positive = 1
    price_cap: Money | None = None
    quote: Ref | None = None
    duration_s: Duration | None = None
    deadline: Time | None = None
    consumer: Name | None = None
    data: RequestData | None = None


@frozen
class AskedRequest:
    """One purchase that is asked about, with all that helps to find it."""

    request_id: Name
    token: Name
    template: Ref
    units: Positive
    mark: Mark


@frozen
class RequestStatusParams:
    """Ask what became of purchases."""

    requests: Annotated[tuple[AskedRequest, ...], Meta(min_length=1, max_length=500)]


@frozen
class RequestStatusResult:
    """Reports on at least one of the purchases asked about; the rest is asked again."""

    requests: Annotated[tuple[Report, ...], Meta(min_length=1, max_length=500)]


@frozen
class CancelParams:
    """Ask that no further unit be made under a token; gives nothing back."""

    request_id: Name
    token: Name
    epoch: Epoch
    not_after: Number


@frozen
class ForgetParams:
    """Final answers that are stored for good and will not be asked for again."""

    tokens: Annotated[tuple[Name, ...], Meta(max_length=1000)] = ()
    returns: Annotated[tuple[Name, ...], Meta(max_length=1000)] = ()


@frozen
class ForgetResult:
    """Nothing."""


# --- return, return_status


@frozen
class ReturnItem:
    """One instance and how many units of it are kept; 0 gives all back."""

    instance: Ref
    keep: Units


@frozen
class ReturnParams:
    """Give instances back."""

    return_id: Name
    items: Annotated[tuple[ReturnItem, ...], Meta(min_length=1, max_length=1000)]
    epoch: Epoch
    not_after: Number
    why: ReturnWhy | None = None


@frozen
class ReturnedItem:
    """What became of one item: `units` are still ours, `moving` are given back but still in use there."""

    instance: Ref
    state: ReturnState
    units: Units | None = None
    moving: Units | None = None
    problem: Problem | None = None


ReturnedItems = Annotated[tuple[ReturnedItem, ...], Meta(max_length=1000)]


@frozen
class ReturnResult:
    """One answer for each item of a give-back."""

    items: ReturnedItems


@frozen
class ReturnStatusParams:
    """Ask what became of give-backs."""

    returns: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=500)]


@frozen
class ReturnStatus:
    """What became of one give-back; `items` None means that it is not known and is to be sent again."""

    return_id: Name
    items: ReturnedItems | None = None


@frozen
class ReturnStatusResult:
    """What became of the give-backs asked about."""

    returns: Annotated[tuple[ReturnStatus, ...], Meta(max_length=500)]


# --- list


@frozen
class ListParams:
    """Ask for what exists; with `instances` for those only."""

    cursor: Cursor | None = None
    limit: PageLimit = 1000
    max_age_s: Duration = 0
    view: View = View.FULL
    instances: Annotated[tuple[Ref, ...], Meta(max_length=1000)] | None = None
    scope: ListScope = ListScope.PROVIDER


@frozen
class ListResult:
    """One page of what exists; `complete` only on the last page of one faultless pass (LS-3)."""

    instances: Instances
    age_s: Duration
    complete: bool
    next: Cursor | None = None
    missing_places: Annotated[tuple[Place, ...], Meta(max_length=1000)] = ()
    not_found: Annotated[tuple[Ref, ...], Meta(max_length=1000)] = ()
    problems: Problems = ()


# --- extend


@frozen
class ExtendItem:
    """One instance and until when it is to be left to us."""

    instance: Ref
    until: Time


@frozen
class ExtendParams:
    """Put ends off; never shortens."""

    items: Annotated[tuple[ExtendItem, ...], Meta(min_length=1, max_length=1000)]
    epoch: Epoch
    not_after: Number


@frozen
class ExtendedItem:
    """The end that now stands for one instance."""

    instance: Ref
    expires_at: Time | None = None
    problem: Problem | None = None


@frozen
class ExtendResult:
    """One answer for each item."""

    items: Annotated[tuple[ExtendedItem, ...], Meta(max_length=1000)]


# --- ping, shutdown


@frozen
class PingParams:
    """Nothing."""


@frozen
class PingResult:
    """The far side as last seen, and how busy the provider is."""

    health: Health
    problem: Problem | None = None
    in_flight: Count | None = None
    queued: Count | None = None


@frozen
class ShutdownParams:
    """End in order, within `grace_s`."""

    grace_s: Duration


@frozen
class ShutdownResult:
    """How many purchases and returns are still open at the far side."""

    open: Count | None = None
