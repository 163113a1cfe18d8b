"""What is owed to the outside: derived from the world, record by record, never remembered beside it; and when to look
again.

It decides nothing: everything here was decided before and is a fact. What is in flight already is left out.
"""

from attrs import field, frozen

from provisioner.core.cancelling import cancel_ask, is_cancel_owed
from provisioner.core.capabilities import CANCEL, DESCRIBE_DELTA, FORGET, can
from provisioner.core.crashes import is_suspect, must_wait_alone
from provisioner.core.effects import (
    AskQuote,
    AskRequest,
    AskReturn,
    CancelRequest,
    Effect,
    EffectKey,
    ExtendInstances,
    Forget,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
    StopProcess,
)
from provisioner.core.events import Moment
from provisioner.core.extending import due_boot_s, holds_back, owed_extension
from provisioner.core.facts import FactKind, InstanceFact, Key, RequestFact, ReturnFact
from provisioner.core.giveback import ReturnState
from provisioner.core.model import Carrier
from provisioner.core.owner import boot_read_at, may_buy, may_resend, waits_until_boot_s
from provisioner.core.process import ProcessState
from provisioner.core.providers import epoch_of, view_of
from provisioner.core.quoting import owed_quotes
from provisioner.core.request import ASKED, RequestState
from provisioner.core.restarts import ALIVE, left_alone_until_boot_s
from provisioner.core.settings import Settings
from provisioner.core.standing_orders import is_paused, pause_id
from provisioner.core.world import Ask, ForgetView, ListView, ProcessView, World

READ_SOME_MOST = 1000
ALONE_AGAIN_S = 1.0
"""How soon it is looked again whether a parked give-back would be alone in flight."""


@frozen
class Owed:
    """What one record owes now, and when time alone will change that (boot clock; None: never by time)."""

    effects: tuple[Effect, ...] = ()
    wake_boot_s: float | None = None


@frozen
class _Sum:
    effects: list[Effect] = field(factory=list)
    wakes: list[float] = field(factory=list)

    def done(self) -> Owed:
        return Owed(tuple(self.effects), min(self.wakes) if self.wakes else None)


NOTHING_OWED = Owed()


def owed(world: World, key: Key, now: Moment, settings: Settings) -> Owed:
    """What this record owes, without what is in flight."""
    found = owed_in_any_case(world, key, now, settings)
    in_flight = world.seen.in_flight
    fresh = tuple(e for e in found.effects if e.key not in in_flight)
    return found if len(fresh) == len(found.effects) else Owed(fresh, found.wake_boot_s)


def owed_in_any_case(world: World, key: Key, now: Moment, settings: Settings) -> Owed:
    """What this record owes, in flight or not; asked again right before a frame is written."""
    match key.kind:
        case FactKind.REQUEST if key.id in world.open_requests:
            return _of_request(world, world.open_requests[key.id], now, settings)
        case FactKind.RETURN if key.id in world.open_returns:
            return _of_return(world, world.open_returns[key.id], now)
        case FactKind.INSTANCE if key.id in world.live:
            return _of_instance(world, world.live[key.id], now, settings)
        case FactKind.PROCESS if key.id in settings.providers:
            return _with_pause_end(_of_process(world, key.id, now, settings), world, key.id, now)
        case _:
            return NOTHING_OWED


def record_of(effect: Effect) -> Key:
    """The record an effect serves."""
    match effect:
        case SendRequest() | AskRequest() | CancelRequest():
            return Key(FactKind.REQUEST, effect.request)
        case SendReturn() | AskReturn():
            return Key(FactKind.RETURN, effect.return_id)
        case (
            StartProcess()
            | OpenProvider()
            | StopProcess()
            | ReadDescription()
            | ReadList()
            | ReadSome()
            | Forget()
            | ExtendInstances()
            | AskQuote()
        ):
            return Key(FactKind.PROCESS, effect.provider)


def _of_instance(world: World, instance: InstanceFact, now: Moment, settings: Settings) -> Owed:
    """An instance owes nothing itself; what is to be asked about it is owed by its provider's record."""
    wakes = (boot_read_at(world, instance, now), due_boot_s(world, instance, settings, now))
    return Owed((), min((at for at in wakes if at is not None), default=None))


