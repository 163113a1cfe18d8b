"""What sources said, how their lines stand, and the answers to their pushes.

It alone knows the shape of demand and supply on their way out; how a line is met is the policy's knowledge.
"""

from collections.abc import Sequence

from provisioner.core.events import Moment
from provisioner.core.evolve import Accepted, RefusedPush, Reply
from provisioner.core.facts import DemandFact, SupplyFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Line, SupplyEntry
from provisioner.core.settings import Settings
from provisioner.core.world import Heard, LineStatus, World
from provisioner.edge.rest_fault import Json, error_body
from provisioner.edge.rest_instances import drain_json
from provisioner.edge.rest_shape import amounts_json, rejected_json
from provisioner.edge.rest_times import time_text

NOT_PLANNED = "not planned yet"
_CLOSED = (EntryState.DRAINING, EntryState.DRAINED)
_SERVING = (InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN)


def all_demand(world: World, now: Moment, settings: Settings) -> Json:
    """The demand of every source."""
    return {"sources": [one_demand(world, source, now, settings) for source in sorted(world.demands)]}


def all_supply(world: World, now: Moment, settings: Settings) -> Json:
    """The supply of every source."""
    return {"sources": [one_supply(world, source, now, settings) for source in sorted(world.supplies)]}


def one_demand(world: World, source: str, now: Moment, settings: Settings) -> Json | None:
    """What one source lacks and how each line stands; None if it never said."""
    fact = world.demands.get(source)
    if fact is None:
        return None
    heard = world.seen.heard.get(source, Heard())
    statuses = {s.line: s for s in world.seen.plan.lines if s.source == source}
    return {
        "source": source,
        "incarnation": fact.incarnation,
        "revision": fact.revision,
        "supply_revision": fact.supply_revision,
        **_ages(fact, heard.demand_boot_s, now),
        "fresh": _is_fresh(heard.demand_boot_s, source, now, settings),
        "lines": [_line(line, statuses.get(line.id)) for line in fact.lines],
    }


def one_supply(world: World, source: str, now: Moment, settings: Settings) -> Json | None:
    """What one source has; None if it never said."""
    fact = world.supplies.get(source)
    if fact is None:
        return None
    heard = world.seen.heard.get(source, Heard())
    return {
        "source": source,
        "incarnation": fact.incarnation,
        "revision": fact.revision,
        **_ages(fact, heard.supply_boot_s, now),
        "fresh": _is_fresh(heard.supply_boot_s, source, now, settings),
        "held_back": list(fact.shrunk.instances) if fact.shrunk is not None else [],
        "entries": [_entry(entry) for entry in fact.entries],
    }


def one_cluster(world: World, source: str, now: Moment, settings: Settings) -> Json | None:
    """Both snapshots of one source; None if it never said anything."""
    demand, supply = one_demand(world, source, now, settings), one_supply(world, source, now, settings)
    if demand is None and supply is None:
        return None
    return {"source": source, "demand": demand, "supply": supply}


def _is_fresh(heard_boot_s: float | None, source: str, now: Moment, settings: Settings) -> bool:
    fresh_for_s = settings.source(source).fresh_for_s
    return fresh_for_s is None or (heard_boot_s is not None and now.boot_s - heard_boot_s < fresh_for_s)


def _ages(fact: DemandFact | SupplyFact, heard_boot_s: float | None, now: Moment) -> Json:
    """`heard_at` also counts heartbeats; it is null if the source was not heard since this start."""
    age_s = None if heard_boot_s is None else max(0.0, now.boot_s - heard_boot_s)
    return {
        "pushed_at": time_text(fact.pushed_at),
        "heard_at": None if age_s is None else time_text(now.at - age_s),
        "age_s": None if age_s is None else round(age_s, 3),
    }


