"""What a provider's list comes to: things are brought up to date or adopted by token, and complete lists prove
absence, two of them a No.

A thing whose token no fact holds is a stranger: counted and shown, never touched.
"""

from collections.abc import Iterable

from attrs import evolve
from immutables import Map

from provisioner.core import answers
from provisioner.core.copying import copied
from provisioner.core.crashes import is_suspect
from provisioner.core.events import Listed, ListedPage, Moment, SeenInstance, ShownByPages
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, InstanceFact, Key, RequestFact, ReturnFact
from provisioner.core.instance import InstanceState, InstanceTrigger
from provisioner.core.instance import step as instance_step
from provisioner.core.intake import want_plan
from provisioner.core.model import Promises, ReturnItem
from provisioner.core.providers import is_present, view_of, with_view
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.core.settings import Settings
from provisioner.core.steadiness import proven_age_s
from provisioner.core.trust import ABSENT_TWICE, came_back, has_lost_memory
from provisioner.core.world import ListView, World

STRANGERS_KEPT = 100
PROBLEMS_KEPT, PLACES_KEPT = 20, 100


def take_listed(draft: Draft, event: Listed, now: Moment, settings: Settings) -> Draft:
    """The draft with one pass over the list, or over named instances, taken in."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    strangers, draft = _take_all(draft, event, now)
    if event.named:
        return _named_read(draft, event, now)
    if event.earlier is not None:
        strangers = (*draft.world.seen.lists.get(event.provider, ListView()).on_the_way, *strangers)
    draft = _remember(_let_in(draft, event), event, strangers[:STRANGERS_KEPT], now, settings)
    return _prove_absence(draft, event, now) if event.complete else draft


def take_page(draft: Draft, event: ListedPage, now: Moment) -> Draft:
    """The draft with one page of a long list taken in; nothing is absent before the last one is."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    strangers, draft = _take_all(draft, event, now)
    seen = draft.world.seen
    view = seen.lists.get(event.provider, ListView())
    before = () if event.is_first else view.on_the_way
    view = evolve(view, on_the_way=(*before, *strangers)[:STRANGERS_KEPT])
    return draft.see(evolve(seen, lists=seen.lists.set(event.provider, view)))


def _take_all(draft: Draft, event: Listed | ListedPage, now: Moment) -> tuple[tuple[str, ...], Draft]:
    """(ids of the first of them that no fact knows, the draft with all of them taken in)."""
    strangers: list[str] = []
    for seen in event.instances:
        known, draft = _take(draft, event, seen, now)
        if not known and seen.state != "gone" and len(strangers) < STRANGERS_KEPT:
            strangers.append(seen.provider_id)
    return tuple(strangers), draft


def _take(draft: Draft, event: Listed | ListedPage, seen: SeenInstance, now: Moment) -> tuple[bool, Draft]:
    world = draft.world
    id = world.by_provider_id.get((event.provider, seen.provider_id))
    token = seen.mark.token if seen.mark is not None else None
    if id is not None and not _is_another(world.instances[id], token, seen):
        is_back = _is_back(world, world.instances[id], seen, event, now)
        draft = _doubted(draft, world.instances[id], now) if is_back else draft
        return not is_back, answers.update_instance(draft, world.instances[id], seen, now)
    request_id = world.by_token.get(token) if token is not None else None
    request = world.requests.get(request_id) if request_id is not None else None
    if request is None or request.provider != event.provider:
        return False, draft
    return True, _adopt(draft, request, seen, now)


def _is_another(present: InstanceFact, token: str | None, seen: SeenInstance) -> bool:
    """Whether a thing bears the id of one that is gone, and another token: ids should not be used twice (IN-1)."""
    return present.state is InstanceState.GONE and token not in (None, present.token) and seen.state != "gone"


def _is_back(world: World, present: InstanceFact, seen: SeenInstance, event: Listed | ListedPage, now: Moment) -> bool:
    """Whether what was proven gone is listed all the same, in a list too young to show the past: then it costs money
    and no living fact owns it."""
    if present.state is not InstanceState.GONE or present.gone_at is None or seen.state == "gone":
        return False
    description = world.descriptions.get(event.provider)
    promises = description.promises if description is not None else Promises()
    read_s_ago = now.boot_s - event.begun_boot_s + event.age_s
    return now.at - present.gone_at - read_s_ago > promises.list_delay_s


def _doubted(draft: Draft, present: InstanceFact, now: Moment) -> Draft:
    """Whoever said that it was gone was wrong."""
    giveback = draft.world.returns.get(present.return_id) if present.return_id is not None else None
    items = giveback.items if giveback is not None else ()
    state = next((i.state for i in items if i.instance == present.id), None)
    return came_back(draft, present.provider, present.provider_id, state, now)


