"""What the owner of a provider does with a record that was touched or whose time has come: the steps that need no
news from outside.

It moves purchases into the hands of a process, closes what a dead process carried, honours wishes, and ends drains
that work has ended.
It must not decide what to buy or what to give back.
"""

from collections.abc import Iterator

from attrs import evolve

from provisioner.core import answers, cancelling, extending, forgetting, outcomes
from provisioner.core import giveback as giveback_life
from provisioner.core import process as process_life
from provisioner.core import request as request_life
from provisioner.core.crashes import is_one_alone, is_parked, is_suspect
from provisioner.core.entries import entry_of
from provisioner.core.events import Moment
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, InstanceFact, Key, RequestFact, ReturnFact, WishFact, WishKind
from provisioner.core.giveback import ReturnState, ReturnTrigger
from provisioner.core.instance import InstanceState, InstanceTrigger
from provisioner.core.instance import step as instance_step
from provisioner.core.intake import want_plan
from provisioner.core.model import Carrier, DrainKind, EntryState
from provisioner.core.pauses import doubled_s
from provisioner.core.process import ProcessState, ProcessTrigger
from provisioner.core.providers import epoch_of, view_of, with_view
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.core.restarts import ALIVE, left_alone_until_boot_s
from provisioner.core.settings import Settings
from provisioner.core.standing_orders import is_paused, pause_id, pause_of, pause_text
from provisioner.core.steadiness import proven_age_s
from provisioner.core.trust import ENDS_BY_ITSELF, has_lost_memory
from provisioner.core.world import Ask, ListView, ProcessView, World

TRUSTED_TOKENS = frozenset({"exact", "at_most_once"})
BOOT_ASK_FIRST_S, BOOT_ASK_MOST_S = 2.0, 60.0

_T = RequestTrigger


def advance(draft: Draft, key: Key, now: Moment, settings: Settings) -> Draft:
    """The draft after the steps this record can take by itself now."""
    world = draft.world
    match key.kind:
        case FactKind.REQUEST if key.id in world.open_requests:
            return _request(draft, world.open_requests[key.id], now, settings)
        case FactKind.RETURN if key.id in world.open_returns:
            return _return(draft, world.open_returns[key.id], now, settings)
        case FactKind.INSTANCE if key.id in world.live:
            return _instance(draft, world.live[key.id], now, settings)
        case FactKind.WISH if key.id in world.wishes:
            return _wish(draft, key.id, now)
        case FactKind.PROCESS:
            return _process(draft, key.id, now)
        case _:
            return draft


# --- purchases


def _request(draft: Draft, request: RequestFact, now: Moment, settings: Settings) -> Draft:
    match request.state:
        case RequestState.PLANNED:
            return _planned(draft, request, now, settings)
        case RequestState.SENDING:
            return _sending(draft, request, now)
        case RequestState.UNKNOWN:
            return _unknown(cancelling.past_deadline(draft, request, now), request.id, now)
        case RequestState.TAKEN:
            return cancelling.past_deadline(draft, request, now)
        case _:
            return draft


def _sending(draft: Draft, request: RequestFact, now: Moment) -> Draft:
    if not _is_carried(draft.world, request):
        return answers.move_request(draft, request, _T.CARRIER_GONE, now)
    never_begun = request.armed and request.token not in draft.world.seen.frames_open
    if never_begun and is_paused(draft.world, request.provider, now):
        unbound = evolve(request, carrier=None, frames=0, mark_epoch=None, sent_at=None)
        return answers.move_request(draft, unbound, _T.UNWRITTEN, now)
    return draft


def _planned(draft: Draft, request: RequestFact, now: Moment, settings: Settings) -> Draft:
    if now.at >= request.send_by:
        return answers.move_request(draft, request, _T.TOO_LATE, now)
    pause = pause_of(draft.world, request.provider, now)
    if pause is not None:
        why = f"never sent: its provider is paused by an operator {pause_text(pause)}"
        return answers.move_request(draft, request, _T.UNWANTED, now, why)
    if now.boot_s < waits_until_boot_s(draft.world, request) or not may_buy(
        draft.world, request.provider, now, settings
    ):
        return draft
    carrier = Carrier(epoch_of(draft.world, request.provider), view_of(draft.world, request.provider).number)
    bound = evolve(request, carrier=carrier, frames=1, armed=True, mark_epoch=carrier.epoch, sent_at=now.at)
    return answers.move_request(draft, bound, _T.CARRIER_READY, now)


