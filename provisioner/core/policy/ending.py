"""Which purchases that were sent are to be ended early: those of which no line has needed a unit for a while.

It must not know how a purchase is ended, nor judge what has been made of it already.
"""

from collections.abc import Iterable, Iterator

from provisioner.core.capabilities import CANCEL, can
from provisioner.core.events import Moment
from provisioner.core.facts import RequestFact, WishKind
from provisioner.core.policy.demand import LineKey, SourceView, Want
from provisioner.core.policy.netting import Netted
from provisioner.core.policy.standing import Phase
from provisioner.core.policy.words import Cancel
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import ASKED
from provisioner.core.settings import Settings
from provisioner.core.world import World


def unneeded_purchases(
    world: World, netted: Iterable[Netted], sources: dict[str, SourceView], wanted: Iterable[Want]
) -> Iterator[str]:
    """Sent purchases that answer no line any more and could be ended; of a silent source nothing is concluded.

    One that is overdue answers no line, so that others are asked; it is unneeded once its own lines are gone.
    """
    counted: set[str] = set()
    for one in netted:
        pool = one.pool
        if pool.phase is not Phase.ASKED:
            continue
        counted.update(pool.members)
        if one.used == 0 and sources[pool.source].buys:
            yield from (id for id in pool.members if can(world, world.open_requests[id].provider, CANCEL))
    standing = {want.key for want in wanted if want.in_force and want.line.count > 0}
    for request in world.under_way.values():
        if request.id not in counted and _is_overdue_for_nobody(request, sources, standing):
            yield from (request.id,) if can(world, request.provider, CANCEL) else ()


def _is_overdue_for_nobody(
    request: RequestFact, sources: dict[str, SourceView], standing: frozenset[LineKey] | set[LineKey]
) -> bool:
    """Whether every line it was bought for is gone, by the word of sources that are heard."""
    if request.state not in ASKED or request.cancel_at is not None or not request.shares:
        return False
    views = [sources.get(share.source) for share in request.shares]
    heard = all(view is not None and view.buys for view in views)
    return heard and not any((share.source, share.line) in standing for share in request.shares)


def ended_early(
    world: World, settings: Settings, unneeded: Iterable[str], now: Moment, turns_at: list[float]
) -> Iterator[Cancel]:
    """Those unneeded for `policy.shrink_delay` without a break; `turns_at` gets when (epoch) the others will be."""
    for id in unneeded:
        if f"{WishKind.CANCEL}.{id}" in world.wishes:
            continue
        since_boot_s = world.seen.unneeded_since.get(id, now.boot_s)
        due_at = now.at - (now.boot_s - since_boot_s) + settings.policy.shrink_delay_s
        if due_at <= now.at:
            yield Cancel(id, Reason(Why.UNNEEDED))
        else:
            turns_at.append(due_at)
