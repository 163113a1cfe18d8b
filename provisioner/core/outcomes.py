"""What comes of the frames we sent: purchases, questions about them, give-backs; an effect leaves the air only in the
commit of its outcome.

It must not know how a frame travels; a Lost one stays open until its process is proven ended.
"""

import heapq

from attrs import evolve

from provisioner.core import answers, quoting
from provisioner.core import giveback as giveback_life
from provisioner.core.copying import copied
from provisioner.core.crashes import is_parked, spaced_s
from provisioner.core.effects import EffectKey
from provisioner.core.events import (
    ItemWord,
    LateAnswer,
    Lost,
    Moment,
    NotWritten,
    Refusal,
    Report,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    ReturnWords,
)
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, Key, RequestFact, ReturnFact
from provisioner.core.giveback import ReturnState, ReturnTrigger
from provisioner.core.instance import InstanceTrigger
from provisioner.core.intake import want_plan
from provisioner.core.listing import items_left, not_found_is_gone, prove_gone
from provisioner.core.model import Problem, Promises, ReturnItem
from provisioner.core.pauses import doubled_s
from provisioner.core.policy import retry
from provisioner.core.providers import THROTTLE_FIRST_S, view_of, with_health, with_view
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.core.settings import Settings
from provisioner.core.world import Ask

ASK_FIRST_S, ASK_MOST_S = 5.0, 60.0
RETURN_ASK_FIRST_S = 1.0
"""How soon an open purchase is asked for again where the provider does not say (contract v2, poll_after_s)."""

UNWRITTEN_AGAIN_S = 1.0
"""What could not be written is written again after this: the process may be ending, and nobody has said so yet."""

_T = RequestTrigger
_UNEXPLAINED = Problem("transient", detail="nothing was made, and the provider did not say why")
DONE = ("returning", "returned")


def landed(draft: Draft, key: EffectKey) -> Draft:
    """The draft in which an effect is no longer in flight."""
    seen = draft.world.seen
    return draft.see(copied(seen, in_flight=seen.in_flight.delete(key))) if key in seen.in_flight else draft


def take_answer(draft: Draft, event: RequestAnswered, now: Moment, settings: Settings) -> Draft:
    """What came of one request frame."""
    request = draft.world.requests.get(event.request)
    if request is None:
        return draft
    is_current = (
        request.carrier is not None and request.carrier.process == event.number and event.key.n == request.frames
    )
    only = is_current and request.frames == 1 and request.state is RequestState.SENDING
    draft = _touch_waiting(draft, event.provider)
    match event.outcome:
        case Report() as report:
            draft = _close(draft, request.token, event.number, now)
            draft = answers.take_report(draft, report, now, no_is_valid=only)
            return learn(ask_at(draft, request.id, report.poll_after_s, now), request, now, settings)
        case Refusal() as refusal:
            draft = _refused(_close(draft, request.token, event.number, now), request, refusal, now, only=only)
            return _book(draft, request, (refusal.problem,), now, settings)
        case NotWritten(reason):
            draft = _unopen(draft, request.token, event.number)
            return _unwritten(draft, request, reason, now) if is_current else draft
        case Lost(reason):
            return answers.move_request(draft, request, _T.LOST, now, reason) if is_current else draft


def _close(draft: Draft, token: str, number: int, now: Moment) -> Draft:
    seen = draft.world.seen
    if seen.frames_open.get(token) != number:
        return draft
    return draft.see(
        evolve(
            seen, frames_open=seen.frames_open.delete(token), frames_closed=seen.frames_closed.set(token, now.boot_s)
        )
    )


def _unopen(draft: Draft, token: str, number: int) -> Draft:
    seen = draft.world.seen
    return (
        draft
        if seen.frames_open.get(token) != number
        else draft.see(evolve(seen, frames_open=seen.frames_open.delete(token)))
    )


def _touch_waiting(draft: Draft, provider: str) -> Draft:
    """A free slot is news to what is planned and waits for one: to as many as there may be slots, oldest first, since
    each that is looked at costs a look at all that is under way."""
    planned = (r for r in draft.world.open_requests.values() if r.state is RequestState.PLANNED)
    waiting = ((r.planned_at, r.id) for r in planned if r.provider == provider)
    description = draft.world.descriptions.get(provider)
    slots = description.promises.in_flight if description is not None else 1
    return draft.touch(*(Key(FactKind.REQUEST, id) for _, id in heapq.nsmallest(slots, waiting)))


def _refused(draft: Draft, request: RequestFact, refusal: Refusal, now: Moment, *, only: bool) -> Draft:
    """An error settles a purchase only if it proves that nothing was made and answers the only frame that carried the
    token."""
    settles = only and refusal.not_made
    said = f"{refusal.problem.error_class}: {refusal.problem.detail or refusal.problem.reason or 'no detail given'}"
    request = evolve(draft.world.requests[request.id], problems=(refusal.problem,))
    draft = draft.put(FactKind.REQUEST, request.id, request)
    draft = answers.move_request(draft, request, _T.REFUSED if settles else _T.LOST, now, said)
    return want_plan(draft, at_once=settles)


