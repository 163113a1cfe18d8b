"""JSON Schemas (2020-12) of what sources push: demand, supply, and both in one.

It alone states their shapes for other programs; the reading in rest.py decides, and both are held to the same examples.
"""

from typing import Final

from provisioner.core.model import EntryState
from provisioner.edge.config_context import NAME
from provisioner.edge.rest import ENTRIES_MOST, LINES_MOST
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_fields import AMOUNT_MOST, ATTRIBUTE, REF, RESOURCES_MOST, SAFE_MOST, TEXT_MOST
from provisioner.edge.rest_lines import COUNT_MOST, PRIORITY_MOST
from provisioner.edge.rest_times import TIME
from provisioner.edge.rest_where import CONDITIONS_MOST, WORD_MOST, WORDS_MOST

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SIZE: Final = r"^[0-9]{1,15}(\.[0-9]{1,3})? ?(B|KiB|MiB|GiB|TiB)$"
_PRICE: Final = r"^[0-9]{1,12}(\.[0-9]{1,9})? [A-Z]{3}/(h|unit-hour)$"


def demand_schema() -> Json:
    """The body of PUT /v1/demand/{source}."""
    return _whole("A demand snapshot: all that one source lacks", _demand())


def supply_schema() -> Json:
    """The body of PUT /v1/supply/{source}."""
    return _whole("A supply snapshot: all that one source has", _supply())


def cluster_schema() -> Json:
    """The body of PUT /v1/cluster/{source}."""
    demand, supply = _demand(), _supply()
    for part in (demand, supply):
        properties = part["properties"]
        if isinstance(properties, dict):
            properties.pop("incarnation")
    demand["description"] = "Its supply_revision is that of the supply beside it, unless it says another."
    both: Json = {"incarnation": _incarnation(), "supply": supply, "demand": demand}
    return _whole("Both snapshots of one source, for one commit", _object(both, "supply", "demand"))


def _whole(title: str, schema: Json) -> Json:
    return {"$schema": DIALECT, "title": title, **schema}


def _object(properties: Json, *required: str) -> Json:
    found: Json = {"type": "object", "additionalProperties": False, "properties": properties}
    return found | ({"required": list(required)} if required else {})


def _stated(schema: Json) -> Json:
    """A field that may also be null, which is as if it were absent."""
    return {"anyOf": [schema, {"type": "null"}]}


def _whole_number(most: int = SAFE_MOST, least: int = 0) -> Json:
    return {"type": "integer", "minimum": least, "maximum": most}


def _text(pattern: str | None = None) -> Json:
    found: Json = {"type": "string", "minLength": 1, "maxLength": TEXT_MOST}
    return found | ({"pattern": f"^(?:{pattern})$"} if pattern is not None else {})


def _incarnation() -> Json:
    return _stated(_whole_number()) | {"description": "Grows when the source lost its counter; 0 if absent."}


def _revision() -> Json:
    return _whole_number() | {"description": "Grows with every new snapshot; the same again is a heartbeat."}


def _size() -> Json:
    return {"type": "string", "pattern": _SIZE}


def _amounts() -> Json:
    """A resource that is null would be a part of nothing, hence no null inside."""
    number: Json = {"type": "number", "exclusiveMinimum": 0, "maximum": AMOUNT_MOST}
    return {
        "type": "object",
        "maxProperties": RESOURCES_MOST,
        "propertyNames": {"pattern": f"^(?:{ATTRIBUTE.pattern})$"},
        "additionalProperties": {"anyOf": [number, _size()]},
        "description": "Resource to amount: a number in canonical units (cores, bytes) with three decimals, or a size.",
    }


def _word() -> Json:
    return {"type": "string", "minLength": 1, "maxLength": WORD_MOST}


def _plain_condition() -> list[Json]:
    number: Json = {"type": "number", "minimum": 0, "maximum": AMOUNT_MOST}
    words: Json = {"type": "array", "items": _word(), "minItems": 1, "maxItems": WORDS_MOST}
    return [_word(), words, number, {"type": "boolean"}]