def _adopt(draft: Draft, request: RequestFact, seen: SeenInstance, now: Moment) -> Draft:
    """A Yes counts from any source, in any state."""
    draft = answers.take_instance(draft, request, seen, now)
    known = draft.world.requests[request.id]
    if known.instances != request.instances:
        # What turns up only now may not be the last: earlier lists without it prove nothing about the rest.
        draft = draft.see(evolve(draft.world.seen, absent_since=_without(draft, request.id)))
    made = answers.shown_units(draft.world, known) + known.gone_units
    known = evolve(known, made_units=made)
    draft = draft.put(FactKind.REQUEST, known.id, known)
    trigger = RequestTrigger.MADE_ALL if made >= known.units else RequestTrigger.YES
    return answers.move_request(draft, known, trigger, now)


def _named_read(draft: Draft, event: Listed, now: Moment) -> Draft:
    seen = draft.world.seen
    wanted = seen.wanted.get(event.provider, frozenset()) - frozenset(event.named)
    draft = draft.see(evolve(seen, wanted=seen.wanted.set(event.provider, wanted)))
    promises = _promises(draft, event.provider)
    for ref in event.not_found:
        id = draft.world.by_provider_id.get((event.provider, ref))
        instance = draft.world.live.get(id) if id is not None else None
        if instance is not None and not_found_is_gone(draft.world, instance, promises, now):
            draft = prove_gone(draft, instance, InstanceTrigger.SAID_GONE, now)
    return draft.touch(Key(FactKind.PROCESS, event.provider))


def not_found_is_gone(world: World, instance: InstanceFact, promises: Promises, now: Moment) -> bool:
    """Whether the provider's promise makes "not found" a proof for a thing of this age."""
    after = promises.not_found_gone_after_s
    if has_lost_memory(world, instance.provider):
        return False
    return after is not None and proven_age_s(world, instance.made_at, now) > after


def _let_in(draft: Draft, event: Listed) -> Draft:
    """A list read to its end is proof that the credentials are taken again."""
    view = view_of(draft.world, event.provider)
    if not event.complete or not view.auth_failed:
        return draft
    draft = with_view(draft, event.provider, evolve(view, auth_failed=False, problem=None))
    return want_plan(draft.touch_provider(event.provider))


def _remember(draft: Draft, event: Listed, strangers: tuple[str, ...], now: Moment, settings: Settings) -> Draft:
    seen = draft.world.seen
    before = seen.lists.get(event.provider, ListView())
    view = ListView(
        complete_begun_boot_s=event.begun_boot_s if event.complete else before.complete_begun_boot_s,
        next_boot_s=now.boot_s + settings.list_every_s,
        passes=before.passes + 1,
        strangers=strangers,
        is_complete=event.complete,
        problems=event.problems[:PROBLEMS_KEPT],
        missing=event.missing[:PLACES_KEPT],
        named_crashes=before.named_crashes,
    )
    wanted = seen.wanted
    if is_suspect(before.named_crashes) and event.provider in wanted:
        wanted = wanted.delete(event.provider)  # nothing is read by name any more: this list is all there is
    draft = draft.see(copied(seen, lists=seen.lists.set(event.provider, view), wanted=wanted))
    return draft.touch(Key(FactKind.PROCESS, event.provider))


def _prove_absence(draft: Draft, event: Listed, now: Moment) -> Draft:
    if has_lost_memory(draft.world, event.provider):
        return draft
    promises = _promises(draft, event.provider)
    read_at = event.begun_boot_s - event.age_s
    shown = _whole_pass(event)
    if promises.list_covers == "far_side" and _can_be_told_apart(draft, event.provider, shown, promises):
        for request in tuple(draft.world.open_requests.values()):
            if request.provider == event.provider and request.state is RequestState.UNKNOWN:
                draft = _weigh_no(draft, request, shown.tokens, read_at, promises, now)
    for giveback in tuple(draft.world.open_returns.values()):
        if giveback.provider == event.provider:
            draft = _confirm_returned(draft, giveback, shown.ids, read_at, promises, now)
    return draft


def _whole_pass(event: Listed) -> ShownByPages:
    """What the whole pass has shown."""
    earlier = event.earlier or ShownByPages()
    last = shown_by(event.instances)
    return ShownByPages(earlier.ids | last.ids, earlier.nameless | last.nameless, earlier.tokens | last.tokens)


def shown_by(instances: Iterable[SeenInstance]) -> ShownByPages:
    """What these show, as far as the end of a pass needs to know it."""
    tokens = [(seen.provider_id, seen.mark.token if seen.mark is not None else None) for seen in instances]
    return ShownByPages(
        ids=frozenset(id for id, _ in tokens),
        nameless=frozenset(id for id, token in tokens if token is None),
        tokens=frozenset(token for _, token in tokens if token is not None),
    )


