"""What is drained, reopened and given back: only what is idle or unneeded, past its hold, of a source that can be
believed.

Silence never returns a host. It must not know how a give-back is carried out, nor what is bought.
"""

from collections.abc import Callable, Iterable, Sequence

from attrs import field, frozen

from provisioner.core.events import Moment
from provisioner.core.instance import InstanceState
from provisioner.core.model import Drain, DrainKind, EntryState, Kind
from provisioner.core.policy.demand import SourceView
from provisioner.core.policy.standing import SERVING, Case
from provisioner.core.policy.words import DrainChoice, GiveBack, ReopenChoice
from provisioner.core.reasons import Reason, Why
from provisioner.core.settings import Settings
from provisioner.core.world import World

_ANSWERS = frozenset({EntryState.DRAINING, EntryState.DRAINED})


@frozen(eq=False)
class Leave:
    """One instance that may be given back now; `why` is the contract's word."""

    provider: str
    instance: str
    why: str
    reason: Reason


Verdict = DrainChoice | ReopenChoice | Leave | None


@frozen(eq=False)
class Court:
    """What judging needs: the views, what is useful and unneeded, and when (epoch) time alone would change a verdict.

    `useful(case)` is whether a line in force wants such a host; `waits(case)` whether one still waits for room.
    """

    world: World
    settings: Settings
    now: Moment
    useful: Callable[[Case], bool]
    waits: Callable[[Case], bool]
    reopened: frozenset[str]
    unneeded: frozenset[str]
    turns_at: list[float] = field(factory=list)

    def is_past(self, at: float) -> bool:
        """Whether a time has come; if not, it is remembered as one to wake at."""
        if at <= self.now.at:
            return True
        self.turns_at.append(at)
        return False


def judge(court: Court, case: Case) -> Verdict:
    """What is to be done with one instance, by itself: nothing, in most cases."""
    instance, source = case.instance, case.source
    if instance.return_id is not None or instance.state in (InstanceState.RETURNING, InstanceState.GONE):
        return None
    if instance.state not in SERVING or instance.kind is Kind.REMNANT:
        return _useless(case)
    if instance.notice is not None and (case.drain is None or case.drain.kind is DrainKind.ASK):
        return DrainChoice(
            instance.id, DrainKind.FIRM, Reason(Why.NOTICE, instance.notice.kind), instance.notice.deadline_at
        )
    if source is None:
        return _leave(case, "surplus", Why.SURPLUS) if instance.surplus and _held_enough(court, case) else None
    if not source.reclaims or instance.id in court.reopened:
        return None
    if case.drain is not None:
        return _drained(court, case, source, case.drain)
    if case.entry is None:
        return _unjoined(court, case, source)
    return _idle(court, case, source) if case.entry.state is EntryState.IDLE else None


def give_backs(world: World, settings: Settings, leaving: Iterable[Leave], now: Moment) -> tuple[GiveBack, ...]:
    """Those that may leave now, together by provider and reason; the others wait until earlier ones are proven gone.

    Give-backs that are stuck do not hold up others.
    """
    room = _room_for_returns(world, settings, now)
    grouped: dict[tuple[str, str, Why], list[Leave]] = {}
    for leave in sorted(leaving, key=lambda leave: (leave.provider, leave.instance)):
        left = room.get(leave.provider, settings.policy.reclaim.parallel_returns)
        if left > 0:
            room[leave.provider] = left - 1
            grouped.setdefault((leave.provider, leave.why, leave.reason.why), []).append(leave)
    return tuple(
        GiveBack(provider, tuple(leave.instance for leave in group), why, group[0].reason)
        for (provider, why, _), group in grouped.items()
    )


def _room_for_returns(world: World, settings: Settings, now: Moment) -> dict[str, int]:
    room: dict[str, int] = {}
    for giveback in world.open_returns.values():
        if now.at < giveback.planned_at + settings.return_retry.stuck_after_s:
            left = room.get(giveback.provider, settings.policy.reclaim.parallel_returns)
            room[giveback.provider] = left - sum(item.instance in world.live for item in giveback.items)
    return room


def _useless(case: Case) -> Verdict:
    """Never usable, or what outlived something: nobody has to be asked. Giving back what vanished is the cheapest
    proof.
    """
    state = case.instance.state
    if case.instance.kind is Kind.REMNANT:
        return _leave(case, "surplus", Why.SURPLUS, "a remnant")
    if state is InstanceState.VANISHED:
        return _leave(case, "surplus", Why.SURPLUS, "vanished")
    return _leave(case, "never_joined", Why.FAILED)


def _drained(court: Court, case: Case, source: SourceView, drain: Drain) -> Verdict:
    """What becomes of a drain: work and need end one that only asks, the answer by its id completes it, silence
    reopens it.
    """
    instance, entry = case.instance, case.entry
    if entry is None:
        return _consent(court, case, source, drain)
    asks = drain.kind is DrainKind.ASK
    if entry.state is EntryState.BUSY:
        return ReopenChoice(instance.id, Reason(Why.BUSY, entry.name)) if asks else None
    answered = entry.drain == drain.id and entry.state in _ANSWERS
    if answered and entry.state is EntryState.DRAINED:
        may_go = not asks or _held_enough(court, case)
        return _leave(case, *_why_drained(drain, case)) if may_go else None
    if answered or not asks:
        return None
    if court.waits(case):
        return ReopenChoice(instance.id, Reason(Why.WANTED_AGAIN))
    waited_from = max(drain.asked_at, source.fresh_since_at)
    if not court.is_past(waited_from + court.settings.policy.drain.answer_within_s):
        return None
    return ReopenChoice(instance.id, Reason(Why.DRAIN_UNANSWERED, drain.id))


