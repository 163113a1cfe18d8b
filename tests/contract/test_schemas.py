"""The schemas are well made, and say exactly what the types say."""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from provider_sdk.contract import CODES, ErrorClass, decode, encode
from tests.contract import schemas
from tests.contract.strategies import values
from tests.contract.wire_types import ERROR_DATA, NO_TYPE, TYPES, ordered, schema_of

ROOT = schemas.FOLDER.parents[2]
EVERY_SCHEMA = [
    *sorted((ROOT / "schemas").rglob("*.schema.json")),
    *sorted((ROOT / "providers").rglob("*.schema.json")),
]


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_valid_against_the_meta_schema(name: str) -> None:
    Draft202012Validator.check_schema(schemas.load(name))
    assert schemas.load(name)["$id"] == name + schemas.SUFFIX


@pytest.mark.parametrize("path", EVERY_SCHEMA, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_schema_of_the_project_is_valid_against_the_meta_schema(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


def test_a_faulty_schema_is_refused_by_the_meta_schema() -> None:
    with pytest.raises(SchemaError):
        Draft202012Validator.check_schema({"type": "whole"})


def test_there_is_one_schema_for_every_params_result_and_notification_and_none_without_a_type() -> None:
    assert set(schemas.names()) - NO_TYPE == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_schema_and_type_have_the_same_fields_required_fields_bounds_patterns_and_words(name: str) -> None:
    assert ordered(schemas.whole(schemas.load(name), name)) == ordered(schema_of(TYPES[name]))


def test_the_schema_of_error_data_says_what_its_type_says() -> None:
    published = schemas.whole(schemas.load("common")["$defs"]["errorData"], "common")
    assert ordered(published) == ordered(schema_of(ERROR_DATA))


def test_every_error_class_has_its_code_in_the_schema() -> None:
    rules = schemas.load("error")["allOf"]
    published = {
        rule["then"]["properties"]["message"]["const"]: rule["if"]["properties"]["code"]["const"] for rule in rules
    }
    assert published == {error_class.value: code for error_class, code in CODES.items()}
    assert set(CODES) == set(ErrorClass)
    assert sorted(schemas.load("error")["properties"]["code"]["enum"]) == sorted(CODES.values())


def _defaults_of_type(t: Any) -> dict[str, Any]:
    return {name: value for name, value in encode_with_defaults(t).items() if value not in (None, [], (), {}, False)}


def encode_with_defaults(t: Any) -> dict[str, Any]:
    found = {}
    for field in attrs.fields(t):
        if field.default is not attrs.NOTHING and not isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
            found[field.name.removesuffix("_")] = field.default
    return found


@pytest.mark.parametrize("name", TYPES)
def test_the_defaults_a_schema_states_are_those_of_the_type(name: str) -> None:
    _compare_defaults(schemas.load(name), name, TYPES[name])


def test_the_weakest_promises_are_stated_as_defaults() -> None:
    promises = schemas.load("common")["$defs"]["promises"]
    _compare_defaults(promises, "common", TYPES["initialize.result"]("2.0", None, (), "x").promises.__class__)


def _compare_defaults(schema: dict[str, Any], within: str, t: Any) -> None:
    if "$ref" in schema:
        file, _, name = schema["$ref"].partition("#/$defs/")
        within = file.removesuffix(schemas.SUFFIX) or within
        schema = schemas.load(within)["$defs"][name]
    stated = {name: part["default"] for name, part in schema["properties"].items() if part.get("default", False)}
    own = {name: value for name, value in _defaults_of_type(t).items() if not attrs.has(type(value))}
    assert stated == own
    for field in attrs.fields(t):
        if attrs.has(type(field.default)):
            part = schema["properties"][field.name.removesuffix("_")]
            _compare_defaults(part, within, type(field.default))


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_what_the_types_write_is_accepted_by_the_schemas_and_read_back_the_same(name: str, data: st.DataObject) -> None:
    t: Any = TYPES[name]
    value = data.draw(values(t))
    written = _as_json(encode(value))
    assert not list(schemas.validator(name).iter_errors(written))
    assert decode(t, written) == value


def _as_json(value: Any) -> Any:
    """Return tuples as the lists they are on the wire."""
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    return [_as_json(part) for part in value] if isinstance(value, list | tuple) else value
