"""What is held and what is still coming, seen in one pass over the live instances and the open purchases.

It sorts everything into pools of equal room that may be netted, and into cases that reclaim may have to look at; it
must not know what any line wants, nor decide anything.
"""

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.model import EntryState
from provisioner.core.policy.demand import SourceView
from provisioner.core.policy.pools import Pool, likeness, pool_of, request_pool, slots_of, unmade
from provisioner.core.policy.standing import Case, look
from provisioner.core.settings import Settings
from provisioner.core.world import World


@frozen(eq=False)
class Survey:
    """The outcome of the pass; `held` is everything not proven gone, in units by (provider, template)."""

    pools: tuple[Pool, ...]
    cases: tuple[Case, ...]
    held: dict[tuple[str, str], int]
    turns_at: list[float]


def survey(world: World, settings: Settings, sources: dict[str, SourceView], now: Moment) -> Survey:
    """Look at every live instance and open purchase once; `turns_at` are the times (epoch) at which this alone
    changes.
    """
    entries = {e.instance: (name, e) for name, supply in world.supplies.items() for e in supply.entries}
    held: dict[tuple[str, str], int] = {}
    cases: list[Case] = []
    turns_at: list[float] = []
    pooled: dict[tuple[object, ...], list[Case]] = {}
    for instance in world.live.values():
        offer = (instance.provider, instance.template)
        held[offer] = held.get(offer, 0) + instance.units
        case, until_at = look(world, settings, sources, instance, entries.get(instance.id), now)
        if until_at is not None and until_at > now.at:
            turns_at.append(until_at)
        if case.entry is None or case.entry.state is not EntryState.BUSY or case.drain or instance.notice:
            cases.append(case)
        if case.phase is not None and case.source is not None and slots_of(case):
            pooled.setdefault(likeness(case), []).append(case)
    pools = [pool_of(world, settings, alike) for alike in pooled.values()]
    for request in world.open_requests.values():
        offer = (request.provider, request.template)
        held[offer] = held.get(offer, 0) + unmade(request)
        pools += request_pool(settings, request, now, turns_at)
    cases.sort(key=lambda case: case.instance.id)
    pools.sort(key=lambda pool: (pool.phase, pool.traits.provider, pool.traits.template, pool.members[0]))
    return Survey(tuple(pools), tuple(cases), held, turns_at)
