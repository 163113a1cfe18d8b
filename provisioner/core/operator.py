"""What an operator's order to a provider comes to: a pause and its end, another process, a new chance for all that was
left alone.

It must not know how an order is given, nor judge it: who may give one is the door's business.
"""

from attrs import evolve

from provisioner.core import process as process_life
from provisioner.core.crashes import released
from provisioner.core.events import Moment
from provisioner.core.evolve import Draft, Ordered
from provisioner.core.facts import DecisionFact, FactKind, Key, OverrideFact, OverrideKind
from provisioner.core.ids import decision_id
from provisioner.core.intake import want_plan
from provisioner.core.orders import OperatorEvent, ProviderPaused, ProviderRestarted, ProviderResumed
from provisioner.core.process import ProcessState, ProcessTrigger
from provisioner.core.providers import view_of, with_view
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import RequestState
from provisioner.core.restarts import ALIVE, moved
from provisioner.core.standing_orders import pause_id, pause_of
from provisioner.core.trust import believed_again, memory_accepted
from provisioner.core.world import ListView, ProcessView

RELEASED_SHOWN = 10

_S, _T = ProcessState, ProcessTrigger


def take_order(draft: Draft, event: OperatorEvent, now: Moment) -> Draft:
    """The draft in which the order is carried out and on record; its reply says in sentences what that came to."""
    draft, what, did = _carried_out(draft, event, now)
    said = f"{what} by {event.by}" + (f": {event.why}" if event.why else "")
    fact = DecisionFact(
        id=decision_id(f"{now.seed}/order", 0),
        at=now.at,
        what=what,
        subject=event.provider,
        reason=Reason(Why.OPERATOR, said),
        provider=event.provider,
    )
    draft = draft.put(FactKind.DECISION, fact.id, fact).reply(Ordered(event.provider, did))
    return want_plan(draft.touch(Key(FactKind.PROCESS, event.provider)).touch_provider(event.provider))


def _carried_out(draft: Draft, event: OperatorEvent, now: Moment) -> tuple[Draft, str, tuple[str, ...]]:
    match event:
        case ProviderPaused():
            draft, did = _pause(draft, event, now)
            return draft, "pause", did
        case ProviderResumed():
            draft, did = _resume(draft, event.provider, now)
            return draft, "resume", did
        case ProviderRestarted():
            draft, did = _restart(draft, event, now)
            return draft, "restart", did


def _pause(draft: Draft, event: ProviderPaused, now: Moment) -> tuple[Draft, tuple[str, ...]]:
    """Purchases that were never sent are cancelled by their owner, so that other offers are asked at once."""
    was = pause_of(draft.world, event.provider, now)
    fact = OverrideFact(OverrideKind.PAUSE, event.provider, event.until_at, event.why, event.by, now.at)
    draft = draft.put(FactKind.OVERRIDE, pause_id(event.provider), fact)
    unsent = sum(
        1
        for r in draft.world.open_requests.values()
        if r.provider == event.provider and r.state is RequestState.PLANNED
    )
    did = ["nothing is bought from it until then; status, lists and give-backs go on"]
    if was is not None:
        did.append("this replaces the pause that stood")
    if unsent:
        did.append(f"never sent, hence cancelled: {_count(unsent, 'purchase')}")
    return draft, tuple(did)


def _resume(draft: Draft, provider: str, now: Moment) -> tuple[Draft, tuple[str, ...]]:
    """The end of the pause, and a new chance for the process and for every offer of it."""
    did: list[str] = []
    pause = pause_of(draft.world, provider, now)
    if pause is not None:
        draft = draft.put(FactKind.OVERRIDE, pause_id(provider), None)
        did.append("the pause is over")
    draft, started = _started_anew(draft, provider, now)
    did += started
    offers = [id for id in draft.world.health if id.partition("/")[0] == provider]
    for id in offers:
        draft = draft.put(FactKind.HEALTH, id, None)
    if offers:
        did.append(f"tried again though left alone: {', '.join(id.partition('/')[2] for id in offers)}")
    draft, parked = released(draft, provider, now)
    if parked:
        did.append(f"parked no more, though open when its process ended: {_named(parked)}")
    draft, was_lost = memory_accepted(draft, provider)
    if was_lost:
        did.append("its records are taken as they are now, though they are not those it had")
    draft, promises = believed_again(draft, provider)
    if promises:
        did.append(f"believed again, though broken: {', '.join(dict.fromkeys(promises))}")
    draft = _read_anew(draft, provider, now)
    return draft, tuple(did) or ("nothing stood in its way; it is read anew",)


def _restart(draft: Draft, event: ProviderRestarted, now: Moment) -> tuple[Draft, tuple[str, ...]]:
    """The process is ended in order and started again; what is open goes on with the next one by itself."""
    view = view_of(draft.world, event.provider)
    if view.state is _S.ABSENT:
        return draft, ("it is being started already",)
    if view.state not in (*ALIVE, _S.STARTING, _S.HANDSHAKING, _S.STOPPING):
        draft, did = _started_anew(draft, event.provider, now)
        return draft, tuple(did)
    why = f"restarted by {event.by}" + (f": {event.why}" if event.why else "")
    after = evolve(moved(view, _T.STOP, now), last_end=why, restart_wanted=True, crashes_boot_s=())
    draft = with_view(draft, event.provider, after)
    return draft, ("its process is ended in order and started again at once",)


def _started_anew(draft: Draft, provider: str, now: Moment) -> tuple[Draft, list[str]]:
    """The draft in which a process that was left alone is started now, and its former ends count no more."""
    view = view_of(draft.world, provider)
    if view.state is _S.PARKED and view.is_running:
        draft = with_view(draft, provider, evolve(view, restart_wanted=True, crashes_boot_s=()))
        return draft, ["its process was parked and is still ending; it is started again as soon as it has ended"]
    if process_life.step(view.state, _T.RESET) is None:
        return with_view(draft, provider, evolve(view, crashes_boot_s=())) if view != ProcessView() else draft, []
    was = view.state.value.replace("_", " ")
    fresh = evolve(moved(view, _T.RESET, now), crashes_boot_s=(), wait_until_boot_s=0.0, quarantines=0)
    return with_view(draft, provider, fresh), [
        f"its process was {was}; it is started now, and its former ends are forgotten"
    ]


def _read_anew(draft: Draft, provider: str, now: Moment) -> Draft:
    """Description and list are asked for at once, so that what has been put right is seen."""
    view = view_of(draft.world, provider)
    if view.state not in ALIVE:
        return draft
    draft = with_view(draft, provider, evolve(view, describe_after_boot_s=now.boot_s))
    seen = draft.world.seen
    lists = evolve(seen.lists.get(provider, ListView()), next_boot_s=now.boot_s)
    return draft.see(evolve(seen, lists=seen.lists.set(provider, lists)))


def _named(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - RELEASED_SHOWN} more" if len(ids) > RELEASED_SHOWN else ""
    return ", ".join(ids[:RELEASED_SHOWN]) + more


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
