"""decide(world, event, now, settings) → Decision: every event has one place here, and nothing else makes changes."""

from functools import reduce

from attrs import evolve

from provisioner.core import (
    cancelling,
    crashes,
    extending,
    forgetting,
    intake,
    intake_supply,
    listing,
    operator,
    outcomes,
    owner,
    planner,
    progress,
    providers,
    quoting,
)
from provisioner.core.events import (
    CallEvent,
    CameDue,
    CancelAnswered,
    ClusterPushed,
    DaemonStarted,
    DemandPushed,
    Described,
    Event,
    ExtendAnswered,
    ForgetAnswered,
    HealthSeen,
    HintEvent,
    LateAnswer,
    Listed,
    ListedPage,
    Moment,
    NoticeGiven,
    PlanningDue,
    ProcessEnded,
    ProcessEvent,
    ProcessNotSpawned,
    ProcessSpawned,
    ProgressTold,
    ProviderHinted,
    ProviderNotOpened,
    ProviderOpened,
    PurchaseEvent,
    QuoteAnswered,
    ReadEvent,
    ReadFailed,
    RequestAnswered,
    RequestAsked,
    ReturnAnswered,
    SourceEvent,
    SupplyPushed,
)
from provisioner.core.evolve import Decision, Draft
from provisioner.core.facts import EpochFact, FactKind
from provisioner.core.lease import PLANNER, provider_lease
from provisioner.core.orders import OperatorEvent, ProviderPaused, ProviderRestarted, ProviderResumed
from provisioner.core.settings import Settings
from provisioner.core.steadiness import with_steadiness
from provisioner.core.world import Seen, World


def decide(world: World, event: Event, now: Moment, settings: Settings) -> Decision:
    """What this event comes to; the world it is decided on stays as it is."""
    return decided(world, event, now, settings).done()


def decided(world: World, event: Event, now: Moment, settings: Settings) -> Draft:
    """The same as `decide`, with the world as it would be after it."""
    draft = with_steadiness(Draft(world), now)
    match event:
        case DaemonStarted():
            return _started(draft, event, now, settings)
        case CameDue(keys):
            return reduce(lambda moved, key: owner.advance(moved, key, now, settings), keys, draft)
        case PlanningDue():
            return planner.plan_pass(draft, now, settings)
        case (
            DemandPushed()
            | SupplyPushed()
            | ClusterPushed()
            | ProviderPaused()
            | ProviderResumed()
            | ProviderRestarted()
        ):
            return _from_people(draft, event, now, settings)
        case RequestAnswered() | RequestAsked() | CancelAnswered() | LateAnswer():
            return _on_purchase(draft, event, now, settings)
        case ForgetAnswered() | ExtendAnswered() | QuoteAnswered() | ReturnAnswered():
            return _from_call(outcomes.landed(draft, event.key), event, now, settings)
        case Listed() | Described() | ReadFailed() | NoticeGiven() | ProgressTold() | ListedPage():
            return _from_news(draft, event, now, settings)
        case (
            ProcessSpawned()
            | ProcessNotSpawned()
            | ProviderOpened()
            | ProviderNotOpened()
            | ProcessEnded()
            | HealthSeen()
            | ProviderHinted()
        ):
            return _from_process(draft, event, now)


def _from_people(draft: Draft, event: SourceEvent | OperatorEvent, now: Moment, settings: Settings) -> Draft:
    match event:
        case ProviderPaused() | ProviderResumed() | ProviderRestarted():
            return operator.take_order(draft, event, now)
        case DemandPushed():
            return intake.take_demand(draft, event, now, settings)
        case SupplyPushed():
            return intake_supply.take_supply(draft, event, now, settings)
        case ClusterPushed(supply, demand):
            return intake.take_demand(intake_supply.take_supply(draft, supply, now, settings), demand, now, settings)


