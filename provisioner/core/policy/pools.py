"""Pools of equal room that may be netted: from live instances that are one another's equals, and from open purchases.

It must not know what any line wants.
"""

from collections.abc import Iterable, Iterator

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.facts import InstanceFact, RequestFact
from provisioner.core.model import Amounts, Kind, Share
from provisioner.core.policy.standing import Case, Phase
from provisioner.core.policy.traits import Traits, traits_as_delivered
from provisioner.core.provider_settings import USABLE_MEMORY_PERMILLE
from provisioner.core.request import RequestState
from provisioner.core.settings import Settings
from provisioner.core.world import World


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


def pool_of(world: World, settings: Settings, alike: list[Case]) -> Pool:
    """The pool of live instances that are one another's equals (see `likeness`); there is at least one."""
    alike.sort(key=lambda case: case.instance.id)
    first = alike[0]
    instance, entry = first.instance, first.entry
    seen_size: Amounts = () if entry is None else entry.size
    permille = memory_permille(settings, instance.provider, instance.template)
    slots = sum(slots_of(case) for case in alike)
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


def request_pool(settings: Settings, request: RequestFact, now: Moment, turns_at: list[float]) -> Iterator[Pool]:
    """The part of an open purchase that is not made yet, while it may still be counted on: not once it is ended."""
    until_at = _covers_until_at(settings, request)
    units = unmade(request)
    if not units or not request.shares or until_at <= now.at or request.cancel_at is not None:
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


def slots_of(case: Case) -> int:
    """One for a host; for a grant its units that are not in use."""
    if case.instance.kind is Kind.HOST:
        return 1
    return case.instance.units - (case.entry.in_use or 0 if case.entry else 0)


def likeness(case: Case) -> tuple[object, ...]:
    """Equal for hosts that are one another's equals; a grant is a pool of its own."""
    instance, entry = case.instance, case.entry
    if instance.kind is not Kind.HOST or instance.request is None:
        return (instance.id,)
    source = "" if case.source is None else case.source.name
    seen_size = () if entry is None else entry.size
    return (instance.request, source, case.phase, seen_size, instance.size, instance.labels, instance.place)


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


def _covers_until_at(settings: Settings, request: RequestFact) -> float:
    """An overdue or unknown purchase stops answering demand after `cover`, a stated hedge; its money stays reserved."""
    if request.state is RequestState.UNKNOWN:
        return request.state_at + settings.policy.cover_s
    return _sent_at(request) + request.terms.lead_worst_s + settings.policy.cover_s


def _sent_at(request: RequestFact) -> float:
    return request.planned_at if request.sent_at is None else request.sent_at
