"""What was open when a provider's process ended by itself: remembered, counted, and what follows for each frame.

A purchase or give-back whose frame was open at two such ends is parked (contract v2, §9 restart): a purchase is asked
about and never sent again, a give-back is said again at the slowest pace, when nothing else that changes something is
in flight. A question that was open at two of them is spaced out and asked alone, so that one record can't take others
with it. Ends that were ordered count for nothing.
"""

from attrs import evolve

from provisioner.core.copying import copied
from provisioner.core.effects import EffectKey
from provisioner.core.events import (
    CallEvent,
    Described,
    ForgetAnswered,
    LateAnswer,
    Listed,
    Lost,
    Moment,
    NotWritten,
    PurchaseEvent,
    ReadEvent,
    ReturnAnswered,
)
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, RequestFact, ReturnFact
from provisioner.core.giveback import ReturnState
from provisioner.core.ids import cancel_ask_id
from provisioner.core.intake import want_plan
from provisioner.core.pauses import doubled_s
from provisioner.core.world import Ask, End, ListView, ProcessView, World

PARKED_AFTER = 2
SPACED_FIRST_S, SPACED_MOST_S = 120.0, 600.0
"""So far apart that a question alone never ends a process often enough for quarantine."""

OPEN_KEPT = 20
ENDS_KEPT = 5

_METHODS = {
    "send_request": "request",
    "ask_request": "request_status",
    "cancel_request": "cancel",
    "send_return": "return",
    "ask_return": "return_status",
    "read_list": "list",
    "read_some": "list",
    "read_description": "describe",
    "forget": "forget",
    "ask_quote": "quote",
    "extend_instances": "extend",
}
_CHANGING = frozenset({"send_request", "send_return"})


def noted(draft: Draft, event: PurchaseEvent | CallEvent | ReadEvent) -> Draft:
    """The draft in which what this outcome says of the process's end, or of its life, is counted for its frame."""
    if isinstance(event, LateAnswer):
        return draft
    if isinstance(event, ReturnAnswered) and _was_alone(draft.world, event.key):
        draft = draft.touch_provider(event.provider)
    if isinstance(event, Listed | Described):
        return _bought_again(_answered(draft, event.key), draft.world, event)
    outcome = event.refusal if isinstance(event, ForgetAnswered) else event.outcome
    if isinstance(outcome, Lost):
        return _lost(draft, event.key, event.number) if outcome.at_crash else draft
    return draft if isinstance(outcome, NotWritten) else _answered(draft, event.key)


def _bought_again(draft: Draft, before: World, event: Listed | Described) -> Draft:
    """A list that can be read again is news to whatever was not bought because of it."""
    was = before.seen.lists.get(event.provider, ListView()).crashes
    is_now = draft.world.seen.lists.get(event.provider, ListView()).crashes
    return want_plan(draft.touch_provider(event.provider)) if is_suspect(was) and not is_suspect(is_now) else draft


def is_parked(record: RequestFact | ReturnFact) -> bool:
    """Whether its frame was open at so many ends that it is left alone, or nearly."""
    return record.crashes >= PARKED_AFTER


def is_suspect(crashes: int) -> bool:
    """Whether a question was open at so many ends that it is spaced out and asked alone."""
    return crashes >= PARKED_AFTER


def spaced_s(crashes: int) -> float:
    """How long a question waits that was open at so many ends in a row; 0 if it is not suspect."""
    return doubled_s(SPACED_FIRST_S, crashes - PARKED_AFTER, SPACED_MOST_S) if is_suspect(crashes) else 0.0


def parked_records(world: World, provider: str) -> tuple[str, ...]:
    """Purchases and give-backs of a provider that are parked, by id."""
    found = [r.id for r in world.open_requests.values() if r.provider == provider and is_parked(r)]
    found += [r.id for r in world.open_returns.values() if r.provider == provider and is_parked(r)]
    return tuple(sorted(found))


def must_wait_alone(world: World, giveback: ReturnFact) -> bool:
    """Whether a parked give-back waits, since something else that changes something is in flight."""
    return is_parked(giveback) and any(
        k.provider == giveback.provider and k.effect in _CHANGING and k.record != giveback.id
        for k in world.seen.in_flight
    )


def is_one_alone(world: World, provider: str, now: Moment) -> bool:
    """Whether a parked give-back is in flight, beside which nothing is bought, or has only to wait until nothing is:
    while one purchase followed upon the other its turn would never come."""
    if any(k.provider == provider and _was_alone(world, k) for k in world.seen.in_flight):
        return True
    return any(r.provider == provider and is_parked(r) and _is_due(r, now) for r in world.open_returns.values())


def _is_due(giveback: ReturnFact, now: Moment) -> bool:
    return giveback.state is ReturnState.SENDING and now.at >= giveback.after_at


def _was_alone(world: World, key: EffectKey) -> bool:
    giveback = world.open_returns.get(key.record) if key.effect == "send_return" else None
    return giveback is not None and is_parked(giveback)


def with_end(view: ProcessView, reason: str, last_words: str, now: Moment) -> ProcessView:
    """The view with one more end on record, and with what was open then."""
    end = End(now.boot_s, reason, view.lost, view.lost_count, last_words)
    return evolve(view, ends=(*view.ends, end)[-ENDS_KEPT:], lost=(), lost_count=0)


