"""Codec against JSON Schema, both ways: what the published schema accepts the codec reads, and what the codec reads the
schema accepts once it is told what the contract adds to it.

The contract adds: absent and null are the same; unknown words are read as weaker ones; an integer has no fraction;
some values have a bound in bytes, which a schema can't say.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import orjson
from jsonschema.validators import extend
from referencing import Registry, Resource

from provider_sdk.contract import BadShape, decode
from provider_sdk.contract.words import DROPPED_WHEN_UNKNOWN, WEAKEST, ChangedWhat, Kind
from tests.contract import schemas
from tests.contract.wire_types import TYPES
from tests.fuzz.oracle import check
from tests.fuzz.reader import NotStrict, depth, read_value

BYTES_LEAST = 2 * 1024
"""The smallest of the bounds in bytes: a smaller value breaks none of them."""


def run_schema(scene: str, data: bytes) -> None:
    """Reads these bytes as a JSON value of the schema `scene` and compares both judges."""
    try:
        value = read_value(data.strip())
    except NotStrict:
        return
    if depth(value) > 40:
        return
    refused: str | None = None
    try:
        decode(TYPES[scene], value)
    except BadShape as bad:
        refused = str(bad)
        check(bool(bad.faults), "a refusal names its faults")
    if strict(scene).is_valid(value):
        is_small = len(orjson.dumps(value)) <= BYTES_LEAST if _fits(value) else False
        check(refused is None or not is_small, f"the schema accepts it, the codec says: {refused}")
    if refused is None:
        fault = next(iter(grown(scene).iter_errors(_of_known_kinds(value))), None)
        check(fault is None, f"the codec reads it, the schema says: {fault.message[:200] if fault else ''}")


def _fits(value: object) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def _of_known_kinds(value: Any) -> Any:
    """The value without the items of kinds unknown to this version, which are left out when it is read."""
    if isinstance(value, list):
        return [_of_known_kinds(part) for part in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, part in value.items():
        words = _KINDS.get(key)
        is_told = words is not None and isinstance(part, list)
        found[key] = _of_known_kinds([i for i in part if not _is_stranger(i, words)] if is_told else part)
    return found


def _is_stranger(item: object, words: Any) -> bool:
    word = item.get("kind") if isinstance(item, dict) else item if words in (Kind, ChangedWhat) else None
    return isinstance(word, str) and word not in set(words)


_KINDS: Mapping[str, type[StrEnum]] = {
    "templates": Kind,
    "kinds": Kind,
    "what": ChangedWhat,
}


# --- the two validators


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _validator_class() -> Any:
    base = type(schemas.validator("ping.params"))
    return extend(base, type_checker=base.TYPE_CHECKER.redefine("integer", _is_integer))


@cache
def strict(name: str) -> Any:
    """The published schema, integers without a fraction."""
    return _validator_class()(schemas.load(name), registry=_registry(weakened=False))


@cache
def grown(name: str) -> Any:
    """The published schema, optional fields that may be null, and words that may be unknown."""
    return _validator_class()(_weakened(schemas.load(name)), registry=_registry(weakened=True))


@cache
def _registry(*, weakened: bool) -> Registry[Any]:
    loaded = {each: schemas.load(each) for each in schemas.names()}
    resources = [
        (name + schemas.SUFFIX, Resource.from_contents(_weakened(each) if weakened else each))
        for name, each in loaded.items()
    ]
    return Registry().with_resources(resources)


@cache
def _open_words() -> frozenset[frozenset[str]]:
    """The vocabularies whose unknown words are read as weaker ones, or whose items are left out."""
    kinds: list[type[StrEnum]] = [*WEAKEST, *DROPPED_WHEN_UNKNOWN]
    return frozenset(frozenset(word.value for word in kind) for kind in kinds)


def _weakened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_weakened(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    words = schema.get("enum")
    if isinstance(words, list) and frozenset(map(str, words)) in _open_words():
        return {"type": "string"}
    found = {key: _weakened(part) for key, part in schema.items() if key not in ("if", "then", "const")}
    required = schema.get("required", [])
    if isinstance(schema.get("properties"), Mapping):
        found["properties"] = {
            name: part if name in required else {"anyOf": [{"type": "null"}, part]}
            for name, part in found["properties"].items()
        }
    return found