def _unwritten(draft: Draft, request: RequestFact, reason: str, now: Moment) -> Draft:
    seen = draft.world.seen
    later = evolve(seen.asks.get(request.id, Ask()), next_boot_s=now.boot_s + UNWRITTEN_AGAIN_S)
    draft = draft.see(evolve(seen, asks=seen.asks.set(request.id, later)))
    if request.state is RequestState.SENDING and request.frames == 1:
        request = evolve(request, carrier=None, frames=0, mark_epoch=None, sent_at=None)
    return answers.move_request(draft, request, _T.UNWRITTEN, now, reason).touch(Key(FactKind.REQUEST, request.id))


def learn(draft: Draft, request: RequestFact, now: Moment, settings: Settings) -> Draft:
    """What an answer with a report teaches about the offer: its problems, or that it works again."""
    after = draft.world.requests[request.id]
    problems = after.problems or _unexplained(request, after)
    if problems and after.state not in (RequestState.TAKEN, RequestState.UNKNOWN):
        return want_plan(_book(draft, request, problems, now, settings), at_once=True)
    if after.made_units > 0:
        draft = quoting.price_kept(draft, request)
        for key in (f"{request.provider}/{request.template}", f"{request.provider}/*"):
            if key in draft.world.health:
                draft = with_health(draft, key, retry.after_success(draft.world.health[key]))
    return draft


def _unexplained(before: RequestFact, after: RequestFact) -> tuple[Problem, ...]:
    """Nothing came of a purchase that the provider had, for no reason it gave: else it would be asked without a pause.

    A purchase of which nobody knew whether it ever arrived is no failure of the offer, nor one that we ended.
    """
    if before.cancel_at is not None:
        return ()
    empty = after.made_units == 0 and (
        after.state is RequestState.SHORT
        or (after.state is RequestState.NOT_MADE and before.state in (RequestState.SENDING, RequestState.TAKEN))
    )
    return (_UNEXPLAINED,) if empty else ()


def _book(draft: Draft, request: RequestFact, problems: tuple[Problem, ...], now: Moment, settings: Settings) -> Draft:
    for problem in problems:
        if problem.error_class == "throttled":
            view = view_of(draft.world, request.provider)
            until = now.boot_s + max(THROTTLE_FIRST_S, float(problem.retry_after_s or 0))
            draft = with_view(draft, request.provider, evolve(view, throttled_until_boot_s=until))
            continue
        if problem.error_class in quoting.PRICE_CLASSES:
            draft = quoting.price_refused(draft, request, problem, now)
            continue
        key = retry.scope_of(request.provider, request.template, problem)
        after = retry.after_refusal(draft.world.health.get(key), problem, settings, now, f"{key}/{request.token}")
        description = draft.world.descriptions.get(request.provider)
        if after is not None:
            draft = with_health(
                draft, key, evolve(after, seen_digest=description.digest if description is not None else "")
            )
    return draft


def take_late(draft: Draft, event: LateAnswer, now: Moment) -> Draft:
    """A late answer closes its frame and is examined for a Yes; a No in it is not valid, since it was not asked for."""
    if event.closes_frame:
        draft = _close(draft, event.report.token, event.number, now)
    return answers.take_report(draft, event.report, now, no_is_valid=False)


def take_asked(draft: Draft, event: RequestAsked, now: Moment, settings: Settings) -> Draft:
    """What came of asking for one purchase."""
    request = draft.world.requests.get(event.request)
    if request is None:
        return draft
    draft = _touch_waiting(draft, event.provider).touch(Key(FactKind.REQUEST, request.id))
    if not isinstance(event.outcome, Report):
        return ask_at(draft, request.id, None, now)
    sight_s = answers.sight_delay_s(draft.world, request.provider)
    valid = answers.no_is_valid(draft.world, request, event.asked_boot_s - sight_s)
    draft = answers.take_report(draft, event.outcome, now, no_is_valid=valid)
    return learn(ask_at(draft, request.id, event.outcome.poll_after_s, now), request, now, settings)


def ask_at(draft: Draft, record: str, after_s: float | None, now: Moment, first_s: float = ASK_FIRST_S) -> Draft:
    """The draft in which this record is asked for again after so many seconds, or after a growing pause."""
    seen = draft.world.seen
    ask = seen.asks.get(record, Ask())
    pause = float(after_s) if after_s is not None else doubled_s(first_s, ask.tries, ASK_MOST_S)
    later = evolve(ask, tries=ask.tries + 1, next_boot_s=now.boot_s + max(pause, spaced_s(ask.crashes)))
    return draft.see(evolve(seen, asks=seen.asks.set(record, later)))


# --- give-backs


