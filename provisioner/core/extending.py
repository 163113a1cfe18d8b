"""When the far side's end of a thing is put off, and what comes of asking (contract v2, extend).

What is ours and not on its way out is kept past its `expires_at`: it leaves by an ordinary return when it is of no use,
never by neglect. It must not decide what is of use, nor know how a frame travels.
"""

from attrs import evolve
from immutables import Map

from provisioner.core.capabilities import EXTEND, can
from provisioner.core.copying import copied
from provisioner.core.effects import EffectKey, ExtendInstances, ExtendItem
from provisioner.core.entries import entry_of
from provisioner.core.events import ExtendAnswered, ExtendWord, Moment, NotWritten, Refusal
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, InstanceFact, Key
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Kind, Problem
from provisioner.core.pauses import doubled_s
from provisioner.core.settings import Settings
from provisioner.core.world import Extension, World

EFFECT = "extend_instances"
AGAIN_FIRST_S, AGAIN_MOST_S = 10.0, 300.0
DRAINING_AGAIN_S = 10.0
UNWRITTEN_AGAIN_S = 1.0
ITEMS_MOST = 1000
"""The contract's bound on one frame."""

_NOBODY: Map[str, None] = Map()
_SERVING = frozenset({InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN})


def due_boot_s(world: World, instance: InstanceFact, settings: Settings, now: Moment) -> float | None:
    """When its end has to be put off next, by the boot clock; None while it need not, or waits for its frame."""
    if instance.expires_at is None or not is_kept(instance) or not can(world, instance.provider, EXTEND):
        return None
    if instance.id in _waiting(world, instance.provider):
        return None
    before = world.seen.extensions.get(instance.id, Extension())
    at = instance.expires_at - ahead_s(world, instance.provider, settings)
    return max(now.boot_s + at - now.at, before.next_boot_s)


def is_kept(instance: InstanceFact) -> bool:
    """Whether it is ours to use: what goes back, or what the far side takes at a time it named, is let go."""
    is_let_go = instance.return_id is not None or instance.notice is not None or instance.surplus
    return instance.state in _SERVING and instance.kind is not Kind.REMNANT and not is_let_go


def ahead_s(world: World, provider: str, settings: Settings) -> float:
    """How long before the end it is asked for: time for an answer that is late, and for another try."""
    description = world.descriptions.get(provider)
    answer_s = description.promises.answer_s.get("extend", 60) if description is not None else 60
    return max(2.0 * answer_s, settings.policy.extend.ahead_s)


def looked(draft: Draft, instance: InstanceFact, now: Moment, settings: Settings) -> Draft:
    """The draft in which an instance whose end is near waits for the next frame; a host that is being drained does so
    only while work runs on it."""
    due = due_boot_s(draft.world, instance, settings, now)
    if due is None or now.boot_s < due:
        return draft
    if instance.drain is not None and not _is_busy(draft.world, instance):
        before = draft.world.seen.extensions.get(instance.id, Extension())
        return _with(draft, instance.id, evolve(before, next_boot_s=now.boot_s + DRAINING_AGAIN_S))
    seen = draft.world.seen
    waiting = _waiting(draft.world, instance.provider).set(instance.id, None)
    draft = draft.see(copied(seen, extending=seen.extending.set(instance.provider, waiting)))
    return draft.touch(Key(FactKind.PROCESS, instance.provider))


def _waiting(world: World, provider: str) -> Map[str, None]:
    return world.seen.extending.get(provider, _NOBODY)


def _is_busy(world: World, instance: InstanceFact) -> bool:
    entry = entry_of(world, instance)
    return entry is not None and entry.state is EntryState.BUSY


def owed_extension(world: World, provider: str, number: int, now: Moment, settings: Settings) -> ExtendInstances | None:
    """The frame that is owed to a provider, if anything waits for one; equal keys are the same act."""
    waiting = _waiting(world, provider)
    if not waiting or not can(world, provider, EXTEND):
        return None
    kept = [world.live[id] for id in sorted(waiting) if id in world.live and is_kept(world.live[id])]
    items = tuple(_item(instance, now, settings) for instance in kept[:ITEMS_MOST])
    key = EffectKey(EFFECT, provider, provider, number, 0)
    return ExtendInstances(key, provider, number, items) if items else None


