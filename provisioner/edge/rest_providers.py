"""Providers as they are shown: how each one's process stands, what it offers, and what is left alone for how long.

It alone knows the shape of a provider over REST; it judges nothing. Nothing of a provider's own configuration is shown.
"""

from collections import Counter

from attrs import evolve, fields, frozen

from provisioner.core.events import Moment
from provisioner.core.facts import DescriptionFact, HealthFact, ProcessFact
from provisioner.core.lease import provider_lease
from provisioner.core.model import Template
from provisioner.core.money import decimal_text
from provisioner.core.policy.offers import Offer, market
from provisioner.core.process import ProcessState
from provisioner.core.reasons import SENTENCES, Why
from provisioner.core.restarts import left_alone_until_boot_s
from provisioner.core.settings import ProviderSettings, Settings
from provisioner.core.standing_orders import pause_of
from provisioner.core.world import ListView, ProcessView, World
from provisioner.edge.rest_ends import ends_json
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_shape import amounts_json, attributes_json, place_json, price_json, problem_json
from provisioner.edge.rest_times import time_text

STRANGERS_SHOWN = 100
_WAITING = (ProcessState.BACKING_OFF, ProcessState.QUARANTINED)


@frozen(eq=False)
class _Counts:
    """What is counted once for all providers of one answer."""

    instances: Counter[str]
    units: Counter[str]
    calls: dict[str, Counter[str]]
    blocked: dict[str, list[tuple[str, HealthFact]]]


def all_providers(world: World, now: Moment, settings: Settings) -> Json:
    """Every configured provider, and those of which something is known though the configuration lacks them."""
    counts = _counted(world)
    return {"providers": [_summary(world, name, now, settings, counts) for name in _names(world, settings)]}


def one_provider(world: World, name: str, now: Moment, settings: Settings) -> Json | None:
    """One provider with its templates and promises; None if nobody knows it."""
    if name not in _names(world, settings):
        return None
    found = _summary(world, name, now, settings, _counted(world))
    description = world.descriptions.get(name)
    found["templates"] = _templates(world, name, now, settings)
    found["limits"] = [
        {"limit": limit.limit, "name": limit.name, "max": limit.most, "used": limit.used}
        for limit in (description.limits if description is not None else ())
    ]
    found["promises"] = _promises(description)
    found["strangers"] = list(world.seen.lists.get(name, ListView()).strangers[:STRANGERS_SHOWN])
    return found


def _names(world: World, settings: Settings) -> list[str]:
    living = {i.provider for i in world.live.values()}
    return sorted({*settings.providers, *living})


def _counted(world: World) -> _Counts:
    instances, units = Counter[str](), Counter[str]()
    for instance in world.live.values():
        instances[instance.provider] += 1
        units[instance.provider] += instance.units
    calls: dict[str, Counter[str]] = {}
    for key in world.seen.in_flight:
        calls.setdefault(key.provider, Counter())[key.effect] += 1
    blocked: dict[str, list[tuple[str, HealthFact]]] = {}
    for id, health in world.health.items():
        provider, _, template = id.partition("/")
        blocked.setdefault(provider, []).append((template, health))
    return _Counts(instances, units, calls, blocked)


def is_ready(world: World, name: str) -> bool:
    """Whether the provider can be bought from, as far as its process and credentials go."""
    view = world.seen.processes.get(name, ProcessView())
    return view.state is ProcessState.READY and not view.auth_failed and view.described_boot_s is not None


def state_of(world: World, name: str) -> str:
    """Where the provider's process stands, in one word."""
    return world.seen.processes.get(name, ProcessView()).state.value


def paused_json(world: World, name: str, now: Moment) -> Json | None:
    """An operator's pause that is in force, None if there is none."""
    pause = pause_of(world, name, now)
    if pause is None:
        return None
    until, since = time_text(pause.until_at), time_text(pause.at)
    return {"until": until, "since": since, "by": pause.by or None, "why": pause.why or None}


def _list_json(lists: ListView) -> Json | None:
    """How the newest list was, None before the first: absence is believed only by complete ones."""
    if not lists.passes:
        return None
    return {
        "complete": lists.is_complete,
        "missing_places": [place_json(p) for p in lists.missing],
        "problems": [problem_json(p) for p in lists.problems],
    }


def _described_json(description: DescriptionFact | None) -> Json:
    """Which program it is, how much it offers, and since when that is known."""
    return {
        "program": description.provider_name if description is not None else None,
        "version": description.provider_version if description is not None else None,
        "template_count": len(description.templates) if description is not None else 0,
        "described_at": time_text(description.read_at) if description is not None else None,
    }


def _trust_json(process: ProcessFact | None, description: DescriptionFact | None) -> Json:
    """What of its word does not count: since when its records are lost, and promises it was seen to break."""
    broken = description.broken if description is not None else ()
    return {
        "memory_lost_at": time_text(process.memory_lost_at) if process is not None else None,
        "broken_promises": [{"promise": b.promise, "why": b.why, "at": time_text(b.at)} for b in broken],
    }