def _wall(now: Moment, at: float) -> float:
    """The boot clock's reading at a wall time."""
    return now.boot_s + (at - now.at)


def _of_request(world: World, request: RequestFact, now: Moment, settings: Settings) -> Owed:
    view = view_of(world, request.provider)
    if request.state is RequestState.PLANNED:
        wakes = [_wall(now, request.send_by)]
        waits_until = max(view.throttled_until_boot_s, waits_until_boot_s(world, request))
        if now.boot_s < waits_until:
            wakes.append(waits_until)
        elif may_buy(world, request.provider, now, settings):
            wakes.append(now.boot_s)
        return Owed((), min(wakes))
    if view.state not in ALIVE:
        return NOTHING_OWED
    if request.armed:
        return _send(world, request, view, now, settings)
    return _questions(world, request, view, now) if request.state in ASKED else NOTHING_OWED


def _questions(world: World, request: RequestFact, view: ProcessView, now: Moment) -> Owed:
    """How an open purchase is asked about, and asked to end."""
    found = _Sum()
    ask = world.seen.asks.get(request.id, Ask())
    if now.boot_s >= ask.next_boot_s:
        key = EffectKey("ask_request", request.provider, request.id, view.number, ask.tries)
        found.effects.append(AskRequest(key, request.provider, view.number, request.id, is_suspect(ask.crashes)))
    else:
        soon = may_resend(world, request, now) and request.state is RequestState.UNKNOWN
        found.wakes.append(now.boot_s if soon else ask.next_boot_s)
    if is_cancel_owed(world, request):
        cancel = cancel_ask(world, request)
        key = EffectKey("cancel_request", request.provider, request.id, view.number, cancel.tries)
        if now.boot_s >= cancel.next_boot_s:
            found.effects.append(CancelRequest(key, request.provider, view.number, request.id))
        else:
            found.wakes.append(cancel.next_boot_s)
    elif request.cancel_at is None and can(world, request.provider, CANCEL):
        found.wakes.append(_wall(now, request.deadline_at))
    return found.done()


def _send(world: World, request: RequestFact, view: ProcessView, now: Moment, settings: Settings) -> Owed:
    if is_paused(world, request.provider, now):
        return NOTHING_OWED
    if request.carrier != Carrier(epoch_of(world, request.provider), view.number):
        return NOTHING_OWED
    key = EffectKey("send_request", request.provider, request.id, view.number, request.frames)
    timeout_s = _answer_s(world, request.provider, "request", settings)
    return Owed((SendRequest(key, request.provider, view.number, request.id, timeout_s),))


def _answer_s(world: World, provider: str, method: str, settings: Settings) -> int:
    description = world.descriptions.get(provider)
    promised = description.promises.answer_s.get(method, 60) if description is not None else 60
    return max(1, min(promised, int(settings.providers[provider].limits.call_s)))


def _of_return(world: World, giveback: ReturnFact, now: Moment) -> Owed:
    view = view_of(world, giveback.provider)
    if view.state not in ALIVE:
        return NOTHING_OWED
    match giveback.state:
        case ReturnState.PLANNED:
            waits = any(holds_back(world, world.live[i.instance]) for i in giveback.items if i.instance in world.live)
            return Owed((), None if waits else now.boot_s)
        case ReturnState.SENDING:
            if giveback.carrier != Carrier(epoch_of(world, giveback.provider), view.number):
                return Owed((), now.boot_s)
            if now.at < giveback.after_at:
                return Owed((), _wall(now, giveback.after_at))
            return _give_back(world, giveback, view, now)
        case ReturnState.TAKEN:
            ask = world.seen.asks.get(giveback.id, Ask())
            if now.boot_s < ask.next_boot_s:
                return Owed((), ask.next_boot_s)
            key = EffectKey("ask_return", giveback.provider, giveback.id, view.number, ask.tries)
            return Owed((AskReturn(key, giveback.provider, view.number, giveback.id, is_suspect(ask.crashes)),))
        case ReturnState.RETURNED | ReturnState.DROPPED:
            return NOTHING_OWED


