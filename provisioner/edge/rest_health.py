"""Whether the daemon can do its work, in one object: ok, starting or degraded, with every reason.

It alone knows what counts as degraded; it must not know how that comes about.
"""

from collections import Counter

from provisioner.core.costs import hourly_nanos
from provisioner.core.crashes import is_parked
from provisioner.core.events import Moment
from provisioner.core.facts import ReturnFact
from provisioner.core.money import decimal_text
from provisioner.core.policy.demand import source_views
from provisioner.core.process import ProcessState
from provisioner.core.settings import Settings
from provisioner.core.trust import has_lost_memory
from provisioner.core.world import ListView, ProcessView, World
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_providers import is_ready
from provisioner.edge.rest_times import time_text

UNLISTED_TIMES, UNLISTED_S = 5, 60.0
"""A provider's list is late after so many times `list.every`, and not before so many seconds."""


def health(world: World | None, unwritable: str | None, now: Moment, settings: Settings, version: str) -> Json:
    """`status` ok, starting or degraded; `reasons` are sentences, empty where all is well."""
    found: Json = {"version": version, "cluster": settings.cluster}
    facts: Json = {"writable": unwritable is None, "why": unwritable}
    if world is None:
        reasons = ["the facts are being loaded"]
        return {"status": "starting", "reasons": reasons, **found, "lineage": None, "uptime_s": None, "facts": facts}
    reasons = _reasons(world, unwritable, now, settings)
    uptime_s = round(max(0.0, now.boot_s - world.seen.started_boot_s), 3)
    status = "degraded" if reasons else "ok"
    return {
        "status": status, "reasons": reasons, **found, "lineage": world.lineage, "uptime_s": uptime_s, "facts": facts
    }  # fmt: skip


def _reasons(world: World, unwritable: str | None, now: Moment, settings: Settings) -> list[str]:
    reasons = [] if unwritable is None else [f"the facts can't be written: {unwritable}; nothing new is bought"]
    for name in sorted(settings.providers):
        if not is_ready(world, name):
            reasons.append(f"provider {name} is not ready: {not_ready_because(world, name)}")
        elif _is_unlisted(world, name, now, settings):
            reasons.append(_unlisted(world, name, now))
    for name, lists in sorted(world.seen.lists.items()):
        if lists.strangers:
            reasons.append(
                f"provider {name} lists {len(lists.strangers)} things that no fact knows: they may cost money; "
                f"see `provisioner providers {name}`"
            )
    reasons += _left_open(world, now, settings)
    reasons += [_distrusted(world, name) for name in sorted(settings.providers) if _is_distrusted(world, name)]
    for name, source in source_views(world, settings, now).items():
        if name in world.demands and not source.buys:
            reasons.append(f"source {name} is silent: nothing new is bought for it")
    return reasons


def _is_unlisted(world: World, name: str, now: Moment, settings: Settings) -> bool:
    """Whether a provider's process is up, and yet none of its lists was read to its end for long."""
    view = world.seen.processes.get(name, ProcessView())
    begun = world.seen.lists.get(name, ListView()).complete_begun_boot_s
    since = max(begun or 0.0, view.since_boot_s)
    return now.boot_s - since > max(UNLISTED_S, UNLISTED_TIMES * settings.list_every_s)


def _unlisted(world: World, name: str, now: Moment) -> str:
    """Since when, what the provider said of it last, and what to do."""
    begun = world.seen.lists.get(name, ListView()).complete_begun_boot_s
    since = "since the start" if begun is None else f"since {time_text(now.at - (now.boot_s - begun))}"
    problem = world.seen.processes.get(name, ProcessView()).problem
    said = "" if problem is None else f" ({problem.error_class}: {problem.detail or 'no detail given'})"
    return (
        f"no whole list of provider {name} was read {since}{said}: what came or went there is not known; see "
        f"`provisioner provider logs {name}` and `provisioner provider call {name} list`"
    )


def _is_distrusted(world: World, name: str) -> bool:
    description = world.descriptions.get(name)
    return has_lost_memory(world, name) or (description is not None and bool(description.broken))


def _distrusted(world: World, name: str) -> str:
    """What of a provider's word does not count any more, and what to do."""
    if has_lost_memory(world, name):
        return (
            f"provider {name} has lost its records: nothing is bought from it and none of its lists is proof; put its "
            f"state folder back, or look at its far side, then `provisioner provider resume {name}`"
        )
    broken = ", ".join(dict.fromkeys(b.promise for b in world.descriptions[name].broken))
    return (
        f"provider {name} has broken what it promised ({broken}): it is believed no more in that; see `provisioner "
        f"providers {name}`, and `provisioner provider resume {name}` once it is mended"
    )


def _left_open(world: World, now: Moment, settings: Settings) -> list[str]:
    """Give-backs that do not come to an end, with what that costs, and purchases that are parked, by provider."""
    stuck: dict[str, list[ReturnFact]] = {}
    for giveback in world.open_returns.values():
        is_late = now.at - giveback.planned_at >= settings.return_retry.stuck_after_s
        if is_late or is_parked(giveback):
            stuck.setdefault(giveback.provider, []).append(giveback)
    reasons = [_stuck(world, name, stuck[name], settings.money.currency) for name in sorted(stuck)]
    parked = Counter(r.provider for r in world.open_requests.values() if is_parked(r))
    for name, count in sorted(parked.items()):
        reasons.append(
            f"provider {name} has ended twice with {_count(count, 'purchase')} open: never sent again by itself, its "
            f"money stays reserved; see `provisioner providers {name}`"
        )
    return reasons


def _stuck(world: World, name: str, givebacks: list[ReturnFact], currency: str) -> str:
    living = [world.live[i.instance] for g in givebacks for i in g.items if i.instance in world.live]
    since = time_text(min(g.planned_at for g in givebacks))
    unpriced = sum(1 for instance in living if instance.terms.price is None)
    more = f" and {_count(unpriced, 'thing')} of unknown price" if unpriced else ""
    return (
        f"provider {name} does not take back {_count(len(living), 'thing')} ({_count(len(givebacks), 'give-back')}): "
        f"costing {decimal_text(sum(hourly_nanos(i) for i in living))} {currency}/h{more} since {since}; "
        f"see `provisioner requests --provider {name}`"
    )


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def not_ready_because(world: World, name: str) -> str:
    """Why a provider is not ready, in a few words."""
    view = world.seen.processes.get(name, ProcessView())
    if view.auth_failed:
        return "its credentials are refused"
    if view.state is ProcessState.READY:
        return "it has not described itself yet"
    return f"its process is {view.state.value.replace('_', ' ')}" + (f" ({view.last_end})" if view.last_end else "")
