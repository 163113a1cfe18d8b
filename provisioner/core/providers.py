"""What news of a provider's process comes to: its life, its restarts, what it says of itself, what it lists.

It must not know how a process is started or spoken to.
"""

from attrs import evolve

from provisioner.core.copying import copied
from provisioner.core.crashes import is_suspect, spaced_s, with_end
from provisioner.core.events import (
    Described,
    HealthSeen,
    Lost,
    Moment,
    NotWritten,
    ProcessEnded,
    ProcessNotSpawned,
    ProcessSpawned,
    ProviderHinted,
    ProviderNotOpened,
    ProviderOpened,
    ReadFailed,
)
from provisioner.core.evolve import Draft
from provisioner.core.facts import DescriptionFact, FactKind, HealthFact, Key, ProcessFact
from provisioner.core.ids import cancel_ask_id
from provisioner.core.intake import want_plan
from provisioner.core.lease import provider_lease
from provisioner.core.model import Promises
from provisioner.core.process import ProcessState, ProcessTrigger, step
from provisioner.core.request import RequestState
from provisioner.core.restarts import ended, ended_by_order, moved, owes_money
from provisioner.core.trust import memory_lost_at, with_declared
from provisioner.core.world import Ask, ListView, ProcessView, World

DESCRIBE_EVERY_S = 300.0
READ_AGAIN_S = 5.0
THROTTLE_FIRST_S = 1.0
WANTED_MOST = 10_000
"""Things named in hints that wait to be read; where it would be more, the whole list is read."""
FAULTY_EXIT = 78
LOST = "lost"
UNANSWERED = f"handshake failed: {LOST}"
FAULTY_CLASSES = frozenset({"version", "config"})

_T = ProcessTrigger


def view_of(world: World, provider: str) -> ProcessView:
    """The provider's process as this daemon runs it; absent if none was started."""
    return world.seen.processes.get(provider, ProcessView())


def is_present(world: World, provider: str, number: int) -> bool:
    """Whether news of this process number is news of the present process."""
    view = view_of(world, provider)
    return view.number == number and view.number != 0


def epoch_of(world: World, provider: str) -> int:
    """The epoch under which this daemon acts for the provider; 0 if it does not."""
    return world.seen.epochs.get(provider_lease(provider), 0)


def with_view(draft: Draft, provider: str, view: ProcessView) -> Draft:
    """The draft with another view of the process."""
    seen = draft.world.seen
    return draft.see(copied(seen, processes=seen.processes.set(provider, view)))


def take_spawned(draft: Draft, event: ProcessSpawned, now: Moment) -> Draft:
    """The process runs: who it is becomes a fact before anything is sent to it."""
    started = evolve(
        view_of(draft.world, event.provider),
        number=event.number,
        is_running=True,
        memory_by=event.memory_by,
        lost=(),
        lost_count=0,
    )
    view = moved(moved(started, _T.START, now), _T.SPAWNED, now)
    before = draft.world.processes.get(event.provider)
    fact = ProcessFact(
        number=event.number,
        epoch=epoch_of(draft.world, event.provider),
        pid=event.pid,
        start_ticks=event.start_ticks,
        boot_id=event.boot_id,
        started_at=now.at,
        state_id=before.state_id if before is not None else None,
        memory_lost_at=before.memory_lost_at if before is not None else None,
    )
    return with_view(draft, event.provider, view).put(FactKind.PROCESS, event.provider, fact)


def take_not_spawned(draft: Draft, event: ProcessNotSpawned, now: Moment) -> Draft:
    """It could not be started: counted as an end, so that pauses grow."""
    view = moved(evolve(view_of(draft.world, event.provider), number=event.number), _T.START, now)
    view = ended(view, event.provider, event.reason, now, owes=owes_money(draft.world, event.provider))
    view = with_end(view, event.reason, "", now)
    return with_view(draft, event.provider, view).touch(_key(event.provider))