def _give_back(world: World, giveback: ReturnFact, view: ProcessView, now: Moment) -> Owed:
    if must_wait_alone(world, giveback):
        return Owed((), now.boot_s + ALONE_AGAIN_S)
    key = EffectKey("send_return", giveback.provider, giveback.id, view.number, giveback.frames)
    return Owed((SendReturn(key, giveback.provider, view.number, giveback.id),))


def _with_pause_end(found: Owed, world: World, provider: str, now: Moment) -> Owed:
    """The end of an operator's pause is looked at in time, whatever the process does."""
    fact = world.overrides.get(pause_id(provider))
    if fact is None:
        return found
    at = _wall(now, fact.until_at)
    return Owed(found.effects, at if found.wake_boot_s is None else min(at, found.wake_boot_s))


def _of_process(world: World, provider: str, now: Moment, settings: Settings) -> Owed:
    view = view_of(world, provider)
    epoch = epoch_of(world, provider)
    fact = world.processes.get(provider)
    match view.state:
        case ProcessState.ABSENT:
            number = (fact.number if fact is not None else 0) + 1
            key = EffectKey("start_process", provider, provider, number, 0)
            return Owed((StartProcess(key, provider, number, epoch),) if epoch else ())
        case ProcessState.HANDSHAKING:
            recorded = fact is not None and fact.number == view.number
            key = EffectKey("open_provider", provider, provider, view.number, 0)
            return Owed((OpenProvider(key, provider, view.number, epoch),) if recorded else ())
        case ProcessState.STOPPING:
            key = EffectKey("stop_process", provider, provider, view.number, 0)
            return Owed((StopProcess(key, provider, view.number, view.last_end),))
        case ProcessState.BACKING_OFF | ProcessState.QUARANTINED:
            return Owed((), left_alone_until_boot_s(world, provider))
        case ProcessState.READY | ProcessState.DEGRADED:
            return _reads(world, provider, view, now, settings)
        case ProcessState.STARTING:
            return NOTHING_OWED
        case ProcessState.PARKED:
            key = EffectKey("stop_process", provider, provider, view.number, 0)
            return Owed((StopProcess(key, provider, view.number, view.last_end),) if view.is_running else ())


def _known(world: World, provider: str, view: ProcessView) -> str | None:
    """The revision since which changes are asked for; None where the whole description is."""
    return (view.delta_from or None) if can(world, provider, DESCRIBE_DELTA) else None


def _reads(world: World, provider: str, view: ProcessView, now: Moment, settings: Settings) -> Owed:
    found = _Sum()
    lists = world.seen.lists.get(provider, ListView())
    if now.boot_s >= view.describe_after_boot_s:
        key = EffectKey("read_description", provider, provider, view.number, 0)
        found.effects.append(ReadDescription(key, provider, view.number, _known(world, provider, view)))
    else:
        found.wakes.append(view.describe_after_boot_s)
    if now.boot_s >= lists.next_boot_s:
        key = EffectKey("read_list", provider, provider, view.number, 0)
        found.effects.append(ReadList(key, provider, view.number))
    else:
        found.wakes.append(lists.next_boot_s)
    named = frozenset[str]() if is_suspect(lists.named_crashes) else world.seen.wanted.get(provider, frozenset())
    refs = tuple(sorted(named))[:READ_SOME_MOST]
    forget = world.seen.forgets.get(provider, ForgetView())
    if forget.requests or forget.returns:
        key = EffectKey("forget", provider, provider, view.number, 0)
        found.effects.append(Forget(key, provider, view.number, forget.requests, forget.returns))
    elif can(world, provider, FORGET):
        found.wakes.append(forget.next_boot_s)
    extension = owed_extension(world, provider, view.number, now, settings)
    found.effects.extend([extension] if extension is not None else [])
    quotes = tuple(owed_quotes(world, provider, view.number, now))
    found.effects.extend(quote for quote in quotes if not isinstance(quote, float))
    found.wakes.extend(at for at in quotes if isinstance(at, float))
    if refs:
        key = EffectKey("read_some", provider, provider, view.number, 0)
        found.effects.append(ReadSome(key, provider, view.number, refs))
    return found.done()