def released(draft: Draft, provider: str, now: Moment) -> tuple[Draft, tuple[str, ...]]:
    """The draft in which nothing of a provider is parked or spaced out any more, and which records were."""
    parked = parked_records(draft.world, provider)
    for request in tuple(draft.world.open_requests.values()):
        if request.provider == provider and request.crashes:
            draft = draft.put(FactKind.REQUEST, request.id, evolve(request, crashes=0))
    for giveback in tuple(draft.world.open_returns.values()):
        if giveback.provider == provider and giveback.crashes:
            draft = draft.put(FactKind.RETURN, giveback.id, evolve(giveback, crashes=0, after_at=now.at))
    seen = draft.world.seen
    open_ = (*draft.world.open_requests.values(), *draft.world.open_returns.values())
    mine = {id for r in open_ if r.provider == provider for id in (r.id, cancel_ask_id(r.id))}
    asks = seen.asks.mutate()
    for id, ask in seen.asks.items():
        if ask.crashes and id in mine:
            asks[id] = evolve(ask, crashes=0, next_boot_s=now.boot_s)
    lists = evolve(seen.lists.get(provider, ListView()), crashes=0, named_crashes=0)
    view = evolve(seen.processes.get(provider, ProcessView()), describe_crashes=0, ends=(), lost=(), lost_count=0)
    seen = evolve(
        seen,
        asks=asks.finish(),
        lists=seen.lists.set(provider, lists) if provider in seen.lists else seen.lists,
        processes=seen.processes.set(provider, view) if provider in seen.processes else seen.processes,
    )
    return draft.see(seen), parked


# --- counting


def _lost(draft: Draft, key: EffectKey, number: int) -> Draft:
    draft = _remembered(draft, key, number)
    world = draft.world
    if key.effect == "send_request" and key.record in world.open_requests:
        request = world.open_requests[key.record]
        return draft.put(FactKind.REQUEST, request.id, evolve(request, crashes=request.crashes + 1))
    if key.effect == "send_return" and key.record in world.open_returns:
        giveback = world.open_returns[key.record]
        return draft.put(FactKind.RETURN, giveback.id, evolve(giveback, crashes=giveback.crashes + 1))
    return _with_question(draft, key, by=1)


def _answered(draft: Draft, key: EffectKey) -> Draft:
    world = draft.world
    request, giveback = world.open_requests.get(key.record), world.open_returns.get(key.record)
    if key.effect == "send_request" and request is not None and request.crashes:
        return draft.put(FactKind.REQUEST, request.id, evolve(request, crashes=0))
    if key.effect == "send_return" and giveback is not None and giveback.crashes:
        return draft.put(FactKind.RETURN, giveback.id, evolve(giveback, crashes=0))
    return _with_question(draft, key, by=0)


def _with_question(draft: Draft, key: EffectKey, *, by: int) -> Draft:
    """One end more for a question, or none at all (`by` 0): it was answered."""
    seen = draft.world.seen
    match key.effect:
        case "ask_request" | "ask_return" | "cancel_request":
            id = cancel_ask_id(key.record) if key.effect == "cancel_request" else key.record
            ask = seen.asks.get(id, Ask())
            if by == 0 and ask.crashes == 0:
                return draft
            return draft.see(evolve(seen, asks=seen.asks.set(id, evolve(ask, crashes=_counted(ask.crashes, by)))))
        case "read_list":
            lists = seen.lists.get(key.provider, ListView())
            if by == 0 and lists.crashes == 0:
                return draft
            lists = evolve(lists, crashes=_counted(lists.crashes, by))
            return draft.see(copied(seen, lists=seen.lists.set(key.provider, lists)))
        case "read_some":
            lists = seen.lists.get(key.provider, ListView())
            if by == 0 and lists.named_crashes == 0:
                return draft
            lists = evolve(lists, named_crashes=_counted(lists.named_crashes, by))
            return draft.see(copied(seen, lists=seen.lists.set(key.provider, lists)))
        case "read_description":
            view = seen.processes.get(key.provider, ProcessView())
            if by == 0 and view.describe_crashes == 0:
                return draft
            view = copied(view, describe_crashes=_counted(view.describe_crashes, by))
            return draft.see(copied(seen, processes=seen.processes.set(key.provider, view)))
        case _:
            return draft


def _counted(crashes: int, by: int) -> int:
    return crashes + by if by else 0


def _remembered(draft: Draft, key: EffectKey, number: int) -> Draft:
    """What was open belongs to the end that is coming, or to the one just recorded."""
    seen = draft.world.seen
    view = seen.processes.get(key.provider, ProcessView())
    if view.number != number:
        return draft
    method = _METHODS.get(key.effect, key.effect)
    frame = method if key.record == key.provider else f"{method} {key.record}"
    if view.is_running:
        view = evolve(view, lost=(*view.lost, frame)[:OPEN_KEPT], lost_count=view.lost_count + 1)
    elif view.ends:
        last = view.ends[-1]
        last = evolve(last, open=(*last.open, frame)[:OPEN_KEPT], open_count=last.open_count + 1)
        view = evolve(view, ends=(*view.ends[:-1], last))
    return draft.see(evolve(seen, processes=seen.processes.set(key.provider, view)))
