"""Instances as they are shown: one JSON object each, and pages of them.

It alone knows the shape of an instance over REST; what it costs and what state is shown is the core's knowledge.
"""

from collections.abc import Iterable

from attrs import frozen

from provisioner.core.costs import cost_nanos, paid_until
from provisioner.core.events import Moment
from provisioner.core.facts import InstanceFact, ReturnFact
from provisioner.core.instance import InstanceState, ShownState, shown
from provisioner.core.model import Drain, EntryState, Notice, SupplyEntry
from provisioner.core.money import decimal_text
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_page import FLAG_WORDS, Asked, Filter, page_of
from provisioner.edge.rest_shape import attributes_json, place_json, price_json, problem_json, shares_json
from provisioner.edge.rest_times import time_text

INSTANCE_FILTERS = (
    Filter("live", FLAG_WORDS),
    Filter("provider"),
    Filter("state", tuple(state.value for state in ShownState)),
)
_RESTING = (EntryState.IDLE, EntryState.DRAINING, EntryState.DRAINED)


@frozen(eq=False)
class InstanceView:
    """What is needed besides the fact to show instances: each source's entries by instance, gathered once an answer."""

    world: World
    now: Moment
    stuck_after_s: float
    entries: dict[str, dict[str, SupplyEntry]]

    def entry(self, instance: InstanceFact) -> SupplyEntry | None:
        """What the source of the instance said of it last."""
        for share in instance.shares:
            found = self.entries.get(share.source, {}).get(instance.id)
            if found is not None:
                return found
        return None

    def giveback(self, instance: InstanceFact) -> ReturnFact | None:
        """The give-back it is part of, settled or not."""
        return self.world.returns.get(instance.return_id) if instance.return_id is not None else None

    def is_stuck(self, giveback: ReturnFact | None) -> bool:
        """Whether the give-back has been open too long."""
        return (
            giveback is not None
            and giveback.settled_at is None
            and self.now.at - giveback.planned_at >= self.stuck_after_s
        )

    def state(self, instance: InstanceFact) -> ShownState:
        """The state that is shown."""
        entry = self.entry(instance)
        return shown(
            instance.state,
            entry.state if entry is not None else None,
            draining=instance.drain is not None,
            stuck=self.is_stuck(self.giveback(instance)),
        )


def view(world: World, now: Moment, settings: Settings) -> InstanceView:
    """The view from which the instances of one answer are shown."""
    entries = {source: {e.instance: e for e in supply.entries} for source, supply in world.supplies.items()}
    return InstanceView(world, now, settings.return_retry.stuck_after_s, entries)


def instances_page(world: World, now: Moment, settings: Settings, asked: Asked) -> Json:
    """One page of instances in the order of their ids."""
    seen = view(world, now, settings)
    page, following = page_of(_matching(seen, asked), _id, asked)
    return {"instances": [instance_json(i, seen) for i in page], "next": following}


def _matching(seen: InstanceView, asked: Asked) -> Iterable[InstanceFact]:
    is_live, provider, state = asked.flag("live"), asked.filters.get("provider"), asked.filters.get("state")
    found: Iterable[InstanceFact] = (seen.world.live if is_live else seen.world.instances).values()
    if is_live is False:
        found = (i for i in found if i.state is InstanceState.GONE)
    if provider is not None:
        found = (i for i in found if i.provider == provider)
    return found if state is None else (i for i in found if seen.state(i).value == state)


def _id(instance: InstanceFact) -> str:
    return instance.id


def instance_json(instance: InstanceFact, seen: InstanceView) -> Json:
    """One instance; `cost` is null while its price is unknown, a sum so far otherwise, its final sum once gone."""
    entry, giveback, now_at = seen.entry(instance), seen.giveback(instance), seen.now.at
    cost = cost_nanos(instance, now_at)
    return {
        "id": instance.id,
        "kind": instance.kind.value,
        "state": seen.state(instance).value,
        "provider": instance.provider,
        "template": instance.template,
        "units": instance.units,
        "attributes": _attributes(instance),
        "place": place_json(instance.place) or place_json(instance.terms.place),
        "name": instance.name,
        "addresses": [{"address": address, "scope": scope} for address, scope in instance.addresses],
        "provider_id": instance.provider_id,
        "for": shares_json(instance.shares),
        "request": instance.request,
        "consumer": instance.consumer,
        "drain": drain_json(instance.drain),
        "notice": _notice(instance.notice),
        "price": price_json(instance.terms.price),
        "cost": decimal_text(cost) if cost is not None else None,
        "return": _return(giveback, stuck=seen.is_stuck(giveback)),
        "reason": instance.reason or None,
        "surplus": instance.surplus,
        **_times(instance, entry, seen),
    }


def _times(instance: InstanceFact, entry: SupplyEntry | None, seen: InstanceView) -> Json:
    is_gone = instance.state is InstanceState.GONE
    is_coming = instance.state is InstanceState.BOOTING and instance.running_at is None
    return {
        "made_at": time_text(instance.made_at),
        "running_at": time_text(instance.running_at),
        "joined_at": time_text(entry.joined_at if entry is not None else None),
        "idle_since": None if is_gone else time_text(_idle_since(instance, entry, seen)),
        "gone_at": time_text(instance.gone_at),
        "paid_until": time_text(paid_until(instance, seen.now.at)),
        "expires_at": time_text(instance.expires_at),
        "extension": _extension(instance, seen),
        "expected_at": time_text(instance.requested_at + instance.terms.lead_typical_s) if is_coming else None,
    }


def _extension(instance: InstanceFact, seen: InstanceView) -> Json | None:
    """Why its end could not be put off, and when that is tried again; None unless it was refused."""
    told = seen.world.seen.extensions.get(instance.id)
    if told is None or told.problem is None:
        return None
    next_at = seen.now.at + told.next_boot_s - seen.now.boot_s
    return {"tries": told.tries, "problem": problem_json(told.problem), "next_try_at": time_text(next_at)}


def _idle_since(instance: InstanceFact, entry: SupplyEntry | None, seen: InstanceView) -> float | None:
    """The later of the source's word and our own observation, so that no clock makes a host look old."""
    if entry is None or entry.state not in _RESTING:
        return None
    observed_boot_s = seen.world.seen.idle_since.get(instance.id)
    observed = None if observed_boot_s is None else seen.now.at - (seen.now.boot_s - observed_boot_s)
    return max((at for at in (entry.since, observed) if at is not None), default=None)


def _attributes(instance: InstanceFact) -> Json:
    """As delivered; what was not stated then is as agreed."""
    size = dict(instance.terms.size) | dict(instance.size)
    stated = {attribute for attribute, _ in instance.labels}
    agreed = tuple(pair for pair in instance.terms.labels if pair[0] not in stated)
    return attributes_json(tuple(sorted(size.items())), instance.labels + agreed)


def drain_json(drain: Drain | None) -> Json | None:
    """A drain, null if there is none."""
    if drain is None:
        return None
    return {
        "id": drain.id,
        "kind": drain.kind.value,
        "reason": drain.reason,
        "asked_at": time_text(drain.asked_at),
        "deadline": time_text(drain.deadline_at),
    }


def _notice(notice: Notice | None) -> Json | None:
    if notice is None:
        return None
    return {"kind": notice.kind, "deadline": time_text(notice.deadline_at), "detail": notice.detail}


def _return(giveback: ReturnFact | None, *, stuck: bool) -> Json | None:
    if giveback is None:
        return None
    return {
        "id": giveback.id,
        "state": giveback.state.value,
        "why": giveback.why,
        "tries": giveback.tries,
        "stuck": stuck,
    }
