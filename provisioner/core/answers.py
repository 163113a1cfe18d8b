"""What a provider's word on a purchase comes to: instances are taken up whoever names them, and a No is weighed
before it counts.

Yes counts always. A No counts only if it was asked for after every frame of the token was closed, plus the late
effect the provider
declared (design §4); a No in answer to the only frame that ever carried the token is such a one.
"""

from typing import TypeVar

from attrs import evolve

from provisioner.core import instance as instance_life
from provisioner.core import progress
from provisioner.core import request as request_life
from provisioner.core.events import Moment, Report, SeenInstance
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, InstanceFact, RequestFact
from provisioner.core.ids import instance_id
from provisioner.core.instance import InstanceState
from provisioner.core.intake import want_plan
from provisioner.core.model import Amounts, Kind, Per, Place, Terms
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.core.trust import came_late, has_lost_memory
from provisioner.core.world import World

_T = RequestTrigger
MEMORY = "memory"


def take_report(draft: Draft, report: Report, now: Moment, *, no_is_valid: bool) -> Draft:
    """The draft with everything the report says: instances first, then the purchase's own state."""
    request = draft.world.requests.get(report.request)
    if request is None or request.token != report.token:
        return draft
    for seen in report.instances:
        draft = take_instance(draft, request, seen, now)
    request = _counted(draft.world, draft.world.requests[request.id], report)
    draft = progress.with_reported(draft.put(FactKind.REQUEST, request.id, request), request, report, now)
    is_open = request.token in draft.world.seen.frames_open
    trigger = trigger_of(request, report, no_is_valid=no_is_valid, is_open=is_open)
    return move_request(draft, request, trigger, now)


def trigger_of(request: RequestFact, report: Report, *, no_is_valid: bool, is_open: bool) -> RequestTrigger:
    """What a report means for the life of its purchase; while a frame of it `is_open`, more may come."""
    whole = request.made_units >= request.units
    if report.outcome == "pending":
        return _T.TAKEN
    if whole:
        return _T.MADE_ALL
    if report.outcome == "made":
        return _T.TAKEN if is_open else _T.MADE_SHORT
    if report.outcome == "not_made" and no_is_valid:
        return no_to_the_rest(request)
    if request.state is RequestState.TAKEN:
        return _T.FORGOTTEN
    return _T.LOST


def no_to_the_rest(request: RequestFact) -> RequestTrigger:
    """What a valid No means for the life of a purchase: nothing of it was made, or no more than is known."""
    return _T.MADE_SHORT if request.made_units > 0 else _T.VALID_NO


def move_request(draft: Draft, request: RequestFact, trigger: RequestTrigger, now: Moment, reason: str = "") -> Draft:
    """The draft in which the purchase has taken this step; where its table has none, only what was counted is kept."""
    arc = request_life.step(request.state, trigger)
    if arc is None:
        return draft
    moved = evolve(request, state=arc.next, reason=reason or arc.why)
    if arc.next is not request.state:
        moved = evolve(moved, state_at=now.at)
        draft = want_plan(draft)
    if arc.next is not RequestState.SENDING:
        moved = evolve(moved, armed=False)
    if arc.next in request_life.SETTLED:
        draft = progress.forgotten(draft, request.id)
        moved = moved if request.settled_at is not None else evolve(moved, settled_at=now.at)
    return draft.put(FactKind.REQUEST, moved.id, moved)


def _counted(world: World, request: RequestFact, report: Report) -> RequestFact:
    """The purchase with what is known to have been made under its token."""
    gone = max(request.gone_units, report.gone_units)
    made = shown_units(world, request) + gone
    return evolve(request, made_units=made, gone_units=gone, problems=report.problems or request.problems)


def shown_units(world: World, request: RequestFact) -> int:
    """Units of a purchase that were shown as things, by their first sizes; what outlived a thing is none of them."""
    known = (world.instances[i] for i in request.instances)
    return sum(i.units_made for i in known if i.kind is not Kind.REMNANT)


def take_instance(draft: Draft, request: RequestFact, seen: SeenInstance, now: Moment) -> Draft:
    """The draft with one thing of this purchase taken up or brought up to date; a late one of a settled purchase is
    surplus."""
    world = draft.world
    id = instance_id(request.provider, seen.provider_id, request.token)
    present = world.instances.get(id)
    if present is None:
        # Ids are never used twice (IN-1): what lives under this one is the same thing, whatever it is said to come of.
        present = world.live.get(world.by_provider_id.get((request.provider, seen.provider_id), ""))
    if present is not None:
        return update_instance(draft, present, seen, now)
    fact = _born(world.requests[request.id], id, seen, now)
    late = request.state in request_life.SETTLED and fact.state is not InstanceState.GONE
    draft = draft.put(FactKind.INSTANCE, id, evolve(fact, surplus=late))
    # What outlived a thing that was told of always comes later than it: nobody's word was wrong.
    is_left_over = fact.kind is Kind.REMNANT and request.made_units > 0
    if late and not is_left_over:
        draft = came_late(draft, world.requests[request.id], seen.provider_id, now)
    held = evolve(world.requests[request.id], instances=(*world.requests[request.id].instances, id))
    draft = draft.put(FactKind.REQUEST, held.id, evolve(held, late=held.late or late))
    return want_plan(draft)