def waits_until_boot_s(world: World, request: RequestFact) -> float:
    """Until when a planned purchase waits because its frame could not be written, by the boot clock; 0 if it need
    not."""
    return world.seen.asks.get(request.id, Ask()).next_boot_s


def may_buy(world: World, provider: str, now: Moment, settings: Settings) -> bool:
    """Whether a purchase may be handed to the provider's process now: ready, asked first for what was open, a slot
    free."""
    view = view_of(world, provider)
    if view.state not in ALIVE or view.auth_failed or now.boot_s < view.throttled_until_boot_s:
        return False
    if has_lost_memory(world, provider):
        return False
    if is_paused(world, provider, now) or is_suspect(world.seen.lists.get(provider, ListView()).crashes):
        return False
    # What looks at all that is under way comes last: thousands may be, and each that waits for a slot asks this.
    if not _has_slot(world, provider, settings) or is_one_alone(world, provider, now):
        return False
    return _first_answers_are_in(world, provider)


def _has_slot(world: World, provider: str, settings: Settings) -> bool:
    description = world.descriptions.get(provider)
    if description is None:
        return False
    if description.promises.token_replay not in TRUSTED_TOKENS:
        return not any(r.provider == provider for r in world.under_way.values())
    sending = sum(1 for r in world.armed.values() if r.provider == provider)
    return sending < min(description.promises.in_flight, settings.providers[provider].limits.calls)


def _first_answers_are_in(world: World, provider: str) -> bool:
    """After a start nothing is bought before what was open has been asked for once and the list was begun (contract
    v2 §9, restart)."""
    begun = world.seen.lists.get(provider)
    listing = any(k.provider == provider and k.effect == "read_list" for k in world.seen.in_flight)
    if not listing and (begun is None or begun.next_boot_s == 0.0):
        return False
    return all(
        world.seen.asks.get(r.id, Ask()).tries > 0 or r.armed
        for r in world.under_way.values()
        if r.provider == provider and r.state in request_life.ASKED
    )


def _is_carried(world: World, request: RequestFact) -> bool:
    view = view_of(world, request.provider)
    mine = Carrier(epoch_of(world, request.provider), view.number)
    return request.carrier == mine and view.state in (*ALIVE, ProcessState.STOPPING)


def _unknown(draft: Draft, id: str, now: Moment) -> Draft:
    request = draft.world.requests[id]
    if request.armed and not _is_carried(draft.world, request):
        return answers.move_request(draft, request, _T.CARRIER_GONE, now)
    if request.armed:
        return draft
    ends_s = _promise_ends_s(draft.world, request)
    if ends_s is not None and _last_frame_age_s(draft.world, request, now) > ends_s:
        why = f"nothing under this token was seen for {ends_s} s: {ENDS_BY_ITSELF}"
        return answers.move_request(draft, request, answers.no_to_the_rest(request), now, why)
    if not may_resend(draft.world, request, now):
        return draft
    carrier = Carrier(epoch_of(draft.world, request.provider), view_of(draft.world, request.provider).number)
    seen = draft.world.seen
    if request.id in seen.absent_since:
        draft = draft.see(evolve(seen, absent_since=seen.absent_since.delete(request.id)))
    again = evolve(request, carrier=carrier, frames=request.frames + 1)
    draft = answers.move_request(draft, again, _T.RESEND, now)
    return draft.put(FactKind.REQUEST, again.id, evolve(draft.world.requests[again.id], armed=True))


def _promise_ends_s(world: World, request: RequestFact) -> int | None:
    description = world.descriptions.get(request.provider)
    return description.promises.unknown_ends_s if description is not None else None