def take_opened(draft: Draft, event: ProviderOpened, now: Moment) -> Draft:
    """The handshake is done: promises become facts, and every record of the provider is looked at."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    view = moved(view_of(draft.world, event.provider), _T.OPENED, now)
    view = evolve(
        view,
        state_id=event.state_id,
        contract=event.contract,
        problem=None,
        auth_failed=False,
        describe_after_boot_s=view.describe_after_boot_s if is_suspect(view.describe_crashes) else 0.0,
        delta_from="",
    )
    draft = _ask_anew(with_view(draft, event.provider, view), event.provider)
    process = draft.world.processes[event.provider]
    process = evolve(process, state_id=event.state_id, memory_lost_at=memory_lost_at(process, event, now))
    draft = draft.put(FactKind.PROCESS, event.provider, process)
    draft = _unparked(_with_promises(draft, event, now), event.provider)
    return want_plan(draft.touch_provider(event.provider).touch(*_with_an_end(draft.world, event.provider)))


def _with_an_end(world: World, provider: str) -> tuple[Key, ...]:
    """What ends at a time it named: nothing else looks at such a thing after a start, or once its end can be put
    off."""
    ends = (i for i in world.live.values() if i.provider == provider and i.expires_at is not None)
    return tuple(Key(FactKind.INSTANCE, instance.id) for instance in ends)


def _ask_anew(draft: Draft, provider: str) -> Draft:
    """A new process has been asked nothing yet: neither for its list nor for what was open; what is suspect waits."""
    seen = draft.world.seen
    before = seen.lists.get(provider, ListView())
    asks = seen.asks.mutate()
    for record in (*draft.world.open_requests.values(), *draft.world.open_returns.values()):
        for id in (record.id, cancel_ask_id(record.id)) if record.provider == provider else ():
            ask = asks.pop(id, None)
            if ask is not None and ask.crashes:
                asks[id] = ask if is_suspect(ask.crashes) else Ask(crashes=ask.crashes)
    fresh = ListView(
        next_boot_s=before.next_boot_s if is_suspect(before.crashes) else 0.0,
        strangers=before.strangers,
        crashes=before.crashes,
        named_crashes=before.named_crashes,
    )
    lists = seen.lists.set(provider, fresh)
    return draft.see(evolve(seen, asks=asks.finish(), lists=lists))


def _with_promises(draft: Draft, event: ProviderOpened, now: Moment) -> Draft:
    before = draft.world.descriptions.get(event.provider)
    said = DescriptionFact(
        provider_name=event.name,
        provider_version=event.version,
        kinds=event.kinds,
        capabilities=event.capabilities,
        promises=event.promises,
        revision=before.revision if before is not None else "",
        digest=before.digest if before is not None else "",
        read_at=before.read_at if before is not None else now.at,
        templates=before.templates if before is not None else (),
        limits=before.limits if before is not None else (),
        held=before.held if before is not None else (),
        broken=before.broken if before is not None else (),
    )
    fact = with_declared(said, event.promises)
    return draft if fact == before else draft.put(FactKind.DESCRIPTION, event.provider, fact)


def take_not_opened(draft: Draft, event: ProviderNotOpened, now: Moment) -> Draft:
    """The handshake failed: the process is ended, and parked if only a change of program or configuration can help."""
    view = view_of(draft.world, event.provider)
    if not is_present(draft.world, event.provider, event.number) or view.restart_wanted:
        return draft
    if event.error_class == LOST and not view.is_running:
        return draft  # it has ended, and why is known: that nobody answered says nothing more
    trigger = _T.FAULTY if event.error_class in FAULTY_CLASSES else _T.OPEN_REFUSED
    view = evolve(moved(view, trigger, now), last_end=f"handshake failed: {event.error_class}: {event.detail}")
    return with_view(draft, event.provider, view).touch(_key(event.provider))


def take_ended(draft: Draft, event: ProcessEnded, now: Moment) -> Draft:
    """The process is reaped: its frames are closed, every record of the provider is looked at, and it is started
    again after a pause."""
    draft = _stop_is_done(draft, event.provider)
    if not is_present(draft.world, event.provider, event.number):
        return draft
    view = evolve(view_of(draft.world, event.provider), is_running=False)
    reason = _why_it_ended(view, event)
    if view.restart_wanted:
        view = ended_by_order(view, now)
    elif event.status == FAULTY_EXIT:
        view = evolve(moved(view, _T.FAULTY, now), last_end=reason, wait_until_boot_s=0.0)
    elif view.state is not ProcessState.PARKED:
        view = ended(view, event.provider, reason, now, owes=owes_money(draft.world, event.provider))
        view = with_end(view, reason, event.last_words, now)
    draft = close_frames(with_view(draft, event.provider, view), event.provider, event.number, now)
    return want_plan(draft.touch_provider(event.provider))


def _why_it_ended(view: ProcessView, event: ProcessEnded) -> str:
    """A process that was to end, and is perhaps faster than the stop, ended for the reason it was to end for; but that
    it did not answer is no reason where it has one."""
    was_to_end = view.state in (ProcessState.STOPPING, ProcessState.PARKED)
    is_known = was_to_end and view.last_end and not view.last_end.startswith(UNANSWERED)
    return view.last_end if is_known else event.reason


def _stop_is_done(draft: Draft, provider: str) -> Draft:
    """An end, however it came, is the outcome of a stop that was under way."""
    seen = draft.world.seen
    for key in seen.in_flight:
        if key.provider == provider and key.effect == "stop_process":
            return draft.see(evolve(seen, in_flight=seen.in_flight.delete(key)))
    return draft


def close_frames(draft: Draft, provider: str, number: int, now: Moment) -> Draft:
    """The draft in which every frame that this process still had counts as closed now."""
    seen = draft.world.seen
    mine = [t for t, n in seen.frames_open.items() if n == number and _provider_of(draft.world, t) == provider]
    if not mine:
        return draft
    opened, closed = seen.frames_open.mutate(), seen.frames_closed.mutate()
    for token in mine:
        del opened[token]
        closed[token] = now.boot_s
    return draft.see(evolve(seen, frames_open=opened.finish(), frames_closed=closed.finish()))


def _provider_of(world: World, token: str) -> str | None:
    request = world.by_token.get(token)
    return world.requests[request].provider if request is not None else None


def take_health(draft: Draft, event: HealthSeen, now: Moment) -> Draft:
    """What ping said, or that it said nothing."""
    if is_old_news(draft.world, event):
        return draft
    view = view_of(draft.world, event.provider)
    after = moved(view, _T.QUIET if event.health == "quiet" else _T.HEARD, now)
    after = evolve(after, health=event.health, problem=event.problem)
    if _lets_in(view, event):
        after = evolve(after, auth_failed=False)
    return want_plan(with_view(draft, event.provider, after).touch_provider(event.provider))


def is_old_news(world: World, event: HealthSeen) -> bool:
    """Whether this word changes nothing of what is known: it is of another process, or what was said before."""
    view = view_of(world, event.provider)
    if not is_present(world, event.provider, event.number):
        return True
    trigger = _T.QUIET if event.health == "quiet" else _T.HEARD
    is_known = view.health == event.health and view.problem == event.problem
    return is_known and step(view.state, trigger) is None and not _lets_in(view, event)


def _lets_in(view: ProcessView, event: HealthSeen) -> bool:
    """Whether it says that refused credentials are taken again."""
    return view.auth_failed and event.health != "quiet" and event.problem is None


def take_described(draft: Draft, event: Described, now: Moment) -> Draft:
    """A description read to its end; parked offers of it get another chance where it changed."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    view = copied(
        view_of(draft.world, event.provider),
        described_boot_s=now.boot_s,
        describe_after_boot_s=now.boot_s + DESCRIBE_EVERY_S,
        delta_from=event.revision,
    )
    draft = with_view(draft, event.provider, view).touch(_key(event.provider))
    before = draft.world.descriptions.get(event.provider)
    if before is None:
        before = DescriptionFact("", "", (), (), Promises(), "", "", now.at)
    held = _held(draft.world, event.provider)
    if before.digest == event.digest and before.held == held:
        return want_plan(draft)
    fact = evolve(
        before,
        revision=event.revision,
        digest=event.digest,
        read_at=now.at,
        templates=event.templates,
        limits=event.limits,
        held=held,
    )
    draft = draft.put(FactKind.DESCRIPTION, event.provider, fact)
    return want_plan(draft if before.digest == event.digest else _unparked(draft, event.provider))


