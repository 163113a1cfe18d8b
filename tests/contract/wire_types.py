"""Which schema belongs to which type of the contract, and what a schema of a type would have to say."""

from collections.abc import Mapping
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import attrs
from msgspec import Meta

from provider_sdk.contract import METHODS, NOTIFICATIONS, ErrorData, Template
from provider_sdk.contract.forms import INT_MAX, Matches
from provider_sdk.contract.strict import wire_name

TYPES: dict[str, type[Any]] = {
    **{f"{method.name}.params": method.params for method in METHODS.values()},
    **{f"{method.name}.result": method.result for method in METHODS.values()},
    **{f"{kind.name}.notification": kind.params for kind in NOTIFICATIONS.values()},
}
NO_TYPE = {"common", "error", "frames"}
ERROR_DATA = ErrorData

NUMBER = {"type": "number", "minimum": -INT_MAX, "maximum": INT_MAX}
_PLAIN = {str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}, float: {"type": "number"}}


def options(t: Any) -> list[Any]:
    """Return what a field may hold besides nothing."""
    members = get_args(t) if get_origin(t) in (Union, UnionType) else (t,)
    return [member for member in members if member is not type(None)]


def schema_of(t: Any) -> dict[str, Any]:
    """Return the schema, without words for people, that says the same as a type."""
    several = options(t)
    if len(several) > 1:
        return _schema_of_union(several)
    t = several[0]
    if get_origin(t) is Annotated:
        return _schema_of_annotated(t)
    if get_origin(t) is tuple:
        return {"type": "array", "items": schema_of(get_args(t)[0])}
    if get_origin(t) is Mapping:
        return _schema_of_mapping(*get_args(t))
    if issubclass(t, StrEnum):
        return {"enum": [word.value for word in t]}
    return _schema_of_class(t) if attrs.has(t) else dict(_PLAIN[t])


def _schema_of_union(several: list[Any]) -> dict[str, Any]:
    if {get_args(option)[0] if get_origin(option) is Annotated else option for option in several} == {int, float}:
        return NUMBER
    schemas = [schema_of(option) for option in several]
    numbers = [schema for schema in schemas if schema.get("type") in {"integer", "number"}]
    rest = [schema for schema in schemas if schema not in numbers]
    return {"anyOf": [NUMBER, *rest]}


def _schema_of_annotated(t: Any) -> dict[str, Any]:
    inner, *marks = get_args(t)
    found = schema_of(inner)
    lengths = {"string": "Length", "array": "Items", "object": "Properties"}.get(found.get("type", ""), "")
    for mark in marks:
        if isinstance(mark, Matches):
            found["pattern"] = mark.pattern.removesuffix(r"\Z").replace(r"\x00", r"\u0000") + "$"
        elif isinstance(mark, Meta):
            bounds: dict[str, float | None] = {"min" + lengths: mark.min_length, "max" + lengths: mark.max_length}
            bounds |= {"minimum": mark.ge, "maximum": mark.le}
            found |= {key: bound for key, bound in bounds.items() if bound is not None}
    return found


def _schema_of_mapping(key: Any, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object"}
    names = {name: bound for name, bound in schema_of(key).items() if name != "type"}
    if names:
        found["propertyNames"] = names
    if value is not object:
        found["additionalProperties"] = schema_of(value)
    return found


def _schema_of_class(t: type[Any]) -> dict[str, Any]:
    fields = attrs.fields(t)
    found: dict[str, Any] = {
        "type": "object",
        "properties": {wire_name(field.name): schema_of(field.type) for field in fields},
    }
    required = [wire_name(field.name) for field in fields if field.default is attrs.NOTHING]
    if required:
        found["required"] = required
    if t is Template:
        found |= {"if": {"properties": {"kind": {"const": "host"}}}, "then": {"required": ["attributes"]}}
    return found


def ordered(schema: Any) -> Any:
    """Return the schema with everything sorted whose order says nothing."""
    if isinstance(schema, dict):
        return {
            key: sorted(value, key=str) if key in {"required", "enum"} else ordered(value)
            for key, value in sorted(schema.items())
        } | ({"anyOf": sorted(map(ordered, schema["anyOf"]), key=str)} if "anyOf" in schema else {})
    return [ordered(part) for part in schema] if isinstance(schema, list) else schema
