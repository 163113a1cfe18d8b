"""What is held and what is still coming, seen in one pass over the live instances and the open purchases.

It sorts everything into pools of equal room that may be netted, and into cases that reclaim may have to look at; it
must not know what any line wants, nor decide anything.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.facts import InstanceFact, RequestFact, WishKind
from provisioner.core.instance import InstanceState
from provisioner.core.model import Amounts, Drain, DrainKind, EntryState, Kind, Share, SupplyEntry
from provisioner.core.policy.demand import SourceView
from provisioner.core.policy.traits import Traits, traits_as_delivered
from provisioner.core.provider_settings import USABLE_MEMORY_PERMILLE
from provisioner.core.request import RequestState
from provisioner.core.settings import Settings
from provisioner.core.world import World

SERVING = frozenset({InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN})
SETTLES_WITHIN_S = 1.0
"""A source says what it has, then what it lacks. Between the two, work that started on a host as it joined is still part
of the older demand: without this pause it would be bought for once more."""

_CLOSED_ENTRY = frozenset({EntryState.DRAINING, EntryState.DRAINED})


class Phase(IntEnum):
    """How far something is on its way to serve, nearest first; the order in which it is netted."""

    JOINED = 0
    REOPENING = 1
    COMING = 2
    ASKED = 3
    PLANNED = 4
    CLOSED = 5
    CLOSED_UNJOINED = 6


REOPENABLE = frozenset({Phase.CLOSED, Phase.CLOSED_UNJOINED})


@frozen(eq=False)
class Pool:
    """Equal room of one source: `slots` hosts, or units of a grant. `shares` is how much of which line it was bought
    for.

    `members` are instance ids (one slot each for hosts), or the id of the purchase that is not made yet. `own_only`:
    it serves only the lines it was bought for.
    """

    source: str
    phase: Phase
    consumer: str
    traits: Traits
    slots: int
    shares: tuple[Share, ...]
    members: tuple[str, ...]
    own_only: bool = False
    expected_at: float | None = None


@frozen(eq=False)
class Case:
    """One live instance that reclaim may have to act on, with what its source says of it and its drain, wishes
    honoured.

    `joins_by_at` is its join deadline, None if it has joined or has none; `phase` is None if it can't be netted.
    """

    instance: InstanceFact
    entry: SupplyEntry | None
    drain: Drain | None
    source: SourceView | None
    phase: Phase | None
    joins_by_at: float | None


@frozen(eq=False)
class Survey:
    """The outcome of the pass: units by (provider, template), `held` everything not proven gone, `unmade` the part
    not made yet.
    """

    pools: tuple[Pool, ...]
    cases: tuple[Case, ...]
    held: dict[tuple[str, str], int]
    unmade: dict[tuple[str, str], int]
    turns_at: list[float]


def survey(world: World, settings: Settings, sources: dict[str, SourceView], now: Moment) -> Survey:
    """Look at every live instance and open purchase once; `turns_at` are the times (epoch) at which this alone
    changes.
    """
    entries = {e.instance: (name, e) for name, supply in world.supplies.items() for e in supply.entries}
    held: dict[tuple[str, str], int] = {}
    waited: dict[tuple[str, str], int] = {}
    cases: list[Case] = []
    turns_at: list[float] = []
    pooled: dict[tuple[object, ...], list[Case]] = {}
    for instance in world.live.values():
        offer = (instance.provider, instance.template)
        held[offer] = held.get(offer, 0) + instance.units
        case, until_at = _look(world, settings, sources, instance, entries.get(instance.id), now)
        if until_at is not None and until_at > now.at:
            turns_at.append(until_at)
        if case.entry is None or case.entry.state is not EntryState.BUSY or case.drain or instance.notice:
            cases.append(case)
        if case.phase is not None and case.source is not None and _slots(case):
            pooled.setdefault(_likeness(case), []).append(case)
    pools = [_pool(world, settings, alike) for alike in pooled.values()]
    for request in world.open_requests.values():
        offer = (request.provider, request.template)
        held[offer] = held.get(offer, 0) + unmade(request)
        waited[offer] = waited.get(offer, 0) + unmade(request)
        pools += _request_pool(settings, request, now, turns_at)
    cases.sort(key=lambda case: case.instance.id)
    pools.sort(key=lambda pool: (pool.phase, pool.traits.provider, pool.traits.template, pool.members[0]))
    return Survey(tuple(pools), tuple(cases), held, waited, turns_at)


def unmade(request: RequestFact) -> int:
    """Units of an open purchase that may still be made."""
    return max(request.units - request.made_units, 0)


def hosts_of(units: int, units_per_instance: int | None) -> int:
    """How many hosts so many units are; where a template does not say, each unit counts as one of its least size."""
    return -(-units // (units_per_instance or 1))


def memory_permille(settings: Settings, provider: str, template: str) -> int:
    """The share of memory that jobs can use on hosts of one template."""
    entry = settings.providers.get(provider)
    if entry is None or not entry.templates:
        return USABLE_MEMORY_PERMILLE
    said = entry.override(template).usable_memory_permille
    return USABLE_MEMORY_PERMILLE if said is None else said


def _look(
    world: World,
    settings: Settings,
    sources: dict[str, SourceView],
    instance: InstanceFact,
    listed: tuple[str, SupplyEntry] | None,
    now: Moment,
) -> tuple[Case, float | None]:
    """The case of one instance, and when (epoch) time alone would change how it stands."""
    entry = None if listed is None or listed[1].state is EntryState.GONE else listed[1]
    name = listed[0] if listed is not None else (instance.shares[0].source if instance.shares else None)
    source = None if name is None else sources.get(name)
    drain = _drain(world, instance)
    if source is None or instance.state not in SERVING or instance.return_id or instance.kind is Kind.REMNANT:
        return Case(instance, entry, drain, source, None, None), None
    until_at: float | None
    if entry is not None:
        joins_by_at = None
        phase, until_at = _listed_phase(instance, entry, drain, source)
    else:
        joins_by_at = until_at = _joins_by_at(settings, instance, source)
        phase = _unlisted_phase(instance, drain)
    if instance.notice is not None or (until_at is not None and until_at <= now.at):
        phase = None
    return Case(instance, entry, drain, source, phase, joins_by_at), until_at


def _drain(world: World, instance: InstanceFact) -> Drain | None:
    """Its drain as it will be once wishes not honoured yet are."""
    if not world.wishes:
        return instance.drain
    if f"{WishKind.REOPEN}.{instance.id}" in world.wishes:
        return None
    wish = world.wishes.get(f"{WishKind.DRAIN}.{instance.id}")
    return instance.drain if wish is None or wish.drain is None else wish.drain


def _unlisted_phase(instance: InstanceFact, drain: Drain | None) -> Phase | None:
    if drain is not None:
        return Phase.CLOSED_UNJOINED if drain.kind is DrainKind.ASK else None
    if instance.kind is Kind.GRANT and instance.state is InstanceState.RUNNING:
        return Phase.JOINED
    return Phase.COMING


def _listed_phase(
    instance: InstanceFact, entry: SupplyEntry, drain: Drain | None, source: SourceView
) -> tuple[Phase | None, float | None]:
    """How a listed instance stands, and until when. What its source has counted, or took into use, never nets."""
    closed = entry.state in _CLOSED_ENTRY
    if drain is not None:
        return (Phase.CLOSED if closed and drain.kind is DrainKind.ASK else None), None
    if closed:
        return _reopening(instance, entry, source)
    rev, since_at = _opened(entry)
    if source.counted is not None and rev <= source.counted:
        return None, None
    if entry.state is EntryState.IDLE or (entry.state is EntryState.BUSY and entry.in_use is not None):
        return Phase.JOINED, since_at + source.settings.netting_window_s
    if entry.state is EntryState.BUSY:
        return Phase.JOINED, since_at + min(SETTLES_WITHIN_S, source.settings.netting_window_s)
    return None, None


def _reopening(instance: InstanceFact, entry: SupplyEntry, source: SourceView) -> tuple[Phase | None, float | None]:
    """Closed for a drain of ours that is over: open again as soon as its source looks; closed by its own source: not
    ours.
    """
    if entry.drain is None:
        return None, None
    if instance.reopened_at is None:
        return Phase.REOPENING, None
    return Phase.REOPENING, instance.reopened_at + source.settings.netting_window_s


def _opened(entry: SupplyEntry) -> tuple[tuple[int, int], float]:
    if entry.reopened_rev is not None and entry.reopened_rev >= entry.joined_rev:
        return entry.reopened_rev, entry.joined_at if entry.reopened_at is None else entry.reopened_at
    return entry.joined_rev, entry.joined_at


def _joins_by_at(settings: Settings, instance: InstanceFact, source: SourceView) -> float | None:
    """When it must have joined. A source that never said what it has can't be asked; a grant need not join at all."""
    if instance.kind is not Kind.HOST or not source.has_supply:
        return None
    policy = settings.policy
    if instance.state is InstanceState.BOOTING:
        return instance.requested_at + instance.terms.lead_worst_s + policy.cover_s
    if instance.state is InstanceState.UNKNOWN:
        return instance.state_at + policy.cover_s
    up_at = instance.made_at if instance.running_at is None else instance.running_at
    return max(up_at, source.fresh_since_at) + policy.join.first_s