def _held(world: World, provider: str) -> tuple[tuple[str, int], ...]:
    """Units of each template the provider may have counted as ours: also what is being made, not what was not sent."""
    found: dict[str, int] = {}
    for instance in world.live.values():
        if instance.provider == provider:
            found[instance.template] = found.get(instance.template, 0) + instance.units
    for request in world.open_requests.values():
        if request.provider == provider and request.state is not RequestState.PLANNED:
            found[request.template] = found.get(request.template, 0) + max(request.units - request.made_units, 0)
    return tuple(sorted(found.items()))


def _unparked(draft: Draft, provider: str) -> Draft:
    """Another description, or another process (its program or configuration may have changed), is another chance."""
    for id, health in draft.world.health.items():
        if health.parked and id.partition("/")[0] == provider:
            draft = draft.put(FactKind.HEALTH, id, None)
    return draft


def take_read_failed(draft: Draft, event: ReadFailed, now: Moment) -> Draft:
    """A description or list that could not be read proves nothing; it is asked for again after a pause.

    What was to be read by name is in the whole list that is read next.
    """
    if not is_present(draft.world, event.provider, event.number):
        return draft
    view = view_of(draft.world, event.provider)
    lists = draft.world.seen.lists.get(event.provider, ListView())
    crashes = {"description": view.describe_crashes, "list": lists.crashes}.get(event.what, 0)
    later = now.boot_s + max(_pause(event), spaced_s(crashes))
    if not isinstance(event.outcome, Lost | NotWritten):
        problem = event.outcome.problem
        view = evolve(view, problem=problem, auth_failed=view.auth_failed or problem.error_class == "auth")
    if event.what == "description":
        # The next reading is a whole one: a change that can't be applied would be refused again.
        view = evolve(view, describe_after_boot_s=later, delta_from="")
    draft = with_view(draft, event.provider, view).touch(_key(event.provider))
    seen = draft.world.seen
    if event.what == "description":
        return draft
    lists = evolve(seen.lists.get(event.provider, ListView()), next_boot_s=later)
    wanted = (
        seen.wanted.delete(event.provider) if event.what == "named" and event.provider in seen.wanted else seen.wanted
    )
    return draft.see(evolve(seen, lists=seen.lists.set(event.provider, lists), wanted=wanted))