def _where() -> Json:
    bound: Json = {"anyOf": [{"type": "number", "minimum": 0, "maximum": AMOUNT_MOST}, _size()]}
    bounds = _object({"min": _stated(bound), "max": _stated(bound), "not": _stated({"anyOf": _plain_condition()})})
    return {
        "type": "object",
        "maxProperties": CONDITIONS_MOST,
        "propertyNames": {"pattern": f"^(?:{ATTRIBUTE.pattern})$"},
        "additionalProperties": {"anyOf": [*_plain_condition(), bounds | {"minProperties": 1}]},
        "description": "Conditions on attributes and on provider, template, region, zone and rack; all must hold.",
    }


def _max_price() -> Json:
    amount: Json = {"type": "string", "pattern": r"^[0-9]{1,15}(\.[0-9]{1,9})?$"}
    money = _object({"amount": amount, "currency": {"type": "string", "pattern": "^[A-Z]{3}$"}}, "amount", "currency")
    return {
        "anyOf": [{"type": "string", "pattern": _PRICE}, money],
        "description": "Per hour of one host, or of a unit.",
    }


def _line() -> Json:
    properties: Json = {
        "id": _text(REF.pattern) | {"description": "Unique in the snapshot; stays while the line's shape does."},
        "kind": {"enum": ["host", "grant"]},
        "count": _stated(_whole_number(COUNT_MOST)) | {"description": "Bundles, or whole hosts if `each` is absent."},
        "each": _stated(_amounts()),
        "alone": _stated({"type": "boolean"}) | {"description": "Each bundle takes a whole host for itself."},
        "resource": _stated(_text()) | {"description": "Of a grant: what is lacking, such as a license feature."},
        "units": _stated(_whole_number(COUNT_MOST)) | {"description": "Of a grant: how many units are lacking."},
        "where": _stated(_where()),
        "priority": _stated(_whole_number(PRIORITY_MOST, -PRIORITY_MOST)),
        "consumer": _stated(_text(NAME.pattern)),
        "since": _stated(_time()),
        "expires": _stated(_time()),
        "max_price": _stated(_max_price()),
    }
    absent: Json = {"type": "null"}
    is_grant: Json = {"properties": {"kind": {"const": "grant"}}, "required": ["kind"]}
    return _object(properties, "id", "kind") | {
        "if": is_grant,
        "then": {
            "required": ["resource"],
            "properties": {"each": absent, "alone": absent, "resource": {"type": "string"}},
            "anyOf": [{"required": [f], "properties": {f: {"type": "integer"}}} for f in ("units", "count")],
        },
        "else": {
            "required": ["count"],
            "properties": {"resource": absent, "units": absent, "count": {"type": "integer"}},
        },
    }


def _time() -> Json:
    return {"type": "string", "pattern": f"^(?:{TIME.pattern})$", "description": "RFC 3339 with any offset."}


def _demand() -> Json:
    properties: Json = {
        "incarnation": _incarnation(),
        "revision": _revision(),
        "supply_revision": _stated(_whole_number()) | {"description": "The supply snapshot that was counted."},
        "lines": {"type": "array", "maxItems": LINES_MOST, "items": _line()},
    }
    return _object(properties, "revision", "lines")


def _entry() -> Json:
    properties: Json = {
        "instance": _stated(_text(REF.pattern)),
        "provider": _stated(_text(NAME.pattern)),
        "provider_id": _stated(_text(REF.pattern)),
        "token": _stated(_text(NAME.pattern)),
        "address": _stated(_text()),
        "name": _stated(_text()),
        "state": {"enum": [state.value for state in EntryState]},
        "since": _stated(_time()),
        "drain": _stated(_text(REF.pattern)) | {"description": "The id of the drain this answers."},
        "in_use": _stated(_whole_number()) | {"description": "Units of a grant in use."},
        "size": _stated(_amounts()),
    }
    ways = (("instance",), ("provider", "provider_id"), ("address",))
    stated: Json = {"type": "string"}
    return _object(properties, "state") | {
        "anyOf": [{"required": list(way), "properties": dict.fromkeys(way, stated)} for way in ways]
    }


def _supply() -> Json:
    properties: Json = {
        "incarnation": _incarnation(),
        "revision": _revision(),
        "entries": {"type": "array", "maxItems": ENTRIES_MOST, "items": _entry()},
    }
    return _object(properties, "revision", "entries")
