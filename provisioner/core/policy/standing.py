"""How one live instance stands on its way to serve, by its provider's word, its source's and its drain; and until when.

It must not know what any line wants, nor what else is held.
"""

from enum import IntEnum

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.facts import InstanceFact, WishKind
from provisioner.core.instance import InstanceState
from provisioner.core.model import Drain, DrainKind, EntryState, Kind, SupplyEntry
from provisioner.core.policy.demand import SourceView
from provisioner.core.settings import Settings
from provisioner.core.world import World

SERVING = frozenset({InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN})
SETTLES_WITHIN_S = 1.0
"""A source says what it has, then what it lacks. Between the two, work that started on a host as it joined is still
part of the older demand: without this pause it would be bought for once more."""

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


def look(
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