def _pause(event: ReadFailed) -> float:
    if isinstance(event.outcome, Lost | NotWritten):
        return READ_AGAIN_S
    return max(READ_AGAIN_S, float(event.outcome.problem.retry_after_s or 0))


def take_hint(draft: Draft, event: ProviderHinted, now: Moment) -> Draft:
    """A `changed` notification: what it names is read soon; what it does not name is read whole. What is spaced out,
    since its process ended over it, stays so: providers give hints right after they start."""
    if not is_present(draft.world, event.provider, event.number):
        return draft
    seen = draft.world.seen
    wanted = seen.wanted.get(event.provider, frozenset()) | frozenset(event.instances)
    if event.instances and len(wanted) <= WANTED_MOST:
        seen = evolve(seen, wanted=seen.wanted.set(event.provider, wanted))
    elif event.instances or ("instances" in event.what and not event.requests):
        lists = seen.lists.get(event.provider, ListView())
        lists = lists if is_suspect(lists.crashes) else evolve(lists, next_boot_s=now.boot_s)
        seen = evolve(seen, lists=seen.lists.set(event.provider, lists))
    known = [r for r in event.requests if _is_open_at(draft.world, event.provider, r)]
    asks = seen.asks.mutate()
    for request in known:
        if request in asks and not is_suspect(asks[request].crashes):
            asks[request] = evolve(asks[request], next_boot_s=now.boot_s)
    draft = draft.see(evolve(seen, asks=asks.finish()))
    if "description" in event.what:
        draft = with_view(draft, event.provider, described_soon(view_of(draft.world, event.provider), now))
    return draft.touch(_key(event.provider), *(Key(FactKind.REQUEST, r) for r in known))


def described_soon(view: ProcessView, now: Moment) -> ProcessView:
    """The view in which the description is read at once, unless that is spaced out."""
    return view if is_suspect(view.describe_crashes) else evolve(view, describe_after_boot_s=now.boot_s)


def _is_open_at(world: World, provider: str, request: str) -> bool:
    fact = world.open_requests.get(request)
    return fact is not None and fact.provider == provider


def with_health(draft: Draft, id: str, fact: HealthFact | None) -> Draft:
    """The draft with an offer's behaviour written, or forgotten if None; nothing is written where nothing changes."""
    if draft.world.health.get(id) == fact:
        return draft
    return draft.put(FactKind.HEALTH, id, fact)


def _key(provider: str) -> Key:
    return Key(FactKind.PROCESS, provider)