def _from_call(draft: Draft, event: CallEvent, now: Moment, settings: Settings) -> Draft:
    """An effect is in flight until its outcome is taken here."""
    draft = crashes.noted(draft, event)
    match event:
        case ReturnAnswered():
            return outcomes.take_return_answer(draft, event, now, settings)
        case ForgetAnswered():
            return forgetting.take_forgotten(draft, event, now)
        case ExtendAnswered():
            return extending.take_extended(draft, event, now, settings)
        case QuoteAnswered():
            return quoting.take_quoted(draft, event, now)


def _from_read(draft: Draft, event: ReadEvent, now: Moment, settings: Settings) -> Draft:
    draft = crashes.noted(draft, event)
    match event:
        case Listed():
            return listing.take_listed(draft, event, now, settings)
        case Described():
            return providers.take_described(draft, event, now)
        case ReadFailed():
            return providers.take_read_failed(draft, event, now)


def _from_news(draft: Draft, event: ReadEvent | HintEvent, now: Moment, settings: Settings) -> Draft:
    match event:
        case Listed() | Described() | ReadFailed():
            return _from_read(outcomes.landed(draft, event.key), event, now, settings)
        case NoticeGiven():
            return _noticed(draft, event)
        case ProgressTold():
            return progress.take_progress(draft, event, now)
        case ListedPage():
            return listing.take_page(draft, event, now)


def _on_purchase(draft: Draft, event: PurchaseEvent, now: Moment, settings: Settings) -> Draft:
    draft = crashes.noted(draft, event)
    match event:
        case RequestAnswered():
            return outcomes.take_answer(outcomes.landed(draft, event.key), event, now, settings)
        case RequestAsked():
            return outcomes.take_asked(outcomes.landed(draft, event.key), event, now, settings)
        case CancelAnswered():
            return cancelling.take_cancelled(outcomes.landed(draft, event.key), event, now, settings)
        case LateAnswer():
            return outcomes.take_late(draft, event, now)


def _from_process(draft: Draft, event: ProcessEvent, now: Moment) -> Draft:
    match event:
        case ProcessSpawned():
            return providers.take_spawned(outcomes.landed(draft, event.key), event, now)
        case ProcessNotSpawned():
            return providers.take_not_spawned(outcomes.landed(draft, event.key), event, now)
        case ProviderOpened():
            return providers.take_opened(outcomes.landed(draft, event.key), event, now)
        case ProviderNotOpened():
            return providers.take_not_opened(outcomes.landed(draft, event.key), event, now)
        case ProcessEnded():
            return providers.take_ended(draft, event, now)
        case HealthSeen():
            return providers.take_health(draft, event, now)
        case ProviderHinted():
            return providers.take_hint(draft, event, now)


def _noticed(draft: Draft, event: NoticeGiven) -> Draft:
    id = draft.world.by_provider_id.get((event.provider, event.provider_id))
    instance = draft.world.live.get(id) if id is not None else None
    if instance is None or instance.notice == event.notice:
        return draft
    noticed = evolve(instance, notice=None if event.notice.kind == "withdrawn" else event.notice)
    return intake.want_plan(draft.put(FactKind.INSTANCE, instance.id, noticed), at_once=True)


def _started(draft: Draft, event: DaemonStarted, now: Moment, settings: Settings) -> Draft:
    """Each start takes a new epoch of every right to act, forgets what was only observed, and touches everything."""
    epochs: dict[str, int] = {}
    for lease in (PLANNER, *(provider_lease(p) for p in settings.providers)):
        before = draft.world.epochs.get(lease)
        epochs[lease] = (before.epoch if before is not None else 0) + 1
        draft = draft.put(FactKind.EPOCH, lease, EpochFact(epochs[lease], event.holder))
    draft = draft.see(Seen(started_boot_s=now.boot_s, epochs=draft.world.seen.epochs.update(epochs)))
    draft = with_steadiness(draft, now)
    for provider in settings.providers:
        draft = draft.touch_provider(provider)
    return draft