def _summary(world: World, name: str, now: Moment, settings: Settings, counts: _Counts) -> Json:
    view = world.seen.processes.get(name, ProcessView())
    process, description = world.processes.get(name), world.descriptions.get(name)
    lists = world.seen.lists.get(name, ListView())
    waits_until = left_alone_until_boot_s(world, name) if view.state in _WAITING else None
    calls = counts.calls.get(name, Counter())
    blocked = [_blocked(t, h) for t, h in sorted(counts.blocked.get(name, []), key=_first) if _is_blocking(h, now)]
    return {
        "provider": name,
        "configured": name in settings.providers,
        "state": view.state.value,
        "ready": is_ready(world, name),
        "number": view.number or None,
        "pid": process.pid if process is not None and view.is_running else None,
        "paused": paused_json(world, name, now),
        "epoch": world.seen.epochs.get(provider_lease(name)),
        "health": view.health,
        "problem": problem_json(view.problem) if view.problem is not None else None,
        "credentials_refused": view.auth_failed,
        **_described_json(description),
        "contract": view.contract or None,
        "listed_at": _wall(lists.complete_begun_boot_s, now),
        "list": _list_json(lists),
        **_trust_json(process, description),
        **ends_json(world, name, now),
        "starts_again_at": _wall(waits_until, now),
        "throttled_until": _wall(view.throttled_until_boot_s, now)
        if view.throttled_until_boot_s > now.boot_s
        else None,
        "held_to": _held_to(settings.providers.get(name), view),
        "in_flight": calls.total(),
        "calls": dict(sorted(calls.items())),
        "instances": counts.instances[name],
        "units": counts.units[name],
        "strangers_count": len(lists.strangers),
        "blocked": blocked,
    }


def _held_to(entry: ProviderSettings | None, view: ProcessView) -> Json | None:
    """The bounds of its process, and by what its memory is bounded now: `cgroup`, `rlimit`, or `none`."""
    if entry is None:
        return None
    limits = entry.limits
    return {
        "calls": limits.calls,
        "frame_bytes": limits.frame_bytes,
        "memory_bytes": limits.memory_bytes,
        "memory_by": view.memory_by if view.is_running else "none",
        "stderr_rate": limits.stderr_rate,
    }


def _first(pair: tuple[str, HealthFact]) -> str:
    return pair[0]


def _wall(boot_s: float | None, now: Moment) -> str | None:
    """A boot clock reading as a time of day."""
    return None if boot_s is None else time_text(now.at + boot_s - now.boot_s)


def _is_blocking(health: HealthFact, now: Moment) -> bool:
    return health.parked or (health.until is not None and health.until > now.at)


def _blocked(template: str, health: HealthFact) -> Json:
    """An offer that is left alone; template `*` is the whole provider."""
    why = Why.PARKED if health.parked else Why.BACKED_OFF
    return {
        "template": template,
        "parked": health.parked,
        "until": time_text(health.until) if not health.parked else None,
        "since": time_text(health.since),
        "failures": health.failures,
        "error_class": health.error_class,
        "detail": health.detail or None,
        "reason": {"code": why.value, "sentence": SENTENCES[why]},
    }


def _promises(description: DescriptionFact | None) -> Json | None:
    if description is None:
        return None
    promises = description.promises
    found: Json = {a.name: getattr(promises, a.name) for a in fields(type(promises))}
    found["answer_s"] = dict(promises.answer_s)
    return found


# --- templates --------------------------------------------------------------------------------------------------------


def _templates(world: World, name: str, now: Moment, settings: Settings) -> list[Json]:
    """What the provider offers as it counts for buying: the operator's word over the provider's."""
    description, entry = world.descriptions.get(name), settings.providers.get(name)
    if description is None:
        return []
    described = {t.template: t for t in description.templates}
    if entry is None:
        return [_template(t, t, None) for t in described.values()]
    offers = market(world, evolve(settings, providers={name: entry}), now).offers
    return [_template(described[o.template.template], o.template, o) for o in offers]


def _template(said: Template, effective: Template, offer: Offer | None) -> Json:
    size = tuple(sorted(offer.traits.size.items())) if offer is not None else effective.size
    found: Json = {
        "template": effective.template,
        "kind": effective.kind.value,
        "unit": effective.unit,
        "units_per_instance": effective.units_per_instance,
        "attributes": attributes_json(effective.size, effective.labels),
        "usable": amounts_json(size),
        "place": place_json(effective.place),
        "price": price_json(effective.price),
        "hourly": decimal_text(offer.hourly_nanos) if offer is not None and effective.price is not None else None,
        "model": effective.model,
        "valid_until": time_text(effective.valid_until),
        "billing": _billing(effective),
        "lead_time": {"typical_s": effective.lead_typical_s, "worst_s": effective.lead_worst_s},
        "capacity": {"max": effective.capacity_max, "available": effective.capacity_available},
        "granularity": {
            "min_units": effective.min_units,
            "step_units": effective.step_units,
            "max_units": effective.max_units,
        },
        "hold": {"min_s": effective.hold_min_s, "max_s": effective.hold_max_s},
        "priority": effective.priority,
        "overridden": _overridden(said, effective),
        "blocked": None,
    }
    if offer is not None and offer.blocked is not None:
        why, number = offer.blocked
        found["blocked"] = {"code": why.value, "sentence": SENTENCES[why], "number": number or None}
    return found


def _billing(template: Template) -> Json:
    billing = template.billing
    return {
        "quantum_s": billing.quantum_s,
        "minimum_s": billing.minimum_s,
        "starts": billing.starts.value,
        "ends": billing.ends.value,
    }


def _overridden(said: Template, effective: Template) -> Json:
    """What the provider itself says where the configuration wins over it, by field."""
    found: Json = {}
    if said.price != effective.price:
        found["price"] = price_json(said.price)
    if said.billing != effective.billing:
        found["billing"] = _billing(said)
    if (said.lead_typical_s, said.lead_worst_s) != (effective.lead_typical_s, effective.lead_worst_s):
        found["lead_time"] = {"typical_s": said.lead_typical_s, "worst_s": said.lead_worst_s}
    if said.capacity_max != effective.capacity_max:
        found["capacity.max"] = said.capacity_max
    if said.priority != effective.priority:
        found["priority"] = said.priority
    return found
