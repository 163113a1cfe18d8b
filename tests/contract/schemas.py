"""Reads the published schemas for tests, with the pattern rules of JSON Schema rather than Python's."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource

FOLDER = Path(__file__).resolve().parents[2] / "schemas" / "provider" / "v2"
SUFFIX = ".schema.json"
FOR_PEOPLE_AND_REFERENCES = {"$ref", "$id", "$schema", "$defs", "title", "description", "default"}


def names() -> list[str]:
    """Return the names of all schemas."""
    return sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob("*" + SUFFIX))


@cache
def load(name: str) -> dict[str, Any]:
    """Return one schema."""
    loaded: dict[str, Any] = json.loads((FOLDER / (name + SUFFIX)).read_text())
    return loaded


def whole_pattern(_: object, pattern: str, value: object, __: object) -> Iterator[ValidationError]:
    """Say what does not match, by the rules of JSON Schema."""
    # `$` of JSON Schema is the very end; Python's also matches before a last line feed.
    if isinstance(value, str) and not re.search(re.sub(r"\$\Z", r"\\Z", pattern), value):
        yield ValidationError(f"does not match {pattern}")


_Validator = extend(Draft202012Validator, {"pattern": whole_pattern})


@cache
def validator(name: str) -> Any:
    """Return the validator of one schema."""
    resources = [(each + SUFFIX, Resource.from_contents(load(each))) for each in names()]
    return _Validator(load(name), registry=Registry().with_resources(resources))


def accepts(name: str, value: object) -> bool:
    """Return whether the schema accepts a JSON value."""
    return bool(validator(name).is_valid(value))


def whole(schema: Any, within: str) -> Any:
    """Return the schema with its references filled in and without what only people read."""
    if isinstance(schema, list):
        return [whole(part, within) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            found[key] = {name: whole(part, within) for name, part in value.items()}
        elif key not in FOR_PEOPLE_AND_REFERENCES:
            found[key] = whole(value, within)
    if "$ref" in schema:
        file, _, name = schema["$ref"].partition("#/$defs/")
        source = file.removesuffix(SUFFIX) or within
        found |= whole(load(source)["$defs"][name], source)
    return found