def _line(line: Line, status: LineStatus | None) -> Json:
    """The line with count = met + in_flight + open; a line no pass has looked at as it is now is open as a whole."""
    found: Json = {"id": line.id, "kind": line.kind.value, "consumer": line.consumer, "each": amounts_json(line.each)}
    if line.resource is not None:
        found["resource"] = line.resource
    found |= {"alone": line.alone, "priority": line.priority, "since": time_text(line.since)}
    found["expires"] = time_text(line.expires_at)
    if status is None or status.count != line.count:
        reason: Json = {"code": "not_planned", "sentence": NOT_PLANNED}
        standing: Json = {"count": line.count, "met": 0, "in_flight": 0, "open": line.count, "reason": reason}
        return found | standing | {"rejected": [], "expected_at": None}
    standing = {
        "count": status.count,
        "met": status.met,
        "in_flight": status.in_flight,
        "open": status.open,
        "reason": {"code": status.reason.why.value, "sentence": status.reason.sentence()},
        "rejected": rejected_json(status.rejected),
        "expected_at": time_text(status.expected_at),
    }
    return found | standing


def _entry(entry: SupplyEntry) -> Json:
    return {
        "instance": entry.instance,
        "name": entry.name,
        "state": entry.state.value,
        "since": time_text(entry.since),
        "drain": entry.drain,
        "in_use": entry.in_use,
        "size": amounts_json(entry.size),
        "joined_at": time_text(entry.joined_at),
    }


# --- answers to pushes ------------------------------------------------------------------------------------------------


def accepted_json(world: World, source: str, replies: Sequence[Reply]) -> Json:
    """The answer to a push that counts: what stands now, what to drain, what may serve again, what is none of ours."""
    accepted = [r for r in replies if isinstance(r, Accepted)]
    last = accepted[-1]
    return {
        "current": {"incarnation": last.incarnation, "revision": last.revision}
        if len(accepted) == 1
        else _both(accepted),
        "news": any(r.news for r in accepted),
        "held_back": next((r.held_back for r in accepted if r.held_back), None),
        "drain": _drains(world, source),
        "reopened": _reopened(world, source),
        "unmatched": [name for r in accepted for name in r.unmatched],
    }


def _both(replies: Sequence[Accepted | RefusedPush]) -> Json:
    """The supply comes first, as it is taken in."""
    return {
        what: {"incarnation": reply.incarnation, "revision": reply.revision}
        for what, reply in zip(("supply", "demand"), replies, strict=True)
    }


def _drains(world: World, source: str) -> list[Json]:
    """Every instance bought for this source that is to take no new work and is not gone."""
    return [
        {"instance": i.id, "name": i.name, **(drain_json(i.drain) or {})}
        for i in world.live.values()
        if i.drain is not None and any(share.source == source for share in i.shares)
    ]


def _reopened(world: World, source: str) -> list[str]:
    """Instances the source holds closed though no drain asks for it any more."""
    supply = world.supplies.get(source)
    found = []
    for entry in supply.entries if supply is not None else ():
        instance = world.live.get(entry.instance)
        if instance is None or instance.state not in _SERVING or instance.return_id is not None:
            continue
        if entry.state in _CLOSED and instance.drain is None:
            found.append(instance.id)
    return found


_REFUSED = {
    "stale_revision": (
        "is older than what stands",
        "send a higher revision; a source that lost its counter takes a higher incarnation",
    ),
    "revision_reused": ("was used before with other content", "send the new content under a higher revision"),
}


def refused_json(replies: Sequence[Reply]) -> Json | None:
    """The error of a push of which a part does not count, None if all of it does; `current` is what stands."""
    answers = [r for r in replies if isinstance(r, Accepted | RefusedPush)]
    refused = [r for r in answers if isinstance(r, RefusedPush)]
    if not refused:
        return None
    first = refused[0]
    what, remedy = _REFUSED[first.code]
    message = f"this revision of the {first.what} {what}; it was not taken in"
    if len(replies) == 1:
        return error_body(
            first.code, message, remedy, current={"incarnation": first.incarnation, "revision": first.revision}
        )
    if len(refused) < len(replies):
        message += f", but the {'demand' if first.what == 'supply' else 'supply'} beside it was"
    return error_body(first.code, message, remedy, current=_both(answers))