def _last_frame_age_s(world: World, request: RequestFact, now: Moment) -> float:
    """The least time (seconds) since anything could last begin under this token; 0 while a frame of it is open.

    Frames of an earlier daemon were all begun before `send_by`; the wall clock is believed for what is older than this
    start, unless it has jumped since.
    """
    if request.sent_at is None or request.token in world.seen.frames_open:
        return 0.0
    description = world.descriptions.get(request.provider)
    late_s = description.promises.late_effect_s if description is not None else 0
    closed_boot_s = world.seen.frames_closed.get(request.token)
    if closed_boot_s is not None:
        return now.boot_s - closed_boot_s - late_s
    is_dated = request.id not in world.seen.undated
    last_at = max(request.sent_at, request.send_by)
    return (now.at - last_at if is_dated else proven_age_s(world, last_at, now)) - late_s


def may_resend(world: World, request: RequestFact, now: Moment) -> bool:
    """Whether an unknown purchase may be said again, byte for byte: token trusted and alive, asked first, wanted, in
    time, no frame open."""
    description = world.descriptions.get(request.provider)
    view = view_of(world, request.provider)
    if description is None or view.state not in ALIVE or view.auth_failed or now.boot_s < view.throttled_until_boot_s:
        return False
    if is_paused(world, request.provider, now) or has_lost_memory(world, request.provider):
        return False
    promises = description.promises
    if promises.token_replay not in TRUSTED_TOKENS or request.token in world.seen.frames_open:
        return False
    if request.cancel_at is not None or is_parked(request):
        return False
    alive = request.sent_at is not None and request.sent_at <= now.at < request.sent_at + promises.token_lifetime_s
    in_time = alive and request.id not in world.seen.undated and now.at < request.send_by
    ask = world.seen.asks.get(request.id, Ask())
    # Said once more it goes at once; after that each time is as far from the last as questions are.
    paced = ask.tries > 0 and (request.frames == 1 or now.boot_s >= ask.next_boot_s)
    return in_time and paced and _is_wanted(world, request)


def _is_wanted(world: World, request: RequestFact) -> bool:
    """Whether a line it was bought for still stands."""
    for share in request.shares:
        demand = world.demands.get(share.source)
        if demand is not None and any(line.id == share.line for line in demand.lines):
            return True
    return False


# --- give-backs, instances, wishes


def _return(draft: Draft, giveback: ReturnFact, now: Moment, settings: Settings) -> Draft:
    draft = outcomes.settle_return(draft, giveback.id, now, settings, answered=False)
    if giveback.id not in draft.world.open_returns:
        return draft
    view = view_of(draft.world, giveback.provider)
    if view.state is ProcessState.QUARANTINED:
        return draft.touch(Key(FactKind.PROCESS, giveback.provider))
    if view.state not in ALIVE:
        return draft
    carrier = Carrier(epoch_of(draft.world, giveback.provider), view.number)
    if giveback.state is ReturnState.PLANNED:
        if any(extending.holds_back(draft.world, i) for i in _things(draft.world, giveback)):
            return draft
        return _send_return(draft, giveback, carrier, now)
    if giveback.state is ReturnState.SENDING and giveback.carrier != carrier:
        return draft.put(FactKind.RETURN, giveback.id, evolve(giveback, carrier=carrier, frames=giveback.frames + 1))
    return draft


def _things(world: World, giveback: ReturnFact) -> Iterator[InstanceFact]:
    return (world.live[item.instance] for item in giveback.items if item.instance in world.live)


def _send_return(draft: Draft, giveback: ReturnFact, carrier: Carrier, now: Moment) -> Draft:
    """From the sending on, an instance given back whole never serves again."""
    arc = giveback_life.step(giveback.state, ReturnTrigger.CARRIER_READY)
    if arc is None:
        return draft
    sent = evolve(giveback, state=arc.next, state_at=now.at, carrier=carrier, frames=1)
    draft = draft.put(FactKind.RETURN, sent.id, sent)
    for item in sent.items:
        instance = draft.world.live.get(item.instance)
        step = (
            instance_step(instance.state, InstanceTrigger.RETURN_SENT)
            if instance is not None and item.keep == 0
            else None
        )
        if instance is not None and step is not None:
            draft = draft.put(
                FactKind.INSTANCE, instance.id, evolve(instance, state=step.next, state_at=now.at, reason=sent.why)
            )
    return draft