def _slots(case: Case) -> int:
    if case.instance.kind is Kind.HOST:
        return 1
    return case.instance.units - (case.entry.in_use or 0 if case.entry else 0)


def _likeness(case: Case) -> tuple[object, ...]:
    """Equal for hosts that are one another's equals; a grant is a pool of its own."""
    instance, entry = case.instance, case.entry
    if instance.kind is not Kind.HOST or instance.request is None:
        return (instance.id,)
    source = "" if case.source is None else case.source.name
    seen_size = () if entry is None else entry.size
    return (instance.request, source, case.phase, seen_size, instance.size, instance.labels, instance.place)


def _pool(world: World, settings: Settings, alike: list[Case]) -> Pool:
    alike.sort(key=lambda case: case.instance.id)
    first = alike[0]
    instance, entry = first.instance, first.entry
    seen_size: Amounts = () if entry is None else entry.size
    permille = memory_permille(settings, instance.provider, instance.template)
    slots = sum(_slots(case) for case in alike)
    expected_at = instance.requested_at + instance.terms.lead_typical_s
    return Pool(
        source="" if first.source is None else first.source.name,
        phase=Phase.COMING if first.phase is None else first.phase,
        consumer=instance.consumer,
        traits=traits_as_delivered(instance, seen_size, permille),
        slots=slots,
        shares=tuple(_quotas(world, instance, slots)),
        members=tuple(case.instance.id for case in alike),
        own_only=instance.kind is Kind.GRANT and entry is None,
        expected_at=expected_at if first.phase is Phase.COMING else None,
    )


