"""Checks a provider's section of the configuration against the provider's own JSON Schema, all faults at once (HS-4).

Knows JSON Schema (2020-12) and turns its findings into sentences that never hold a value: it may be a secret in the
wrong place. Must not know what the configuration means.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from referencing import Registry

Schema: TypeAlias = Mapping[str, object] | Path
"""A JSON Schema, or the file that holds it."""


class SchemaFault(Exception):
    """The provider's own schema is no JSON Schema: a fault of the program, not of its configuration."""


def config_faults(schema: Schema, config: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Every fault as a JSON pointer and a sentence, in the order of the pointers; empty if there is none.

    References reach no further than the schema itself. Raises SchemaFault.
    """
    checks = _validator(schema)
    return tuple(dict.fromkeys(sorted(found for error in checks.iter_errors(config) for found in _told(error))))


def with_defaults(schema: Schema, config: Mapping[str, object]) -> dict[str, Any]:
    """The configuration with each `default` of the schema's `properties` where nothing was stated, at any depth."""
    return _filled(_read(schema), config)


def _read(schema: Schema) -> Mapping[str, object]:
    if not isinstance(schema, Path):
        return schema
    try:
        found = json.loads(schema.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise SchemaFault(f"{schema.name} can't be read as JSON") from problem
    if not isinstance(found, dict):
        raise SchemaFault(f"{schema.name} is no JSON object")
    return found


def _validator(schema: Schema) -> Any:
    found = dict(_read(schema))
    try:
        Draft202012Validator.check_schema(found)
    except SchemaError as problem:
        raise SchemaFault(f"the schema is faulty at {_pointer(problem.absolute_path)}") from problem
    return Draft202012Validator(found, registry=Registry())


def _told(error: ValidationError) -> Iterator[tuple[str, str]]:
    at, allowed = _pointer(error.absolute_path), error.validator_value
    match error.validator:
        case "required":
            # jsonschema tells each missing name as an error of its own, but only in its text.
            missing = [name for name in allowed if name not in error.instance and f"'{name}'" in error.message]
            yield from ((f"{at}/{_escaped(name)}", "is required") for name in missing)
        case "additionalProperties" if isinstance(error.instance, dict):
            known = sorted(error.schema.get("properties", ()))
            of = f"; known are {', '.join(known)}" if known else ""
            yield from ((f"{at}/{_escaped(name)}", f"is not known{of}") for name in _extras(error))
        case "anyOf" | "oneOf" if error.context:
            yield from _closest(error)
        case _:
            yield at, _sentence(str(error.validator), allowed)


def _closest(error: ValidationError) -> Iterator[tuple[str, str]]:
    """What is wrong in the alternative that was meant: the one of the right type, and of several the least wrong."""
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context:
        branches.setdefault(inner.schema_path[0], []).append(inner)
    here = len(error.absolute_path)
    meant = [
        found
        for found in branches.values()
        if not any(inner.validator == "type" and len(inner.absolute_path) == here for inner in found)
    ]
    if meant:
        for inner in min(meant, key=len):
            yield from _told(inner)
    else:
        choices = dict.fromkeys(text for found in branches.values() for inner in found for _, text in _told(inner))
        yield _pointer(error.absolute_path), " or ".join(choices)


def _extras(error: ValidationError) -> list[str]:
    patterns = error.schema.get("patternProperties", {})
    checks = Draft202012Validator({"type": "object", "patternProperties": dict.fromkeys(patterns, False)})
    unmatched = [name for name in error.instance if checks.is_valid({name: None})]
    return [name for name in unmatched if name not in error.schema.get("properties", {})]


_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _sentence(rule: str, allowed: Any) -> str:
    match rule:
        case "type":
            names = allowed if isinstance(allowed, list) else [allowed]
            return f"must be {' or '.join(_TYPES[str(name)] for name in names)}"
        case "enum":
            return f"must be one of {', '.join(_json(each) for each in allowed)}"
        case "const":
            return f"must be {_json(allowed)}"
        case _ if rule in _WITH_BOUND:
            return _WITH_BOUND[rule].format(allowed)
        case _:
            return f"does not keep the rule {rule}"


_WITH_BOUND = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "minProperties": "must have at least {} entries",
    "maxProperties": "must have at most {} entries",
    "pattern": "must match {}",
    "format": "must be of the form {}",
    "uniqueItems": "must not hold the same entry twice",
    "unevaluatedProperties": "has an entry that is not known here",
    "not": "is not allowed here",
    "None": "holds what is not allowed here",  # the schema `false`, told at what holds it
}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _pointer(path: Any) -> str:
    return "".join(f"/{_escaped(str(step))}" for step in path)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _filled(schema: Mapping[str, object], value: Mapping[str, object]) -> dict[str, Any]:
    filled: dict[str, Any] = dict(value)
    stated = schema.get("properties")
    for name, inner in (stated if isinstance(stated, dict) else {}).items():
        if not isinstance(inner, dict):
            continue
        if name not in filled and "default" in inner:
            filled[name] = inner["default"]
        if isinstance(filled.get(name), dict):
            filled[name] = _filled(inner, filled[name])
    return filled