def _instance(draft: Draft, instance: InstanceFact, now: Moment, settings: Settings) -> Draft:
    draft = extending.looked(_end_ask_drain(draft, instance), instance, now, settings)
    due_boot_s = boot_read_at(draft.world, instance, now)
    if due_boot_s is None or now.boot_s < due_boot_s:
        return draft
    seen = draft.world.seen
    tries = seen.asks.get(instance.id, Ask()).tries
    pause = doubled_s(BOOT_ASK_FIRST_S, tries, BOOT_ASK_MOST_S)
    wanted = seen.wanted.get(instance.provider, frozenset()) | {instance.provider_id}
    asks = seen.asks.set(instance.id, Ask(tries + 1, now.boot_s + pause))
    draft = draft.see(evolve(seen, wanted=seen.wanted.set(instance.provider, wanted), asks=asks))
    return draft.touch(Key(FactKind.PROCESS, instance.provider))


def boot_read_at(world: World, instance: InstanceFact, now: Moment) -> float | None:
    """When a booting instance is read next, by the boot clock: first when it typically runs, then at growing pauses;
    None if it need not."""
    if instance.state not in (InstanceState.BOOTING, InstanceState.UNKNOWN):
        return None
    ask = world.seen.asks.get(instance.id)
    if ask is not None:
        return ask.next_boot_s
    return now.boot_s + instance.made_at + max(1, instance.terms.lead_typical_s) - now.at


def _end_ask_drain(draft: Draft, instance: InstanceFact) -> Draft:
    """Work ends a drain that only asked."""
    if instance.drain is None or instance.drain.kind is not DrainKind.ASK or instance.return_id is not None:
        return draft
    entry = entry_of(draft.world, instance)
    if entry is None or entry.state is not EntryState.BUSY:
        return draft
    return want_plan(draft.put(FactKind.INSTANCE, instance.id, evolve(instance, drain=None)))


def _wish(draft: Draft, id: str, now: Moment) -> Draft:
    """A wish is deleted in the commit that honours it, also where there is nothing left to do."""
    wish = draft.world.wishes[id]
    draft = draft.put(FactKind.WISH, id, None)
    instance = draft.world.live.get(wish.target)
    if instance is not None and instance.return_id is not None:
        instance = None
    match wish.kind:
        case WishKind.CANCEL:
            request = draft.world.open_requests.get(wish.target)
            return draft if request is None else cancelling.with_cancel(draft, request, wish.reason.sentence(), now)
        case WishKind.DRAIN:
            return draft if instance is None else _drain(draft, instance, wish)
        case WishKind.REOPEN:
            return draft if instance is None else _reopen(draft, instance, wish, now)


def _drain(draft: Draft, instance: InstanceFact, wish: WishFact) -> Draft:
    is_weaker = instance.drain is not None and instance.drain.kind is DrainKind.FIRM
    drained = instance if is_weaker else evolve(instance, drain=wish.drain)
    return draft.put(FactKind.INSTANCE, instance.id, drained)


def _reopen(draft: Draft, instance: InstanceFact, wish: WishFact, now: Moment) -> Draft:
    opened = evolve(instance, drain=None, reopened_at=now.at, reopened_why=wish.reason.why.value)
    return draft.put(FactKind.INSTANCE, instance.id, opened)


def _pause_over(draft: Draft, provider: str, now: Moment) -> Draft:
    """An operator's pause whose time is over is forgotten."""
    id = pause_id(provider)
    fact = draft.world.overrides.get(id)
    return draft if fact is None or now.at < fact.until_at else want_plan(draft.put(FactKind.OVERRIDE, id, None))


def _process(draft: Draft, provider: str, now: Moment) -> Draft:
    """A pause that is over ends; what it waited for is owed again."""
    draft = _pause_over(draft, provider, now)
    view = draft.world.seen.processes.get(provider, ProcessView())
    if view.state in ALIVE:
        return forgetting.looked(draft, provider, now)
    waiting = view.state in (ProcessState.BACKING_OFF, ProcessState.QUARANTINED)
    if not waiting or now.boot_s < left_alone_until_boot_s(draft.world, provider):
        return draft
    arc = process_life.step(view.state, ProcessTrigger.WAITED)
    crashes = () if view.state is ProcessState.QUARANTINED else view.crashes_boot_s
    if arc is None:
        return draft
    return with_view(draft, provider, evolve(view, state=arc.next, since_boot_s=now.boot_s, crashes_boot_s=crashes))
