"""What operators order of a provider over REST: a parsed JSON body to an event, or to all its faults; and the answer.

It alone knows which orders there are and their shapes; what an order comes to is the core's knowledge.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from attrs import frozen

from provisioner.core.events import Moment
from provisioner.core.evolve import Ordered, Reply
from provisioner.core.orders import OperatorEvent, ProviderPaused, ProviderRestarted, ProviderResumed
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.quantities import Complaint, duration_s
from provisioner.edge.rest_fault import Faulty, FieldFaults, Json, error_body, shown
from provisioner.edge.rest_fields import Fields, open_object
from provisioner.edge.rest_providers import paused_json, state_of

PAUSE_DEFAULT: Final = "1h"
PAUSE_LEAST_S: Final = 1.0
PAUSE_MOST_S: Final = 30 * 86_400.0
WHY_MOST: Final = 200
BY_MOST: Final = 64


@frozen(eq=False)
class Given:
    """One order as it came: of which provider, the body, who is at the door, and now."""

    provider: str
    body: object
    caller: str
    now: Moment


@frozen(eq=False)
class Order:
    """One order: what it is for, the fields it takes (schema), and who reads it."""

    summary: str
    fields: Json
    read: Callable[[Given], OperatorEvent | Faulty]


def no_such_provider(name: str, settings: Settings) -> Json:
    """The refusal of an order to a provider that is not configured; it names those that are."""
    known = ", ".join(sorted(settings.providers)) or "none"
    return error_body("not_found", f"there is no provider {shown(name)}", f"name one of those configured: {known}")


def ordered_json(world: World, provider: str, verb: str, replies: Sequence[Reply], now: Moment) -> Json:
    """What an order has come to, in sentences, and how the provider stands after its commit."""
    did = [sentence for reply in replies if isinstance(reply, Ordered) for sentence in reply.did]
    return {
        "provider": provider,
        "order": verb,
        "did": did,
        "state": state_of(world, provider),
        "paused": paused_json(world, provider, now),
    }


def _opened(given: Given, *more: str) -> tuple[Fields | None, FieldFaults]:
    faults = FieldFaults()
    return open_object(given.body, "", faults, (*more, "why", "by")), faults


def _who_and_why(fields: Fields, given: Given) -> tuple[str, str]:
    """What the caller calls itself does not replace what the door knows of it."""
    said, why = fields.text("by", most=BY_MOST), fields.text("why", most=WHY_MOST)
    return (f"{said} ({given.caller})" if said is not None else given.caller), why or ""


def _pause(given: Given) -> OperatorEvent | Faulty:
    fields, faults = _opened(given, "for")
    if fields is None:
        return Faulty(faults.found(), faults.count)
    by, why = _who_and_why(fields, given)
    for_s = _duration(fields, "for", PAUSE_DEFAULT)
    if faults.count:
        return Faulty(faults.found(), faults.count)
    return ProviderPaused(given.provider, given.now.at + for_s, why, by)


def _duration(fields: Fields, key: str, unstated: str) -> float:
    text = fields.text(key) or unstated
    found = duration_s(text)
    if isinstance(found, Complaint):
        fields.refuse(key, found.sentence, found.remedy)
        return PAUSE_LEAST_S
    if not PAUSE_LEAST_S <= found <= PAUSE_MOST_S:
        fields.refuse(key, f"{shown(text)} is out of bounds", "write 1s to 30d: every order has an end")
    return found


def _resume(given: Given) -> OperatorEvent | Faulty:
    fields, faults = _opened(given)
    if fields is None:
        return Faulty(faults.found(), faults.count)
    by, why = _who_and_why(fields, given)
    return Faulty(faults.found(), faults.count) if faults.count else ProviderResumed(given.provider, why, by)


def _restart(given: Given) -> OperatorEvent | Faulty:
    fields, faults = _opened(given)
    if fields is None:
        return Faulty(faults.found(), faults.count)
    by, why = _who_and_why(fields, given)
    return Faulty(faults.found(), faults.count) if faults.count else ProviderRestarted(given.provider, why, by)


_WHO: Final[Json] = {
    "why": {"type": ["string", "null"], "minLength": 1, "maxLength": WHY_MOST, "description": "Shown with the order."},
    "by": {"type": ["string", "null"], "minLength": 1, "maxLength": BY_MOST, "description": "Who orders it."},
}
_FOR: Final[Json] = {
    "type": ["string", "null"],
    "default": PAUSE_DEFAULT,
    "description": "How long, such as 90m or 2h.",
}

ORDERS: Final[Mapping[str, Order]] = {
    "/v1/providers/{provider}/pause": Order("Buy nothing from a provider for a while", {"for": _FOR, **_WHO}, _pause),
    "/v1/providers/{provider}/resume": Order(
        "End the pause, and try again all that is left alone of a provider", _WHO, _resume
    ),
    "/v1/providers/{provider}/restart": Order("End a provider's process in order and start it again", _WHO, _restart),
}
"""Every order to a provider by its path."""
