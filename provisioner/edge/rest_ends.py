"""How a provider's process has ended lately, and what was left alone for it, as it is shown.

It alone knows the shape of an end over REST; what follows from one is the core's knowledge.
"""

from provisioner.core.crashes import is_parked, is_suspect, parked_records
from provisioner.core.events import Moment
from provisioner.core.facts import RequestFact, ReturnFact
from provisioner.core.world import Ask, End, ListView, ProcessView, World
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_times import time_text

PARKED_SHOWN = 100


def ends_json(world: World, name: str, now: Moment) -> Json:
    """The last ends of its process that nobody ordered, oldest first, and what is parked or asked seldom for them."""
    view = world.seen.processes.get(name, ProcessView())
    return {
        "last_end": view.last_end or None,
        "ends": [_end(end, now) for end in view.ends],
        "parked": list(parked_records(world, name)[:PARKED_SHOWN]),
        "asked_seldom": _asked_seldom(world, name, view),
    }


def frames_json(record: RequestFact | ReturnFact) -> Json:
    """How many frames carried it, at how many ends of the process one was open, and whether it is parked for that."""
    return {"frames": record.frames, "crashes": record.crashes, "parked": is_parked(record)}


def _end(end: End, now: Moment) -> Json:
    return {
        "at": time_text(now.at + end.at_boot_s - now.boot_s),
        "reason": end.reason,
        "open": list(end.open),
        "open_count": end.open_count,
        "last_words": end.last_words or None,
    }


def _asked_seldom(world: World, name: str, view: ProcessView) -> list[str]:
    """Questions that were open at two ends or more in a row: as `method` or `method record`."""
    lists = world.seen.lists.get(name, ListView())
    found = ["describe"] if is_suspect(view.describe_crashes) else []
    found += ["list"] if is_suspect(lists.crashes) else []
    found += ["list of named instances"] if is_suspect(lists.named_crashes) else []
    asks = world.seen.asks
    for method, records in (("request_status", world.open_requests), ("return_status", world.open_returns)):
        mine = (r.id for r in records.values() if r.provider == name)
        found += [f"{method} {id}" for id in mine if is_suspect(asks.get(id, Ask()).crashes)][:PARKED_SHOWN]
    return found
