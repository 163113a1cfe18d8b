"""What must hold in every world and over every step between two of them, as one executable list; it only looks.

It is asked by tests, by fault simulation and by anybody who holds a world; it must not know how a world came about.
What clouds really hold is not known here: that comparison belongs to whoever has their books.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen
from immutables import Map

from provisioner.core import costs, giveback, lease, request
from provisioner.core.events import Moment
from provisioner.core.facts import FactKind, InstanceFact, Key, RequestFact, ReturnFact
from provisioner.core.giveback import ReturnState
from provisioner.core.ids import instance_id
from provisioner.core.instance import InstanceState
from provisioner.core.model import Kind
from provisioner.core.owed import owed_in_any_case
from provisioner.core.process import ProcessState
from provisioner.core.providers import view_of
from provisioner.core.request import RequestState
from provisioner.core.restarts import ALIVE
from provisioner.core.settings import Settings
from provisioner.core.world import World


@frozen
class Violation:
    """An invariant that does not hold: its stable id, one sentence of what was found, and the records concerned."""

    id: str
    sentence: str
    records: tuple[Key, ...] = ()


Found = Iterator[Violation]

SENTENCES: dict[str, str] = {
    "one_record": "a living thing has exactly one record, and the indexes say what the facts say",
    "ids": "an instance's id is a function of provider, provider's id and token",
    "epochs": "nobody acts above or below the epoch in the facts",
    "in_flight": "what is in flight is carried by a process that exists or is just being started",
    "planned_unsent": "a planned purchase was never sent: no frame, no carrier, not armed",
    "sending_carried": "a purchase being sent has a carrier, is armed and has counted its frame",
    "tokens": "no two purchases share a token",
    "frozen_content": "what one token stands for never changes, its mark's epoch and its reserved money included",
    "final_purchases": "a settled purchase stays as it was settled; only what turns up late is added",
    "made_sum": "units made are those of its instances plus those gone unnamed",
    "serial": "a provider whose tokens can't be trusted has one unsettled purchase at a time",
    "conserved": "demand is conserved: a line's count is met, in flight or open, and none of them is negative",
    "one_return": "an instance is in one open give-back at most, and the two name each other",
    "return_settled": "a give-back is over only when nothing of it lives",
    "never_serves_again": "what is being returned never serves again, and what is gone never comes back",
    "costs": "costs are whole, never negative, sum up, and are final for what is gone",
    "awake": "what is open owes an effect, has a time to wake, or waits for a provider that has one",
}
"""Every invariant by id, as one sentence each; `docs/explanation/invariants.md` says why each holds."""


def violations(world: World, now: Moment, settings: Settings, before: World | None = None) -> tuple[Violation, ...]:
    """All that does not hold in this world, and over the step from `before` if that is given; empty if all is well.

    Both are committed worlds. `before` may be an earlier one than the last: what must hold over one step holds over
    many.
    """
    found: list[Violation] = []
    for check in _OF_ONE_WORLD:
        found += check(world)
    found += _costs(world, now)
    found += _awake(world, now, settings)
    if before is not None and before is not world:
        for compare in _OF_TWO_WORLDS:
            found += compare(before, world)
    return tuple(found)


def _is(id: str, sentence: str, *records: Key) -> Violation:
    return Violation(id, sentence, records)


def _key(fact: RequestFact | ReturnFact | InstanceFact) -> Key:
    match fact:
        case RequestFact():
            return Key(FactKind.REQUEST, fact.id)
        case ReturnFact():
            return Key(FactKind.RETURN, fact.id)
        case InstanceFact():
            return Key(FactKind.INSTANCE, fact.id)


# --- of one world


def _one_record(world: World) -> Found:
    living: dict[tuple[str, str], InstanceFact] = {}
    for instance in world.live.values():
        where = (instance.provider, instance.provider_id)
        other = living.setdefault(where, instance)
        if other is not instance:
            yield _is("one_record", f"{where} has two living records", _key(other), _key(instance))
        if world.by_provider_id.get(where) != instance.id:
            yield _is("one_record", f"{where} is not found by its provider's id", _key(instance))
    yield from _index(world.instances, world.live, lambda i: i.state is not InstanceState.GONE, FactKind.INSTANCE)
    yield from _index(world.requests, world.open_requests, lambda r: r.state in request.OPEN, FactKind.REQUEST)
    yield from _index(world.requests, world.under_way, lambda r: r.state in request.UNDER_WAY, FactKind.REQUEST)
    yield from _index(world.requests, world.armed, lambda r: r.state in request.OPEN and r.armed, FactKind.REQUEST)
    yield from _index(world.returns, world.open_returns, lambda r: r.state in giveback.OPEN, FactKind.RETURN)


def _index(facts: Map[str, Any], index: Map[str, Any], belongs: Callable[..., bool], kind: FactKind) -> Found:
    for id, fact in facts.items():
        if index.get(id) is not (fact if belongs(fact) else None):
            yield _is("one_record", f"the index of open records is wrong about {kind}/{id}", Key(kind, id))
    for id in index:
        if id not in facts:
            yield _is("one_record", f"the index holds {kind}/{id}, which is no fact", Key(kind, id))


def _ids(world: World) -> Found:
    for instance in world.instances.values():
        if instance.id != instance_id(instance.provider, instance.provider_id, instance.token):
            yield _is("ids", f"{instance.id} is not the id of {instance.provider_id}/{instance.token}", _key(instance))
        bought = world.requests.get(instance.request) if instance.request is not None else None
        if instance.request is not None and (bought is None or instance.id not in bought.instances):
            yield _is("ids", f"{instance.request} does not name the instance that names it", _key(instance))


def _epochs(world: World) -> Found:
    planner = world.epochs.get(lease.PLANNER)
    if world.head is not None and (planner is None or world.head.epoch > planner.epoch):
        yield _is("epochs", f"the head was moved under epoch {world.head.epoch}", Key(FactKind.HEAD, lease.PLANNER))
    for name, held in world.seen.epochs.items():
        fact = world.epochs.get(name)
        if fact is None or held != fact.epoch:
            yield _is("epochs", f"{name} is held under {held}, the facts say {fact}", Key(FactKind.EPOCH, name))
    for record in (*world.requests.values(), *world.returns.values()):
        top = _epoch(world, record.provider)
        if record.carrier is not None and record.carrier.epoch > top:
            yield _is("epochs", f"carried under epoch {record.carrier.epoch}, the facts say {top}", _key(record))
    for provider, fact_ in world.processes.items():
        if fact_.epoch > _epoch(world, provider):
            yield _is("epochs", f"a process was started under epoch {fact_.epoch}", Key(FactKind.PROCESS, provider))


def _epoch(world: World, provider: str) -> int:
    fact = world.epochs.get(lease.provider_lease(provider))
    return fact.epoch if fact is not None else 0


def _in_flight(world: World) -> Found:
    for key in world.seen.in_flight:
        number = view_of(world, key.provider).number
        fact = world.processes.get(key.provider)
        next_number = (fact.number if fact is not None else 0) + 1
        if key.process > max(number, next_number if key.effect == "start_process" else number):
            said = f"{key.effect} is in flight in process {key.process}, the present one is {number}"
            yield _is("in_flight", said, Key(FactKind.PROCESS, key.provider))


def _planned_unsent(world: World) -> Found:
    for fact in world.requests.values():
        is_unsent = fact.frames == 0 and fact.carrier is None and not fact.armed and fact.sent_at is None
        if fact.state in (RequestState.PLANNED, RequestState.CANCELLED) and not is_unsent:
            yield _is("planned_unsent", f"{fact.id} is {fact.state} and was sent {fact.frames} times", _key(fact))


def _sending_carried(world: World) -> Found:
    for fact in world.requests.values():
        is_carried = fact.carrier is not None and fact.frames > 0 and fact.mark_epoch is not None
        if fact.state is RequestState.SENDING and not (is_carried and fact.armed and fact.sent_at is not None):
            yield _is("sending_carried", f"{fact.id} is being sent by nobody", _key(fact))
        elif fact.armed and not (is_carried and fact.state in (RequestState.SENDING, RequestState.UNKNOWN)):
            yield _is("sending_carried", f"{fact.id} is armed while {fact.state}", _key(fact))


def _tokens(world: World) -> Found:
    counts = Counter(fact.token for fact in world.requests.values())
    for fact in world.requests.values():
        if counts[fact.token] > 1 or world.by_token.get(fact.token) != fact.id:
            yield _is("tokens", f"{fact.token} is the token of {counts[fact.token]} purchases", _key(fact))


def _made_sum(world: World) -> Found:
    for fact in world.requests.values():
        known = [world.instances.get(i) for i in fact.instances]
        there = [i for i in known if i is not None]
        made = sum(i.units_made for i in there if i.kind is not Kind.REMNANT) + fact.gone_units
        if len(there) != len(known) or len(set(fact.instances)) != len(known):
            yield _is("made_sum", f"{fact.id} names instances that are no facts, or one twice", _key(fact))
        elif made != fact.made_units:
            yield _is("made_sum", f"{fact.id} counts {fact.made_units} units made, its records {made}", _key(fact))
        elif any(i.request != fact.id or i.token != fact.token for i in there):
            yield _is("made_sum", f"{fact.id} names instances of another purchase", _key(fact))


def _serial(world: World) -> Found:
    sent = [r for r in world.open_requests.values() if r.state is not RequestState.PLANNED]
    for provider, count in Counter(r.provider for r in sent).items():
        description = world.descriptions.get(provider)
        if count > 1 and description is not None and description.promises.token_replay == "none":
            mine = [_key(r) for r in sent if r.provider == provider]
            yield _is("serial", f"{provider} has {count} unsettled purchases and no tokens", *mine)


def _conserved(world: World) -> Found:
    for line in world.seen.plan.lines:
        parts = (line.met, line.in_flight, line.open)
        if sum(parts) != line.count or min(parts) < 0:
            said = f"{line.source}/{line.line} asks for {line.count}: met, in flight, open are {parts}"
            yield _is("conserved", said, Key(FactKind.DEMAND, line.source))


def _one_return(world: World) -> Found:
    holder: dict[str, ReturnFact] = {}
    for fact in world.open_returns.values():
        for item in fact.items:
            other = holder.setdefault(item.instance, fact)
            instance = world.instances.get(item.instance)
            if other is not fact:
                yield _is("one_return", f"{item.instance} is in two open give-backs", _key(other), _key(fact))
            if instance is None or (item.keep == 0 and instance.return_id != fact.id):
                yield _is("one_return", f"{item.instance} does not know of its give-back", _key(fact))
    for instance in world.live.values():
        if instance.return_id is not None and instance.return_id not in world.returns:
            yield _is("one_return", f"{instance.id} names a give-back that is no fact", _key(instance))


def _return_settled(world: World) -> Found:
    for instance in world.live.values():
        fact = world.returns.get(instance.return_id) if instance.return_id is not None else None
        if fact is not None and fact.state is ReturnState.RETURNED and instance.units > 0:
            keeps = any(item.instance == instance.id and item.keep > 0 for item in fact.items)
            if not keeps:
                yield _is("return_settled", f"{instance.id} lives, its give-back is over", _key(instance), _key(fact))


# --- with time and settings


def _costs(world: World, now: Moment) -> Found:
    known = {id: costs.cost_nanos(instance, now.at) for id, instance in world.instances.items()}
    for id, cost in known.items():
        later = costs.cost_nanos(world.instances[id], now.at + 86_400.0)
        is_gone = world.instances[id].state is InstanceState.GONE
        if cost is not None and (cost < 0 or (is_gone and later != cost)):
            yield _is("costs", f"{id} costs {cost} now and {later} a day later", Key(FactKind.INSTANCE, id))
    total = costs.total_nanos(world.instances.values(), now.at)
    if total != sum(cost for cost in known.values() if cost is not None):
        yield _is("costs", f"the total {total} is not the sum over instances")


def _awake(world: World, now: Moment, settings: Settings) -> Found:
    for fact in (*world.open_requests.values(), *world.open_returns.values()):
        if fact.provider not in settings.providers:
            continue
        found = owed_in_any_case(world, _key(fact), now, settings)
        if not found.effects and found.wake_boot_s is None and not _provider_wakes(world, fact.provider, now, settings):
            yield _is("awake", f"{fact.id} is {fact.state} and nothing will ever look at it again", _key(fact))


def _provider_wakes(world: World, provider: str, now: Moment, settings: Settings) -> bool:
    """Whether a provider that is not ready has something that goes on; a parked one waits for an operator."""
    view = view_of(world, provider)
    if view.state in (ProcessState.PARKED, ProcessState.STARTING):
        return True
    found = owed_in_any_case(world, Key(FactKind.PROCESS, provider), now, settings)
    return view.state not in ALIVE and (bool(found.effects) or found.wake_boot_s is not None)


# --- of two worlds


def _frozen_content(before: World, after: World) -> Found:
    for was, fact in _changed(before.requests, after.requests):
        if _content(was) != _content(fact):
            yield _is("frozen_content", f"what {fact.token} stands for has changed", _key(fact))
        elif was.frames > 0 and fact.frames > 0 and was.mark_epoch != fact.mark_epoch:
            yield _is("frozen_content", f"the mark of {fact.token} has changed", _key(fact))
    for id in before.requests:
        if id not in after.requests:
            yield _is("frozen_content", f"the purchase {id} is no fact any more", Key(FactKind.REQUEST, id))


def _content(fact: RequestFact) -> tuple[object, ...]:
    """What a token stands for, and what was agreed and set aside for it."""
    bought = (fact.provider, fact.template, fact.kind, fact.token, fact.units, fact.min_units, fact.consumer)
    agreed = (fact.shares, fact.terms, fact.reserve_nanos, fact.price_cap, fact.planned_at, fact.deadline_at)
    return (*bought, *agreed, fact.decision)


def _final_purchases(before: World, after: World) -> Found:
    for was, fact in _changed(before.requests, after.requests):
        is_settled = was.state in request.SETTLED
        if is_settled and (was.state, was.settled_at) != (fact.state, fact.settled_at):
            yield _is("final_purchases", f"{fact.id} was {was.state} and is {fact.state}", _key(fact))
        if fact.made_units < was.made_units or not set(was.instances) <= set(fact.instances):
            yield _is("final_purchases", f"a Yes to {fact.id} was forgotten", _key(fact))


def _never_serves_again(before: World, after: World) -> Found:
    for was, fact in _changed(before.instances, after.instances):
        left = was.state is InstanceState.RETURNING and fact.state not in (InstanceState.RETURNING, InstanceState.GONE)
        if left or (was.state is InstanceState.GONE and fact.state is not InstanceState.GONE):
            yield _is("never_serves_again", f"{fact.id} was {was.state} and is {fact.state}", _key(fact))
        if was.return_id is not None and was.return_id != fact.return_id and _is_sent(after, was.return_id):
            yield _is("never_serves_again", f"{fact.id} has left the give-back {was.return_id}", _key(fact))
    for id in before.instances:
        if id not in after.instances:
            yield _is("never_serves_again", f"the instance {id} is no fact any more", Key(FactKind.INSTANCE, id))


def _is_sent(world: World, id: str) -> bool:
    fact = world.returns.get(id)
    return fact is not None and fact.frames > 0


def _epochs_grow(before: World, after: World) -> Found:
    for name, was in before.epochs.items():
        fact = after.epochs.get(name)
        if fact is None or fact.epoch < was.epoch:
            yield _is("epochs", f"the epoch of {name} went back from {was.epoch}", Key(FactKind.EPOCH, name))


def _changed(before: Map[str, Any], after: Map[str, Any]) -> Iterator[tuple[Any, Any]]:
    return ((was, fact) for id, fact in after.items() if (was := before.get(id)) is not None and was is not fact)


_OF_ONE_WORLD: tuple[Callable[[World], Iterable[Violation]], ...] = (
    _one_record,
    _ids,
    _epochs,
    _in_flight,
    _planned_unsent,
    _sending_carried,
    _tokens,
    _made_sum,
    _serial,
    _conserved,
    _one_return,
    _return_settled,
)
_OF_TWO_WORLDS: tuple[Callable[[World, World], Iterable[Violation]], ...] = (
    _frozen_content,
    _final_purchases,
    _never_serves_again,
    _epochs_grow,
)
