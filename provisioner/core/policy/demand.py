"""Which lines are in force and how far each source can be believed now; it must not know what is held or bought."""

from collections.abc import Iterable

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.model import Line
from provisioner.core.settings import Settings, SourceSettings
from provisioner.core.world import Heard, World

LineKey = tuple[str, str]
"""(source, line id)."""

_NEVER_HEARD = Heard()


@frozen
class SourceView:
    """How far one source is believed now.

    `buys`: its demand is fresh; `reclaims`: its supply and its demand are. `counted` is the supply snapshot its
    demand has counted, None if it does not say. `supply_at` is when it last said what it has, `fresh_since_at` since
    when it was heard without a gap (both epoch seconds); `has_supply` whether it ever said what it has.
    """

    name: str
    settings: SourceSettings
    buys: bool
    reclaims: bool
    counted: tuple[int, int] | None
    has_supply: bool
    supply_at: float | None
    fresh_since_at: float
    turns_boot_s: float | None


@frozen
class Want:
    """One line as planning sees it; `in_force` lines are bought for and keep hosts."""

    key: LineKey
    line: Line
    priority: int
    in_force: bool
    expired: bool


def source_views(world: World, settings: Settings, now: Moment) -> dict[str, SourceView]:
    """How far each source that ever pushed anything is believed, by name."""
    names = {*world.demands, *world.supplies}
    return {name: _view(world, name, settings.source(name), now) for name in sorted(names)}


def wants(world: World, settings: Settings, sources: dict[str, SourceView], now: Moment) -> list[Want]:
    """All lines in the order in which they are served: priority, then since, then id."""
    found = [
        _want(source, line, settings, sources[source], now)
        for source, demand in world.demands.items()
        for line in demand.lines
    ]
    return sorted(found, key=_order)


def next_turns_boot_s(found: Iterable[Want], sources: dict[str, SourceView], now: Moment) -> list[float]:
    """When a line expires or a source goes silent by time alone, in boot seconds."""
    expiries = [
        now.boot_s + want.line.expires_at - now.at
        for want in found
        if want.line.expires_at is not None and not want.expired
    ]
    return expiries + [view.turns_boot_s for view in sources.values() if view.turns_boot_s is not None]


def may_share(settings: Settings, owner: str, user: str) -> bool:
    """Whether what one consumer has may serve a line of another: only if neither is exclusive."""
    return owner == user or not (settings.consumer(owner).exclusive or settings.consumer(user).exclusive)


def _view(world: World, name: str, settings: SourceSettings, now: Moment) -> SourceView:
    heard = world.seen.heard.get(name, _NEVER_HEARD)
    demand, supply = world.demands.get(name), world.supplies.get(name)
    fresh_demand = _is_fresh(heard.demand_boot_s, settings.fresh_for_s, now)
    fresh_supply = _is_fresh(heard.supply_boot_s, settings.fresh_for_s, now)
    counted = None
    if demand is not None and demand.supply_revision is not None:
        counted = (demand.incarnation, demand.supply_revision)
    return SourceView(
        name=name,
        settings=settings,
        buys=demand is not None and fresh_demand,
        reclaims=fresh_supply and (demand is None or fresh_demand),
        counted=counted,
        has_supply=supply is not None,
        supply_at=_supply_at(heard, None if supply is None else supply.pushed_at, now),
        fresh_since_at=now.at - max(now.boot_s - max(heard.fresh_since_boot_s, world.seen.started_boot_s), 0.0),
        turns_boot_s=_goes_silent_boot_s(heard, settings.fresh_for_s, now),
    )


def _is_fresh(heard_boot_s: float | None, fresh_for_s: float | None, now: Moment) -> bool:
    if fresh_for_s is None:
        return True
    return heard_boot_s is not None and now.boot_s - heard_boot_s < fresh_for_s


def _supply_at(heard: Heard, pushed_at: float | None, now: Moment) -> float | None:
    """A heartbeat says the same again: what was heard last counts, not only what last changed."""
    if heard.supply_boot_s is None or pushed_at is None:
        return pushed_at
    return max(pushed_at, now.at - (now.boot_s - heard.supply_boot_s))


def _goes_silent_boot_s(heard: Heard, fresh_for_s: float | None, now: Moment) -> float | None:
    if fresh_for_s is None:
        return None
    heard_s = [at for at in (heard.demand_boot_s, heard.supply_boot_s) if at is not None]
    later = [at + fresh_for_s for at in heard_s if at + fresh_for_s > now.boot_s]
    return min(later, default=None)


def _want(source: str, line: Line, settings: Settings, view: SourceView, now: Moment) -> Want:
    expired = line.expires_at is not None and line.expires_at <= now.at
    priority = line.priority if line.priority is not None else settings.consumer(line.consumer).priority
    return Want((source, line.id), line, priority, in_force=view.buys and not expired, expired=expired)


def _order(want: Want) -> tuple[int, float, LineKey]:
    since = want.line.since
    return (-want.priority, float("inf") if since is None else since, want.key)
