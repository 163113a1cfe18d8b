"""JSON Schemas of what the REST interface answers: the parts other programs rely on; more fields may come.

It alone states them; the answers are held to them by tests.
"""

from typing import Final

from provisioner.core.instance import ShownState
from provisioner.edge.rest_fault import Json

_TEXT: Final[Json] = {"type": "string"}
_TEXT_OR_NULL: Final[Json] = {"type": ["string", "null"]}
_INT: Final[Json] = {"type": "integer"}
_FLAG: Final[Json] = {"type": "boolean"}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_TIME_OR_NULL: Final[Json] = {"type": ["string", "null"], "format": "date-time"}
_MONEY: Final[Json] = {"type": "string", "pattern": r"^(0|[1-9][0-9]*)(\.[0-9]{1,9})?$"}
_MONEY_OR_NULL: Final[Json] = {"anyOf": [_MONEY, {"type": "null"}]}


def _object(required: Json, optional: Json | None = None) -> Json:
    return {"type": "object", "required": list(required), "properties": required | (optional or {})}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _map(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def _page(name: str, item: Json) -> Json:
    return _object({name: _list(item), "next": _TEXT_OR_NULL})


_REASON: Final = _object({"code": _TEXT, "sentence": _TEXT})
_SHARE: Final = _object({"source": _TEXT, "line": _TEXT, "units": _INT})
_PRICE: Final = _object({"amount": _MONEY, "currency": _TEXT, "per": {"enum": ["hour", "unit_hour", "purchase"]}})
_PROBLEM: Final = _object({"error_class": _TEXT})
_REJECTED: Final = _object({"provider": _TEXT, "template": _TEXT, "code": _TEXT, "number": _TEXT_OR_NULL})
_DRAIN: Final[Json] = {
    "id": _TEXT, "kind": {"enum": ["ask", "firm"]}, "reason": _TEXT, "asked_at": _TIME, "deadline": _TIME_OR_NULL,
}  # fmt: skip

_LINE: Final = _object(
    {
        "id": _TEXT, "kind": {"enum": ["host", "grant"]}, "count": _INT, "met": _INT, "in_flight": _INT, "open": _INT,
        "reason": _REASON, "rejected": _list(_REJECTED), "expected_at": _TIME_OR_NULL, "consumer": _TEXT,
    }
)  # fmt: skip
_AGES: Final[Json] = {
    "incarnation": _INT, "revision": _INT, "pushed_at": _TIME, "heard_at": _TIME_OR_NULL,
    "age_s": {"type": ["number", "null"]}, "fresh": _FLAG,
}  # fmt: skip
_DEMAND: Final = _object(
    {"source": _TEXT, **_AGES, "supply_revision": {"type": ["integer", "null"]}, "lines": _list(_LINE)}
)
_ENTRY: Final = _object(
    {"instance": _TEXT, "name": _TEXT, "state": _TEXT, "since": _TIME_OR_NULL, "drain": _TEXT_OR_NULL}
)
_SUPPLY: Final = _object({"source": _TEXT, **_AGES, "held_back": _list(_TEXT), "entries": _list(_ENTRY)})

_PAUSED: Final = _or_null(_object({"until": _TIME, "since": _TIME, "by": _TEXT_OR_NULL, "why": _TEXT_OR_NULL}))
_END: Final = _object(
    {"at": _TIME, "reason": _TEXT, "open": _list(_TEXT), "open_count": _INT, "last_words": _TEXT_OR_NULL}
)
_PROVIDER_FIELDS: Final[Json] = {
    "paused": _PAUSED,
    "provider": _TEXT, "configured": _FLAG, "state": _TEXT, "ready": _FLAG, "number": {"type": ["integer", "null"]},
    "pid": {"type": ["integer", "null"]}, "health": _TEXT, "version": _TEXT_OR_NULL, "contract": _TEXT_OR_NULL,
    "template_count": _INT,
    "memory_lost_at": _TIME_OR_NULL, "broken_promises": _list(_object({"promise": _TEXT, "why": _TEXT, "at": _TIME})),
    "list": _or_null(
        _object({"complete": _FLAG, "missing_places": _list(_map(_TEXT_OR_NULL)), "problems": _list(_PROBLEM)})
    ),
    "ends": _list(_END),
    "parked": _list(_TEXT), "asked_seldom": _list(_TEXT), "last_end": _TEXT_OR_NULL,
    "in_flight": _INT, "instances": _INT, "units": _INT, "strangers_count": _INT,
    "held_to": _or_null(
        _object(
            {
                "calls": _INT, "frame_bytes": _INT, "memory_bytes": {"type": ["integer", "null"]},
                "memory_by": {"enum": ["cgroup", "rlimit", "none"]}, "stderr_rate": _INT,
            }
        )
    ),
    "blocked": _list(_object({"template": _TEXT, "parked": _FLAG, "until": _TIME_OR_NULL, "reason": _REASON})),
}  # fmt: skip
_TEMPLATE: Final = _object(
    {
        "template": _TEXT, "kind": _TEXT, "unit": _TEXT, "attributes": _map({}), "price": _or_null(_PRICE),
        "hourly": _MONEY_OR_NULL, "billing": _map({}), "lead_time": _map(_INT), "overridden": _map({}),
        "blocked": _or_null(_REASON),
    }
)  # fmt: skip
_REQUEST: Final = _object(
    {
        "id": _TEXT, "kind": {"enum": ["acquire", "return"]}, "state": _TEXT, "open": _FLAG, "provider": _TEXT,
        "template": _TEXT_OR_NULL, "units": _INT, "made": {"type": ["integer", "null"]}, "problems": _list(_PROBLEM),
        "since": _TIME, "reason": _TEXT_OR_NULL, "instances": _list(_TEXT), "planned_at": _TIME,
        "settled_at": _TIME_OR_NULL,
    },
    {
        "reserve": _MONEY, "currency": _TEXT, "for": _list(_SHARE), "token": _TEXT, "expected_at": _TIME_OR_NULL,
        "progress": _or_null(_object({"phase": _TEXT, "eta_s": {"type": ["integer", "null"]}, "at": _TIME})),
        "cancelling": _FLAG, "cancel_at": _TIME_OR_NULL, "cancel_why": _TEXT_OR_NULL,
    },
)  # fmt: skip
_INSTANCE: Final = _object(
    {
        "id": _TEXT, "kind": {"enum": ["host", "grant", "remnant"]}, "state": {"enum": [s.value for s in ShownState]},
        "provider": _TEXT, "template": _TEXT, "units": _INT,
        "attributes": _map({"anyOf": [{"type": ["number", "string"]}, _list(_TEXT)]}),
        "name": _TEXT_OR_NULL, "addresses": _list(_object({"address": _TEXT, "scope": _TEXT})), "provider_id": _TEXT,
        "for": _list(_SHARE), "request": _TEXT_OR_NULL, "consumer": _TEXT, "drain": _or_null(_object(_DRAIN)),
        "notice": _or_null(_object({"kind": _TEXT, "deadline": _TIME_OR_NULL})), "price": _or_null(_PRICE),
        "cost": _MONEY_OR_NULL, "made_at": _TIME, "running_at": _TIME_OR_NULL, "joined_at": _TIME_OR_NULL,
        "idle_since": _TIME_OR_NULL, "gone_at": _TIME_OR_NULL, "paid_until": _TIME_OR_NULL,
        "expected_at": _TIME_OR_NULL, "return": _or_null(_object({"id": _TEXT, "state": _TEXT, "stuck": _FLAG})),
        "reason": _TEXT_OR_NULL,
    }
)  # fmt: skip
_DECISION: Final = _object(
    {
        "id": _TEXT, "at": _TIME, "what": _TEXT, "subject": _TEXT, "reason": _REASON, "lines": _list(_SHARE),
        "provider": _TEXT_OR_NULL, "template": _TEXT_OR_NULL, "units": {"type": ["integer", "null"]},
        "rejected": _list(_REJECTED),
    }
)  # fmt: skip
_COSTS: Final = _object(
    {
        "currency": _TEXT, "total": _MONEY, "per_provider": _map(_MONEY), "per_consumer": _map(_MONEY),
        "burn_per_hour": _MONEY, "burn_by_state": _map(_MONEY), "reserved": _MONEY, "unpriced": _INT, "at": _TIME,
    }
)  # fmt: skip
_HEALTH: Final = _object(
    {
        "status": {"enum": ["ok", "starting", "degraded"]}, "reasons": _list(_TEXT), "version": _TEXT, "cluster": _TEXT,
        "uptime_s": {"type": ["number", "null"]}, "facts": _object({"writable": _FLAG, "why": _TEXT_OR_NULL}),
    }
)  # fmt: skip

REPLY_SCHEMAS: Final[dict[str, Json]] = {
    "/v1/demand": _object({"sources": _list(_DEMAND)}),
    "/v1/demand/{source}": _DEMAND,
    "/v1/supply": _object({"sources": _list(_SUPPLY)}),
    "/v1/supply/{source}": _SUPPLY,
    "/v1/cluster/{source}": _object({"source": _TEXT, "demand": _or_null(_DEMAND), "supply": _or_null(_SUPPLY)}),
    "/v1/providers": _object({"providers": _list(_object(_PROVIDER_FIELDS))}),
    "/v1/providers/{provider}": _object(_PROVIDER_FIELDS | {"templates": _list(_TEMPLATE), "strangers": _list(_TEXT)}),
    "/v1/requests": _page("requests", _REQUEST),
    "/v1/requests/{request}": _REQUEST,
    "/v1/instances": _page("instances", _INSTANCE),
    "/v1/instances/{instance}": _INSTANCE,
    "/v1/costs": _COSTS,
    "/v1/decisions": _page("decisions", _DECISION),
    "/v1/decisions/{decision}": _DECISION,
    "/v1/health": _HEALTH,
}
"""The answer with status 200 of each path that can be read."""

_ORDER: Final = _object({"incarnation": _INT, "revision": _INT})
_CURRENT: Final[Json] = {"anyOf": [_ORDER, _object({"supply": _ORDER, "demand": _ORDER})]}

PUSH_REPLY_SCHEMA: Final = _object(
    {
        "current": _CURRENT, "news": _FLAG, "held_back": _TEXT_OR_NULL,
        "drain": _list(_object({"instance": _TEXT, "name": _TEXT_OR_NULL, **_DRAIN})), "reopened": _list(_TEXT),
        "unmatched": _list(_TEXT),
    }
)  # fmt: skip

ORDERED_SCHEMA: Final = _object(
    {"provider": _TEXT, "order": _TEXT, "did": _list(_TEXT), "state": _TEXT, "paused": _PAUSED}
)
"""What an operator's order has come to."""

_WORDS: Final = _object({"process": _INT, "ended": _TEXT_OR_NULL, "first": _INT, "lines": _list(_TEXT)})
LOGS_SCHEMA: Final = _object({"provider": _TEXT, "state": _TEXT, "processes": _list(_WORDS)})
"""What the process that runs and the one before it wrote to standard error last."""

CALLED_SCHEMA: Final = _object(
    {
        "provider": _TEXT, "method": _TEXT, "process": {"type": ["integer", "null"]}, "took_s": {"type": "number"},
        "outcome": {"enum": ["answered", "refused", "lost"]},
    },
    {"result": _map({}), "error": _object({"error_class": _TEXT}), "why": _TEXT},
)  # fmt: skip
"""What came of a call by hand."""

_FAULT: Final = _object({"field": _TEXT, "message": _TEXT, "remedy": _TEXT})
ERROR_SCHEMA: Final = _object(
    {
        "error": _object(
            {"code": _TEXT, "message": _TEXT, "remedy": _TEXT, "faults": _list(_FAULT)}, {"current": _CURRENT}
        )
    }
)