def _consent(court: Court, case: Case, source: SourceView, drain: Drain) -> Verdict:
    """A source that does not list it, and has had the time to see the drain, consents."""
    due_at = drain.asked_at + court.settings.policy.drain.answer_within_s
    if not court.is_past(due_at) or source.supply_at is None or source.supply_at < due_at:
        return None
    if drain.kind is DrainKind.ASK and not _held_enough(court, case):
        return None
    return _leave(case, *_why_drained(drain, case))


def _why_drained(drain: Drain, case: Case) -> tuple[str, Why]:
    if drain.kind is DrainKind.ASK:
        return ("surplus", Why.SURPLUS) if case.entry is None else ("idle", Why.DRAINED)
    if case.instance.notice is not None:
        return "idle", Why.NOTICE
    return ("never_joined", Why.NEVER_JOINED) if case.entry is None else ("operator", Why.DRAINED)


def _unjoined(court: Court, case: Case, source: SourceView) -> Verdict:
    """Too late to join, or not needed any more before it did."""
    instance = case.instance
    if case.joins_by_at is not None and case.joins_by_at <= court.now.at:
        return _part(case, source, DrainKind.FIRM, "never_joined", Reason(Why.NEVER_JOINED))
    if instance.id not in court.unneeded:
        return None
    since_boot_s = court.world.seen.unneeded_since.get(instance.id, court.now.boot_s)
    since_at = court.now.at - (court.now.boot_s - since_boot_s)
    if not court.is_past(since_at + _patience_s(court, case, source)) or not _held_enough(court, case):
        return None
    return _part(case, source, DrainKind.ASK, "surplus", Reason(Why.SURPLUS))


def _patience_s(court: Court, case: Case, source: SourceView) -> float:
    """How long something unneeded is kept: a grant, and what nobody can be asked about, as long as an idle host."""
    if case.instance.kind is Kind.GRANT or source.settings.handshake == "none":
        return _idle_time_s(court.settings, case)
    return 0.0 if case.instance.surplus else court.settings.policy.shrink_delay_s


def _idle(court: Court, case: Case, source: SourceView) -> Verdict:
    """Idle beyond idle time by the source's word and by our own eyes, past its hold, and of no use to a line in
    force.
    """
    instance, entry = case.instance, case.entry
    seen_boot_s = court.world.seen.idle_since.get(instance.id)
    if entry is None or seen_boot_s is None:
        return None
    seen_at = court.now.at - (court.now.boot_s - seen_boot_s)
    since_at = seen_at if entry.since is None else max(seen_at, entry.since)
    due_at = since_at + _idle_time_s(court.settings, case)
    if instance.reopened_at is not None:
        due_at = max(due_at, instance.reopened_at + _after_reopening_s(court.settings, case))
    if not court.is_past(due_at) or not _held_enough(court, case) or court.useful(case):
        return None
    return _part(case, source, DrainKind.ASK, "idle", Reason(Why.IDLE, entry.name))


def _after_reopening_s(settings: Settings, case: Case) -> float:
    """A drain that was not answered is tried again later; one that was ended by need, after another idle time."""
    if case.instance.reopened_why == Why.DRAIN_UNANSWERED:
        return settings.policy.drain.retry_s
    return _idle_time_s(settings, case)


def _part(case: Case, source: SourceView, kind: DrainKind, why: str, reason: Reason) -> Verdict:
    """Ask the source first; where there is nobody to ask, it goes at once."""
    asks = source.settings.handshake == "drain" and not (case.instance.kind is Kind.GRANT and case.entry is None)
    return DrainChoice(case.instance.id, kind, reason) if asks else Leave(
        case.instance.provider, case.instance.id, why, reason
    )  # fmt: skip


def _leave(case: Case, word: str, why: Why, detail: str = "") -> Leave:
    return Leave(case.instance.provider, case.instance.id, word, Reason(why, detail))


def _held_enough(court: Court, case: Case) -> bool:
    """Past the hold its terms and the operator ask for."""
    hold_s = max(float(case.instance.terms.hold_min_s), court.settings.policy.reclaim.min_hold_s or 0.0)
    return hold_s <= 0 or court.is_past(case.instance.made_at + hold_s)


def _idle_time_s(settings: Settings, case: Case) -> float:
    entry = settings.providers.get(case.instance.provider)
    said = None if entry is None or not entry.templates else entry.override(case.instance.template).idle_time_s
    return settings.policy.reclaim.idle_time_s if said is None else said


def verdicts(court: Court, cases: Sequence[Case]) -> tuple[list[DrainChoice], list[ReopenChoice], list[Leave]]:
    """All verdicts, sorted by what they ask for."""
    drains: list[DrainChoice] = []
    reopens: list[ReopenChoice] = []
    leaving: list[Leave] = []
    for case in cases:
        match judge(court, case):
            case DrainChoice() as drain:
                drains.append(drain)
            case ReopenChoice() as reopen:
                reopens.append(reopen)
            case Leave() as leave:
                leaving.append(leave)
            case None:
                pass
    return drains, reopens, leaving