def _can_be_told_apart(draft: Draft, provider: str, shown: ShownByPages, promises: Promises) -> bool:
    """Whether what bears no token is certainly none of ours: it may be the very thing whose answer was lost."""
    if promises.mark_kept == "far_side":
        return True
    return all((provider, id) in draft.world.by_provider_id for id in shown.nameless)


def _weigh_no(
    draft: Draft, request: RequestFact, tokens: frozenset[str], read_at: float, promises: Promises, now: Moment
) -> Draft:
    """Two complete lists further apart than the list delay, both begun after the frames closed, are a No to whatever
    neither has shown.
    """
    seen = draft.world.seen
    is_news = request.token in tokens and not request.instances
    if is_news or not answers.no_is_valid(draft.world, request, read_at):
        return draft.see(evolve(seen, absent_since=_without(draft, request.id)))
    first = seen.absent_since.get(request.id)
    if first is None:
        return draft.see(evolve(seen, absent_since=seen.absent_since.set(request.id, read_at)))
    if read_at - first <= promises.list_delay_s:
        return draft
    draft = draft.see(evolve(seen, absent_since=_without(draft, request.id)))
    return answers.move_request(draft, request, answers.no_to_the_rest(request), now, ABSENT_TWICE)


def _without(draft: Draft, record: str) -> Map[str, float]:
    found = draft.world.seen.absent_since
    return found.delete(record) if record in found else found


def _confirm_returned(
    draft: Draft, giveback: ReturnFact, listed: frozenset[str], read_at: float, promises: Promises, now: Moment
) -> Draft:
    """What a provider that does not observe called returned is gone once a later complete list lacks it; what it does
    not find any more, once two lists of the far side lack it that are further apart than the list delay.
    """
    for item in giveback.items:
        instance = draft.world.live.get(item.instance)
        if instance is None:
            continue
        is_absent = item.provider_id not in listed
        if item.state == "returned" and is_absent:
            said_boot_s = now.boot_s - proven_age_s(draft.world, instance.return_accepted_at or now.at, now)
            is_gone = read_at > said_boot_s + promises.list_delay_s
        else:
            is_missed = is_absent and item.state == "not_found" and promises.list_covers == "far_side"
            draft, is_gone = _missed_twice(draft, instance.id, read_at, promises, is_missed=is_missed)
        if is_gone:
            draft = prove_gone(draft, instance, InstanceTrigger.RETURN_PROVEN, now)
            draft = draft.touch(Key(FactKind.RETURN, giveback.id))
    return draft


def _missed_twice(
    draft: Draft, instance: str, read_at: float, promises: Promises, *, is_missed: bool
) -> tuple[Draft, bool]:
    seen = draft.world.seen
    first = seen.absent_since.get(instance)
    if is_missed and first is None:
        return draft.see(evolve(seen, absent_since=seen.absent_since.set(instance, read_at))), False
    is_gone = is_missed and first is not None and read_at - first > promises.list_delay_s
    if is_missed and not is_gone:
        return draft, False
    return draft.see(evolve(seen, absent_since=_without(draft, instance))), is_gone


def prove_gone(draft: Draft, instance: InstanceFact, trigger: InstanceTrigger, now: Moment) -> Draft:
    """The draft in which an instance is gone for good."""
    arc = instance_step(instance.state, trigger)
    if arc is None or arc.next is not InstanceState.GONE:
        return draft
    gone = evolve(
        instance, state=arc.next, state_at=now.at, gone_at=now.at, reason=instance.reason or arc.why, drain=None
    )
    return want_plan(_ask_final_sum(draft.put(FactKind.INSTANCE, gone.id, gone), gone))


def _ask_final_sum(draft: Draft, gone: InstanceFact) -> Draft:
    """A provider that lists gone things for a while is asked once more for one whose final sum it has not told."""
    if gone.charged_nanos is not None or _promises(draft, gone.provider).gone_visible_s == 0:
        return draft
    seen = draft.world.seen
    wanted = seen.wanted.get(gone.provider, frozenset()) | {gone.provider_id}
    draft = draft.see(evolve(seen, wanted=seen.wanted.set(gone.provider, wanted)))
    return draft.touch(Key(FactKind.PROCESS, gone.provider))


def items_left(draft: Draft, giveback: ReturnFact) -> tuple[ReturnItem, ...]:
    """The items whose instances are not proven gone (or not yet down to what is kept)."""
    return tuple(i for i in giveback.items if not _is_settled(draft, i))


def _is_settled(draft: Draft, item: ReturnItem) -> bool:
    instance = draft.world.instances.get(item.instance)
    if instance is None or instance.state is InstanceState.GONE:
        return True
    return item.keep > 0 and item.state == "returned" and instance.units <= item.keep


def _promises(draft: Draft, provider: str) -> Promises:
    description = draft.world.descriptions.get(provider)
    return description.promises if description is not None else Promises()
