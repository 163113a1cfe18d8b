"""What everything has cost, by whom and from whom, and what it burns now.

It alone knows the shape of costs over REST; what one instance costs by its own record is the core's knowledge.
"""

from collections import Counter

from provisioner.core.costs import cost_nanos, hourly_nanos
from provisioner.core.events import Moment
from provisioner.core.instance import InstanceState
from provisioner.core.money import decimal_text
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_instances import view
from provisioner.edge.rest_times import time_text


def costs(world: World, now: Moment, settings: Settings) -> Json:
    """The sum over all instances, gone ones too, of the cost each shows itself; `unpriced` ones are in no sum."""
    seen = view(world, now, settings)
    total, unpriced, reserved = 0, 0, sum(r.reserve_nanos for r in world.open_requests.values())
    per_provider, per_consumer, burning = Counter[str](), Counter[str](), Counter[str]()
    for instance in world.instances.values():
        cost = cost_nanos(instance, now.at)
        if cost is None:
            unpriced += 1
            continue
        total += cost
        per_provider[instance.provider] += cost
        per_consumer[instance.consumer] += cost
        if instance.state is not InstanceState.GONE:
            burning[seen.state(instance).value] += hourly_nanos(instance)
    return {
        "currency": settings.money.currency,
        "total": decimal_text(total),
        "per_provider": _texts(per_provider),
        "per_consumer": _texts(per_consumer),
        "burn_per_hour": decimal_text(burning.total()),
        "burn_by_state": _texts(burning),
        "reserved": decimal_text(reserved),
        "unpriced": unpriced,
        "at": time_text(now.at),
    }


def _texts(sums: Counter[str]) -> Json:
    return {name: decimal_text(nanos) for name, nanos in sorted(sums.items())}