def _quotas(world: World, instance: InstanceFact, slots: int) -> Iterator[Share]:
    """How much of each line this part of a purchase was bought for; an instance alone does not say how much."""
    request = None if instance.request is None else world.requests.get(instance.request)
    if request is None:
        yield from (Share(share.source, share.line, 0) for share in instance.shares)
        return
    upi = request.terms.units_per_instance if request.kind is Kind.HOST else 1
    yield from _scaled(request.shares, slots, hosts_of(request.units, upi))


def _scaled(shares: Iterable[Share], part: int, whole: int) -> Iterator[Share]:
    for share in shares:
        yield Share(share.source, share.line, share.units * min(part, whole) // max(whole, 1))


def _request_pool(settings: Settings, request: RequestFact, now: Moment, turns_at: list[float]) -> Iterator[Pool]:
    """The part of an open purchase that is not made yet, while it may still be counted on."""
    until_at = _covers_until_at(settings, request)
    units = unmade(request)
    if not units or not request.shares or until_at <= now.at:
        return
    turns_at.append(until_at)
    terms = request.terms
    per = terms.units_per_instance if request.kind is Kind.HOST else 1
    slots, whole = hosts_of(units, per), hosts_of(request.units, per)
    yield Pool(
        source=request.shares[0].source,
        phase=Phase.PLANNED if request.state is RequestState.PLANNED else Phase.ASKED,
        consumer=request.consumer,
        traits=Traits(request.kind, request.provider, request.template, dict(terms.size), terms.labels, terms.place),
        slots=slots,
        shares=tuple(_scaled(request.shares, slots, whole)),
        members=(request.id,),
        own_only=request.kind is Kind.GRANT,
        expected_at=_sent_at(request) + terms.lead_typical_s,
    )


def _covers_until_at(settings: Settings, request: RequestFact) -> float:
    """An overdue or unknown purchase stops answering demand after `cover`, a stated hedge; its money stays reserved."""
    if request.state is RequestState.UNKNOWN:
        return request.state_at + settings.policy.cover_s
    return _sent_at(request) + request.terms.lead_worst_s + settings.policy.cover_s


def _sent_at(request: RequestFact) -> float:
    return request.planned_at if request.sent_at is None else request.sent_at