def _born(request: RequestFact, id: str, seen: SeenInstance, now: Moment) -> InstanceFact:
    terms = _terms_of(request, seen)
    stated = instance_life.step(InstanceState.BOOTING, instance_life.said(seen.state))
    fact = InstanceFact(
        id=id,
        provider=request.provider,
        provider_id=seen.provider_id,
        kind=seen.kind,
        template=seen.template or request.template,
        token=request.token,
        request=request.id,
        units=seen.units,
        units_made=seen.units,
        consumer=request.consumer,
        shares=request.shares,
        terms=terms,
        requested_at=request.sent_at if request.sent_at is not None else request.planned_at,
        made_at=seen.made_at if seen.made_at is not None else now.at,
        state=stated.next if stated is not None else InstanceState.UNKNOWN,
        state_at=now.at,
        labels=terms.labels,
        size=terms.size,
        place=terms.place,
    )
    return _with_times(_with_words(fact, seen), now)


def _terms_of(request: RequestFact, seen: SeenInstance) -> Terms:
    """What outlived an instance costs something, but not what the instance did: its price is not known."""
    if seen.kind is Kind.REMNANT:
        return evolve(request.terms, price=None)
    return _without_once(request.terms) if request.instances else request.terms


def _without_once(terms: Terms) -> Terms:
    """What is charged once for each purchase is borne by its first instance alone."""
    price = terms.price
    if price is None or (price.once_nanos == 0 and price.per is not Per.PURCHASE):
        return terms
    nanos = 0 if price.per is Per.PURCHASE else price.nanos
    return evolve(terms, price=evolve(price, nanos=nanos, once_nanos=0))


def update_instance(draft: Draft, present: InstanceFact, seen: SeenInstance, now: Moment) -> Draft:
    """The draft with an instance brought up to date; nothing is written where nothing changed."""
    arc = instance_life.step(present.state, instance_life.said(seen.state))
    fact = _with_words(present, seen)
    if arc is not None and arc.next is not present.state:
        fact = evolve(fact, state=arc.next, state_at=now.at, reason=seen.reason or arc.why)
    fact = _with_times(fact, now)
    if fact == present:
        return draft
    return want_plan(draft.put(FactKind.INSTANCE, fact.id, fact))


def _with_words(fact: InstanceFact, seen: SeenInstance) -> InstanceFact:
    """What the provider says now; what it leaves out stays as last said. Delivered size counts, not promised size."""
    if fact.state is InstanceState.GONE:
        return evolve(fact, charged_nanos=_either(seen.charged_nanos, fact.charged_nanos))
    return evolve(
        fact,
        units=seen.units if seen.state != "gone" else fact.units,
        name=seen.name or fact.name,
        addresses=seen.addresses or fact.addresses,
        place=_merged(seen.place, fact.place),
        labels=seen.labels if seen.labels else fact.labels,
        size=_delivered(seen.size, fact.terms.size) if seen.size else fact.size,
        billed_from=_either(seen.billed_from, fact.billed_from),
        billed_until=_either(seen.billed_until, fact.billed_until),
        expires_at=_either(seen.expires_at, fact.expires_at),
        charged_nanos=_either(seen.charged_nanos, fact.charged_nanos),
        notice=seen.notice if seen.notice_stated else fact.notice,
    )


def _with_times(fact: InstanceFact, now: Moment) -> InstanceFact:
    if fact.state is InstanceState.RUNNING and fact.running_at is None:
        fact = evolve(fact, running_at=now.at)
    if fact.state is InstanceState.GONE and fact.gone_at is None:
        fact = evolve(fact, gone_at=now.at, drain=None)
    return fact


N = TypeVar("N")


def _either(new: N | None, old: N | None) -> N | None:
    return new if new is not None else old


def _delivered(seen: Amounts, promised: Amounts) -> Amounts:
    """The delivered size; of memory never more than what was planned with, which leaves room for the operating
    system."""
    sizes = dict(promised) | {name: amount for name, amount in seen if name != MEMORY}
    delivered_memory = dict(seen).get(MEMORY)
    if delivered_memory is not None:
        sizes[MEMORY] = min(delivered_memory, sizes.get(MEMORY, delivered_memory))
    return tuple(sorted(sizes.items()))


def _merged(new: Place | None, old: Place) -> Place:
    if new is None:
        return old
    return Place(new.region or old.region, new.zone or old.zone, new.rack or old.rack)


def sight_delay_s(world: World, provider: str) -> float:
    """How long what was made may stay unseen by a provider that answers by what it sees at the far side, not by
    records of its own: a No of such a one says nothing about what took effect shortly before.
    """
    description = world.descriptions.get(provider)
    if description is None or description.promises.token_replay == "at_most_once":
        return 0.0
    return float(description.promises.list_delay_s)


def no_is_valid(world: World, request: RequestFact, asked_boot_s: float) -> bool:
    """Whether a No asked for at this moment counts: no frame of the token is open, and the late effect of the last
    one is over."""
    seen = world.seen
    if request.token in seen.frames_open or request.armed or has_lost_memory(world, request.provider):
        return False
    process = seen.processes.get(request.provider)
    description = world.descriptions.get(request.provider)
    if process is None or description is None:
        return False
    closed = seen.frames_closed.get(request.token, process.since_boot_s)
    return asked_boot_s >= closed + description.promises.late_effect_s
