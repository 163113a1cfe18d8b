"""One planner pass: the order in which policy's questions are asked, and their answers as one plan.

Net, reopen before buying, drop what was never sent, buy, then reclaim. It must not answer a question itself, nor know
how a plan becomes facts.
"""

from collections.abc import Callable, Iterable, Iterator

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.model import Kind, Rejected
from provisioner.core.policy.demand import SourceView, Want, next_turns_boot_s, source_views, wants
from provisioner.core.policy.ending import ended_early, unneeded_purchases
from provisioner.core.policy.explain import why_open
from provisioner.core.policy.netting import Netted, Sheet, net, new_sheet
from provisioner.core.policy.offers import market
from provisioner.core.policy.placement import Desk, bought_for, place, purchases, quotes_wanted
from provisioner.core.policy.reclaim import Court, give_backs, verdicts
from provisioner.core.policy.reopening import reopened
from provisioner.core.policy.standing import REOPENABLE, Phase
from provisioner.core.policy.stock import new_stock
from provisioner.core.policy.survey import Survey, survey
from provisioner.core.policy.usefulness import usefulness
from provisioner.core.policy.words import Drop, Plan
from provisioner.core.reasons import Reason, Why
from provisioner.core.settings import Settings
from provisioner.core.world import LineStatus, World


@frozen(eq=False)
class View:
    """What one pass looks at: sources, lines in order, what is held and coming, and the sheet they are netted on."""

    sources: dict[str, SourceView]
    wanted: list[Want]
    seen: Survey
    sheet: Sheet


def plan(world: World, settings: Settings, now: Moment) -> Plan:
    """What is to be bought, dropped, drained, reopened and given back now, and how every line stands.

    Pure: equal arguments give equal plans. `now.seed` is not used. Times in the world are epoch seconds, in `seen`
    boot seconds.
    """
    sources = source_views(world, settings, now)
    wanted = wants(world, settings, sources, now)
    seen = survey(world, settings, sources, now)
    view = View(sources, wanted, seen, new_sheet(wanted))
    netted = net(wanted, [pool for pool in seen.pools if pool.phase not in REOPENABLE], view.sheet, settings)
    reopens = reopened(wanted, seen.pools, view.sheet, settings)
    desk = _bought(world, settings, view, now)
    unneeded = tuple(sorted(_unneeded(netted, sources)))
    court = Court(
        world,
        settings,
        now,
        useful=usefulness(wanted, settings, _is_wanted),
        waits=usefulness(wanted, settings, _still_waits(view.sheet)),
        reopened=frozenset(choice.instance for choice in reopens),
        unneeded=frozenset(unneeded),
    )
    drains, ended, leaving = verdicts(court, seen.cases)
    asked = tuple(sorted(unneeded_purchases(world, netted, sources, wanted)))
    turns_at = [*seen.turns_at, *court.turns_at, *(desk.market.turns_at if desk is not None else ())]
    cancels = tuple(ended_early(world, settings, asked, now, turns_at))
    return Plan(
        purchases=() if desk is None else purchases(desk),
        drops=tuple(_drops(netted, sources)),
        cancels=cancels,
        drains=tuple(drains),
        reopens=(*reopens, *ended),
        returns=give_backs(world, settings, leaving, now),
        lines=tuple(_statuses(view, desk)),
        unneeded=(*unneeded, *asked),
        quotes=() if desk is None else quotes_wanted(desk, wanted, world),
        wake_boot_s=_wake_boot_s(turns_at, next_turns_boot_s(wanted, sources, now), now),
    )


def _bought(world: World, settings: Settings, view: View, now: Moment) -> Desk | None:
    """Offers are looked at only while something is open."""
    if not any(want.in_force and view.sheet.left[want.key] > 0 for want in view.wanted):
        return None
    offers = market(world, settings, now)
    desk = Desk(settings, offers, new_stock(world, view.seen, offers.offers), view.sheet, now)
    place(desk, view.wanted)
    return desk


def _is_wanted(want: Want) -> bool:
    """A line in force asks for more room until its source says otherwise, also while something is coming for it."""
    return want.line.count > 0


def _still_waits(sheet: Sheet) -> Callable[[Want], bool]:
    return lambda want: sheet.left[want.key] > 0 or sheet.coming.get(want.key, 0) > 0


def _unneeded(netted: Iterable[Netted], sources: dict[str, SourceView]) -> Iterator[str]:
    """Live things that have not joined, or need not, and that no line uses."""
    for one in netted:
        pool = one.pool
        source = sources.get(pool.source)
        if source is None or not source.reclaims:
            continue
        if pool.traits.kind is Kind.GRANT:
            is_spare = one.used == 0 and (pool.own_only or pool.phase is Phase.COMING)
            yield from pool.members if is_spare and pool.phase in (Phase.JOINED, Phase.COMING) else ()
        elif pool.phase is Phase.COMING:
            yield from pool.members[one.used :]


def _drops(netted: Iterable[Netted], sources: dict[str, SourceView]) -> Iterator[Drop]:
    """Purchases never sent that serve no line any more; of a silent source nothing is concluded."""
    for one in netted:
        if one.pool.phase is Phase.PLANNED and one.used == 0 and sources[one.pool.source].buys:
            yield Drop(one.pool.members[0], Reason(Why.UNSENT_DROPPED))


def _statuses(view: View, desk: Desk | None) -> Iterator[LineStatus]:
    refused = {} if desk is None else desk.refused
    new = set() if desk is None else bought_for(desk)
    for want in view.wanted:
        sheet, key, count = view.sheet, want.key, want.line.count
        met, in_flight = sheet.met.get(key, 0), sheet.in_flight.get(key, 0)
        rejected, others = refused.get(key, ((), 0))
        yield LineStatus(
            source=key[0],
            line=key[1],
            count=count,
            met=met,
            in_flight=in_flight,
            open=count - met - in_flight,
            reason=_reason(want, count - met - in_flight, in_flight, key in new, (rejected, others)),
            rejected=rejected,
            expected_at=sheet.expected_at.get(key),
        )


def _reason(want: Want, open_: int, in_flight: int, is_new: bool, refused: tuple[tuple[Rejected, ...], int]) -> Reason:
    if open_ > 0:
        if want.expired:
            return Reason(Why.EXPIRED)
        return why_open(*refused) if want.in_force else Reason(Why.SOURCE_SILENT, want.key[0])
    if is_new:
        return Reason(Why.BOUGHT)
    return Reason(Why.IN_FLIGHT if in_flight else Why.MET)


def _wake_boot_s(turns_at: Iterable[float], turns_boot_s: Iterable[float], now: Moment) -> float | None:
    """The earliest time, by the boot clock, at which time alone changes the answer."""
    times = [now.boot_s + at - now.at for at in turns_at if at > now.at]
    return min((at for at in (*times, *turns_boot_s) if at > now.boot_s), default=None)