def take_return_answer(draft: Draft, event: ReturnAnswered, now: Moment, settings: Settings) -> Draft:
    """What came of a return frame, or of asking for one; anything that is not proof is said again, slower."""
    giveback = draft.world.returns.get(event.return_id)
    if giveback is None or giveback.state not in giveback_life.OPEN:
        return draft
    match event.outcome:
        case ReturnWords(items, known):
            if event.asked and not known:
                return _again(draft, giveback, now, settings)
            return _take_words(draft, giveback, items, now, settings)
        case NotWritten():
            return (
                ask_at(draft.touch(Key(FactKind.RETURN, giveback.id)), giveback.id, UNWRITTEN_AGAIN_S, now)
                if event.asked
                else _again(draft, giveback, now, settings, pause_s=UNWRITTEN_AGAIN_S)
            )
        case Refusal() | Lost():
            if event.asked:
                draft = draft.touch(Key(FactKind.RETURN, giveback.id))
                return ask_at(draft, giveback.id, None, now, RETURN_ASK_FIRST_S)
            return _again(draft, giveback, now, settings)


def _take_words(
    draft: Draft, giveback: ReturnFact, words: tuple[ItemWord, ...], now: Moment, settings: Settings
) -> Draft:
    said = {w.provider_id: w for w in words}
    items = tuple(_told(i, said.get(i.provider_id)) for i in giveback.items)
    giveback = evolve(giveback, items=items)
    draft = draft.put(FactKind.RETURN, giveback.id, giveback)
    description = draft.world.descriptions.get(giveback.provider)
    promises = description.promises if description is not None else Promises()
    for item in items:
        draft = _take_item(draft, item, said.get(item.provider_id), promises, now)
    return settle_return(draft, giveback.id, now, settings, answered=True)


def _told(item: ReturnItem, word: ItemWord | None) -> ReturnItem:
    if word is None or item.state == "returned":
        return item
    return evolve(item, state=word.state, problem=word.problem)


def _take_item(draft: Draft, item: ReturnItem, word: ItemWord | None, promises: Promises, now: Moment) -> Draft:
    instance = draft.world.live.get(item.instance)
    if instance is None or word is None:
        return draft
    if item.state in DONE and instance.return_accepted_at is None:
        instance = evolve(instance, return_accepted_at=now.at)
        draft = draft.put(FactKind.INSTANCE, instance.id, instance)
    if word.units is not None and word.units != instance.units:
        instance = evolve(instance, units=word.units)
        draft = draft.put(FactKind.INSTANCE, instance.id, instance)
    proven = item.state == "returned" and promises.return_observed and item.keep == 0
    missing = item.state == "not_found" and not_found_is_gone(draft.world, instance, promises, now)
    return prove_gone(draft, instance, InstanceTrigger.RETURN_PROVEN, now) if proven or missing else draft


def settle_return(draft: Draft, return_id: str, now: Moment, settings: Settings, *, answered: bool) -> Draft:
    """The draft in which a give-back stands where its items stand: proven, under way, or to be said again."""
    giveback = draft.world.returns[return_id]
    left = items_left(draft, giveback)
    if not left:
        return _move_return(draft, giveback, ReturnTrigger.ALL_RETURNED, now)
    if not answered:
        return draft
    if all(i.state in DONE for i in left):
        draft = _move_return(draft, giveback, ReturnTrigger.TAKEN, now)
        return ask_at(draft, return_id, None, now, RETURN_ASK_FIRST_S)
    wait = max((i.problem.retry_after_s or 0 for i in left if i.problem is not None), default=0)
    return _again(draft, giveback, now, settings, least_s=float(wait))


def _again(
    draft: Draft,
    giveback: ReturnFact,
    now: Moment,
    settings: Settings,
    *,
    pause_s: float | None = None,
    least_s: float = 0.0,
) -> Draft:
    retrying = settings.return_retry
    pause = doubled_s(retrying.first_s, giveback.tries, retrying.most_s) if pause_s is None else pause_s
    if is_parked(giveback):
        pause = max(pause, retrying.most_s)
    tries = giveback.tries + 1 if pause_s is None else giveback.tries
    slower = evolve(giveback, frames=giveback.frames + 1, tries=tries, after_at=now.at + max(pause, least_s))
    return _move_return(draft, slower, ReturnTrigger.AGAIN, now)


def _move_return(draft: Draft, giveback: ReturnFact, trigger: ReturnTrigger, now: Moment) -> Draft:
    arc = giveback_life.step(giveback.state, trigger)
    if arc is None:
        return draft
    state_at = now.at if arc.next is not giveback.state else giveback.state_at
    moved = evolve(giveback, state=arc.next, state_at=state_at)
    if arc.next is ReturnState.RETURNED:
        moved = evolve(moved, settled_at=now.at)
        draft = want_plan(draft)
    return draft.put(FactKind.RETURN, moved.id, moved)