def _item(instance: InstanceFact, now: Moment, settings: Settings) -> ExtendItem:
    """Until when it is to be left to us, in whole seconds; never earlier than it is already."""
    until_at = float(int(now.at + settings.policy.extend.stay_s))
    return ExtendItem(instance.id, instance.provider_id, max(until_at, instance.expires_at or 0.0))


def holds_back(world: World, instance: InstanceFact) -> bool:
    """Whether a give-back of this instance waits: of return and extend one call is open at a time (CC-2)."""
    if instance.id not in _waiting(world, instance.provider):
        return False
    return any(key.effect == EFFECT and key.provider == instance.provider for key in world.seen.in_flight)


def take_extended(draft: Draft, event: ExtendAnswered, now: Moment, settings: Settings) -> Draft:
    """What came of asking: the end that now stands, or why it stands as before, and when to ask again."""
    seen = draft.world.seen
    asked = frozenset(item.instance for item in event.items)
    waiting = _waiting(draft.world, event.provider)
    left = Map({i: None for i in waiting if i in draft.world.live and i not in asked})
    draft = draft.see(evolve(seen, extending=seen.extending.set(event.provider, left)))
    words = {word.provider_id: word for word in event.outcome} if isinstance(event.outcome, tuple) else {}
    for item in event.items:
        if item.instance not in draft.world.live:
            draft = _with(draft, item.instance, None)
        elif isinstance(event.outcome, tuple):
            draft = _told(draft, item, words.get(item.provider_id), now, settings)
        elif isinstance(event.outcome, NotWritten):
            before = draft.world.seen.extensions.get(item.instance, Extension())
            draft = _with(draft, item.instance, evolve(before, next_boot_s=now.boot_s + UNWRITTEN_AGAIN_S))
        elif isinstance(event.outcome, Refusal):
            draft = _later(draft, item.instance, event.outcome.problem, now)
        else:
            draft = _later(draft, item.instance, Problem("transient", detail=event.outcome.reason), now)
    keys = (Key(FactKind.INSTANCE, item.instance) for item in event.items)
    return draft.touch(Key(FactKind.PROCESS, event.provider), *keys, *_waiting_returns(draft.world, event.provider))


def _waiting_returns(world: World, provider: str) -> tuple[Key, ...]:
    return tuple(Key(FactKind.RETURN, r.id) for r in world.open_returns.values() if r.provider == provider)


def _told(draft: Draft, item: ExtendItem, word: ExtendWord | None, now: Moment, settings: Settings) -> Draft:
    if word is None:
        return _later(draft, item.instance, Problem("transient", detail="left out of the answer"), now)
    instance = draft.world.live[item.instance]
    if word.expires_at is not None and word.expires_at != instance.expires_at:
        instance = evolve(instance, expires_at=word.expires_at)
        draft = draft.put(FactKind.INSTANCE, instance.id, instance)
    if word.problem is not None:
        return _later(draft, item.instance, word.problem, now)
    draft = _with(draft, item.instance, None)
    # Who grants less than the usual lead is asked again half-way to the end, not at once.
    again = due_boot_s(draft.world, instance, settings, now)
    if again is None or again > now.boot_s:
        return draft
    half_s = ((instance.expires_at or now.at) - now.at) / 2
    return _with(draft, item.instance, Extension(next_boot_s=now.boot_s + max(half_s, AGAIN_FIRST_S)))


def _later(draft: Draft, instance: str, problem: Problem, now: Moment) -> Draft:
    """Asked again after ever longer pauses, however it was refused: it is used until it is gone."""
    tries = draft.world.seen.extensions.get(instance, Extension()).tries
    pause_s = max(doubled_s(AGAIN_FIRST_S, tries, AGAIN_MOST_S), float(problem.retry_after_s or 0))
    return _with(draft, instance, Extension(tries + 1, now.boot_s + pause_s, problem))


def _with(draft: Draft, instance: str, extension: Extension | None) -> Draft:
    seen = draft.world.seen
    if extension is not None:
        return draft.see(evolve(seen, extensions=seen.extensions.set(instance, extension)))
    known = instance in seen.extensions
    return draft.see(evolve(seen, extensions=seen.extensions.delete(instance))) if known else draft
