"""The clouds' books held against the facts: while a history runs, and once everything has settled.

It alone compares the two. It must not know how either came about; what must hold among the facts alone is in
core/invariants.py.
"""

from collections.abc import Iterable, Mapping

from provisioner.core.facts import FactKind, Key, RequestFact
from provisioner.core.instance import InstanceState
from provisioner.core.invariants import Violation
from provisioner.core.request import SETTLED, RequestState
from provisioner.core.world import World
from provisioner.sim.chaos.far_side import FarSide

NOES = frozenset({RequestState.NOT_MADE, RequestState.REFUSED, RequestState.CANCELLED, RequestState.SHORT})
IN_FLIGHT_MOST_S = 120.0


def as_it_runs(world: World, clouds: Mapping[str, FarSide], now_s: float) -> Iterable[Violation]:
    """What may not be so at any moment."""
    for instance in world.instances.values():
        if instance.state is InstanceState.GONE and instance.provider in clouds:
            thing = clouds[instance.provider].things.get(instance.provider_id)
            if thing is not None and thing.lives(now_s):
                said = f"{thing.id} is gone by our facts and costs money still"
                yield Violation("books.gone", said, (Key(FactKind.INSTANCE, instance.id),))
    for request in world.requests.values():
        if request.state in NOES and request.provider in clouds:
            yield from _no_was_true(request, clouds[request.provider], now_s)


def _no_was_true(request: RequestFact, cloud: FarSide, now_s: float) -> Iterable[Violation]:
    """What lives under a token that was settled with a No for it, and was not known then."""
    unknown = [t.id for t in cloud.things.values() if t.token == request.token and t.lives(now_s)]
    most = request.made_units
    if len(unknown) > most:
        said = f"{request.token} is settled as {request.state} with {most} units, and {unknown} live under it"
        yield Violation("books.no", said, (Key(FactKind.REQUEST, request.id),))


def at_the_end(world: World, clouds: Mapping[str, FarSide], now_s: float) -> Iterable[Violation]:
    """What may not be left once all faults are over, nothing is wanted and time enough has passed."""
    for cloud in clouds.values():
        for said in cloud.wrong:
            yield Violation("books.twice", said)
        yield from _unknown_things(world, cloud, now_s)
    yield from _accused(world)
    for request in world.open_requests.values():
        if not _may_stay_open(request, clouds):
            yield Violation("end.open", f"{request.id} is {request.state} for ever: {request.reason}", _of(request))
    for instance in world.live.values():
        said = f"{instance.id} ({instance.provider_id}) is {instance.state} and is never given back"
        yield Violation("end.live", said, (Key(FactKind.INSTANCE, instance.id),))
    for giveback in world.open_returns.values():
        said = f"{giveback.id} is {giveback.state} for ever"
        yield Violation("end.return", said, (Key(FactKind.RETURN, giveback.id),))
    for key, since_boot_s in world.seen.in_flight.items():
        if now_s - since_boot_s > IN_FLIGHT_MOST_S:
            yield Violation("end.in_flight", f"{key} has been in flight since {since_boot_s:.1f} s")


def _accused(world: World) -> Iterable[Violation]:
    for name, fact in world.descriptions.items():
        for one in fact.broken:
            yield Violation("trust.accused", f"{name} keeps what it promised, and is believed no more: {one.why}")


def _unknown_things(world: World, cloud: FarSide, now_s: float) -> Iterable[Violation]:
    known = {i.provider_id for i in world.instances.values() if i.provider == cloud.supplier.name}
    for thing in cloud.things.values():
        request = world.requests.get(world.by_token.get(thing.token, ""))
        is_settled = request is not None and request.state in SETTLED
        may_be_unknown = request is not None and not is_settled and _may_stay_open(request, {request.provider: cloud})
        is_collected = not thing.lives(now_s) and (not thing.named or _is_blind(cloud))
        if thing.id not in known and not may_be_unknown and not is_collected:
            yield Violation("books.unknown", f"{thing.id} under {thing.token} was made and no fact knows it")
        if thing.lives(now_s) and not may_be_unknown:
            yield Violation("books.left", f"{thing.id} under {thing.token} still costs money")


def settled(world: World, clouds: Mapping[str, FarSide], now_s: float) -> bool:
    """Whether nothing is left that time could still settle."""
    return not any(at_the_end(world, clouds, now_s)) or bool(any(c.wrong for c in clouds.values()))


def _may_stay_open(request: RequestFact, clouds: Mapping[str, FarSide]) -> bool:
    cloud = clouds.get(request.provider)
    return request.state is RequestState.UNKNOWN and cloud is not None and cloud.supplier.may_stay_unknown()


def _is_blind(cloud: FarSide) -> bool:
    """Whether nobody can ever say which purchase a thing came of, once its answer is lost."""
    promises = cloud.supplier.promises
    return promises.token_replay == "none" and promises.mark_kept != "far_side"


def _of(request: RequestFact) -> tuple[Key, ...]:
    return (Key(FactKind.REQUEST, request.id),)
