"""Purchases and give-backs as they are shown, together: one JSON object each, and pages of them.

It alone knows the shape of a request over REST; what moves one is the core's knowledge.
"""

from collections.abc import Iterable

from provisioner.core import giveback, request
from provisioner.core.events import Moment
from provisioner.core.facts import RequestFact, ReturnFact
from provisioner.core.money import decimal_text
from provisioner.core.settings import Settings
from provisioner.core.world import Progress, World
from provisioner.edge.rest_ends import frames_json
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_page import FLAG_WORDS, Asked, Filter, page_of
from provisioner.edge.rest_shape import attributes_json, place_json, price_json, problem_json, shares_json
from provisioner.edge.rest_times import time_text

REQUEST_FILTERS = (Filter("open", FLAG_WORDS), Filter("kind", ("acquire", "return")), Filter("provider"))

Record = RequestFact | ReturnFact


def requests_page(world: World, now: Moment, settings: Settings, asked: Asked) -> Json:
    """One page of purchases and give-backs in the order of their ids."""
    page, following = page_of(_matching(world, asked), _id, asked)
    return {"requests": [request_json(r, world, now, settings) for r in page], "next": following}


def _matching(world: World, asked: Asked) -> Iterable[Record]:
    is_open, kind, provider = asked.flag("open"), asked.filters.get("kind"), asked.filters.get("provider")
    found: list[Record] = []
    if kind != "return":
        found += (world.open_requests if is_open else world.requests).values()
    if kind != "acquire":
        found += (world.open_returns if is_open else world.returns).values()
    if is_open is False:
        found = [r for r in found if not is_open_record(r)]
    return found if provider is None else [r for r in found if r.provider == provider]


def _id(record: Record) -> str:
    return record.id


def is_open_record(record: Record) -> bool:
    """Whether it is not settled yet."""
    if isinstance(record, RequestFact):
        return record.state in request.OPEN
    return record.state in giveback.OPEN


def request_json(record: Record, world: World, now: Moment, settings: Settings) -> Json:
    """One purchase (`kind` acquire) or give-back (`kind` return)."""
    if isinstance(record, RequestFact):
        return _acquire(record, world.seen.progress.get(record.id, Progress()), settings.money.currency)
    return _return(record, now, settings.return_retry.stuck_after_s)


def _acquire(record: RequestFact, progress: Progress, currency: str) -> Json:
    return {
        "id": record.id,
        "kind": "acquire",
        "state": record.state.value,
        "open": is_open_record(record),
        "provider": record.provider,
        "template": record.template,
        "thing": record.kind.value,
        "units": record.units,
        "min_units": record.min_units,
        "made": record.made_units,
        "gone": record.gone_units,
        "problems": [problem_json(p) for p in record.problems],
        "since": time_text(record.state_at),
        "reason": record.reason or None,
        "progress": _progress(progress),
        "cancelling": progress.cancelling,
        "reserve": decimal_text(record.reserve_nanos if is_open_record(record) else 0),
        "currency": currency,
        "price": price_json(record.terms.price),
        "attributes": attributes_json(record.terms.size, record.terms.labels),
        "place": place_json(record.terms.place),
        "consumer": record.consumer,
        "for": shares_json(record.shares),
        "token": record.token,
        "quote": record.quote,
        **frames_json(record),
        "instances": list(record.instances),
        "decision": record.decision,
        "late": record.late,
        **_times(record),
    }


def _times(record: RequestFact) -> Json:
    return {
        "planned_at": time_text(record.planned_at),
        "send_by": time_text(record.send_by),
        "sent_at": time_text(record.sent_at),
        "expected_at": _expected_at(record),
        "deadline": time_text(record.deadline_at),
        "cancel_at": time_text(record.cancel_at),
        "cancel_why": record.cancel_why or None,
        "settled_at": time_text(record.settled_at),
    }


def _progress(told: Progress) -> Json | None:
    """How far it is in the provider's words; None where it said nothing since this start."""
    if told.phase is None:
        return None
    return {"phase": told.phase, "eta_s": told.eta_s, "at": time_text(told.at)}


def _expected_at(record: RequestFact) -> str | None:
    if not is_open_record(record):
        return None
    begun_at = record.sent_at if record.sent_at is not None else record.planned_at
    return time_text(begun_at + record.terms.lead_typical_s)


def _return(record: ReturnFact, now: Moment, stuck_after_s: float) -> Json:
    is_open = is_open_record(record)
    return {
        "id": record.id,
        "kind": "return",
        "state": record.state.value,
        "open": is_open,
        "provider": record.provider,
        "template": None,
        "units": len(record.items),
        "made": None,
        "problems": [problem_json(i.problem) for i in record.items if i.problem is not None],
        "since": time_text(record.state_at),
        "reason": record.why,
        "instances": [i.instance for i in record.items],
        "items": [
            {"instance": i.instance, "provider_id": i.provider_id, "keep": i.keep, "state": i.state}
            for i in record.items
        ],
        **frames_json(record),
        "tries": record.tries,
        "stuck": is_open and now.at - record.planned_at >= stuck_after_s,
        "next_try_at": time_text(record.after_at) if is_open and record.after_at > now.at else None,
        "planned_at": time_text(record.planned_at),
        "settled_at": time_text(record.settled_at),
    }
