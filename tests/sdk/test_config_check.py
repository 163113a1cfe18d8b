import json
from pathlib import Path
from typing import Any

import pytest

from provider_sdk.config_check import SchemaFault, config_faults, with_defaults

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["region", "key"],
    "properties": {
        "region": {"type": "string", "pattern": "^[a-z]+-[0-9]$"},
        "key": {"$ref": "#/$defs/credential"},
        "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        "mode": {"enum": ["fast", "slow"], "default": "slow"},
        "zones": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "uniqueItems": True},
        "limit": {"oneOf": [{"type": "integer"}, {"type": "object", "required": ["per_s"], "properties": {
            "per_s": {"type": "number", "exclusiveMinimum": 0}, "burst": {"type": "integer", "default": 5}},
            "additionalProperties": False}]},
        "tags": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        "old": {"not": {}},
        "older": False,
        "net": {"type": "object", "properties": {"mtu": {"type": "integer", "default": 1500}}, "default": {}},
    },
    "$defs": {"credential": {"type": "object", "required": ["credential"], "properties": {
        "credential": {"type": "string"}}}},
}  # fmt: skip
GOOD = {"region": "east-1", "key": {"credential": "far"}}


def test_a_right_section_has_no_faults() -> None:
    assert config_faults(SCHEMA, {**GOOD, "limit": {"per_s": 3}, "tags": {"x-a": "b"}, "zones": ["a", "b"]}) == ()


def test_hs_4_every_fault_is_told_at_once_each_with_its_pointer() -> None:
    section = {"region": "EAST", "size": 11, "zones": ["a", "long", "a"], "colour": "red", "mode": "quick"}
    assert config_faults(SCHEMA, section) == (
        ("/colour", "is not known; known are key, limit, mode, net, old, older, region, size, tags, zones"),
        ("/key", "is required"),
        ("/mode", 'must be one of "fast", "slow"'),
        ("/region", "must match ^[a-z]+-[0-9]$"),
        ("/size", "must be at most 10"),
        ("/zones", "must not hold the same entry twice"),
        ("/zones/1", "must have at most 3 characters"),
    )


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"size": "3"}, ("/size", "must be a whole number")),
        ({"size": True}, ("/size", "must be a whole number")),
        ({"key": {}}, ("/key/credential", "is required")),
        ({"tags": {"x-a": "b", "a/b~c": "d"}}, ("/tags/a~1b~0c", "is not known")),
        ({"limit": {"per_s": 0}}, ("/limit/per_s", "must be above 0")),
        ({"limit": "3"}, ("/limit", "must be a whole number or must be an object")),
        ({"limit": {"burst": 1}}, ("/limit/per_s", "is required")),
        ({"zones": []}, ("/zones", "must have at least 1 entries")),
        ({"old": 1}, ("/old", "is not allowed here")),
        ({"older": 1}, ("", "holds what is not allowed here")),
    ],
)
def test_a_fault_is_a_sentence_at_its_pointer(part: dict[str, object], fault: tuple[str, str]) -> None:
    assert config_faults(SCHEMA, {**GOOD, **part}) == (fault,)


def test_no_fault_ever_holds_the_value_which_may_be_a_secret_in_the_wrong_place() -> None:
    secret = "hunter2-hunter2"
    section = {"region": secret, "key": secret, "size": secret, "mode": secret, "zones": secret, "limit": secret}
    faults = config_faults(SCHEMA, {**section, "net": {"mtu": secret}, "tags": {"x-a": [secret]}})
    assert len(faults) >= 7
    assert secret not in str(faults)


def test_the_schema_may_be_a_file_and_a_faulty_one_is_the_programs_fault(tmp_path: Path) -> None:
    file = tmp_path / "config.schema.json"
    file.write_text(json.dumps(SCHEMA))
    assert config_faults(file, {**GOOD, "size": 0}) == (("/size", "must be at least 1"),)
    file.write_text('{"type": "strnig"}')
    with pytest.raises(SchemaFault, match="faulty at /type"):
        config_faults(file, GOOD)
    for text in ("{", "[]"):
        file.write_text(text)
        with pytest.raises(SchemaFault, match=r"config\.schema\.json"):
            config_faults(file, GOOD)
    with pytest.raises(SchemaFault):
        config_faults(tmp_path / "absent.json", GOOD)


def test_defaults_of_the_schema_stand_where_nothing_was_stated_at_any_depth() -> None:
    assert with_defaults(SCHEMA, GOOD) == {**GOOD, "size": 3, "mode": "slow", "net": {"mtu": 1500}}
    assert with_defaults(SCHEMA, {**GOOD, "net": {"mtu": 9000}, "size": 1})["net"] == {"mtu": 9000}
    assert SCHEMA["properties"]["net"]["default"] == {}
