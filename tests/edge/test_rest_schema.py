import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from provisioner.core.settings import Settings
from provisioner.edge.rest import read_cluster, read_demand, read_supply
from provisioner.edge.rest_fault import Faulty
from provisioner.edge.rest_openapi import openapi
from provisioner.edge.rest_reply_schema import ERROR_SCHEMA, PUSH_REPLY_SCHEMA, REPLY_SCHEMAS
from provisioner.edge.rest_schema import cluster_schema, demand_schema, supply_schema
from tests.edge.rest_worlds import settings_for

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
GOOD = sorted(SCHEMAS.glob("demand/examples/good/*.json")) + sorted(SCHEMAS.glob("supply/examples/good/*.json"))
BAD = sorted(SCHEMAS.glob("demand/examples/bad/*.json")) + sorted(SCHEMAS.glob("supply/examples/bad/*.json"))
KINDS: dict[str, tuple[Callable[[str, object, Settings], object], Callable[[], dict[str, Any]]]] = {
    "demand": (read_demand, demand_schema),
    "supply": (read_supply, supply_schema),
    "cluster": (read_cluster, cluster_schema),
}


def of_kind(example: Path) -> tuple[Callable[[str, object, Settings], object], Draft202012Validator]:
    """The reading and the schema of an example, by the first word of its name."""
    read, schema = KINDS[example.name.partition("-")[0]]
    return read, Draft202012Validator(schema())


def name_of(example: Path) -> str:
    return example.stem


@pytest.mark.parametrize("example", GOOD, ids=name_of)
def test_a_good_example_is_taken_by_the_schema_and_by_the_reading(example: Path) -> None:
    body = json.loads(example.read_text(encoding="utf-8"))
    read, schema = of_kind(example)
    schema.validate(body)
    assert not isinstance(read("lsf", body, settings_for()), Faulty)


@pytest.mark.parametrize("example", BAD, ids=name_of)
def test_a_bad_example_has_exactly_the_faults_it_names(example: Path) -> None:
    stated = json.loads(example.read_text(encoding="utf-8"))
    read, schema = of_kind(example)
    found = read("lsf", stated["body"], settings_for())
    assert isinstance(found, Faulty)
    assert {fault.field for fault in found.faults} == set(stated["faults"])
    assert schema.is_valid(stated["body"]) is not stated["by_schema"]


SCALARS = st.none() | st.booleans() | st.integers(-2, 2**60) | st.floats(allow_nan=False) | st.text(max_size=6)
VALUES = SCALARS | st.sampled_from(
    ["16GiB", "host", "grant", "1 USD/h", "2031-03-04T17:58:12Z", ["a"], {"min": 1}, {"cores": 1}]
)
FIELDS = "id kind count each alone resource units where priority consumer since expires max_price x".split()
LINES = st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=7), max_size=2)


@given(LINES)
def test_what_the_reading_takes_the_schema_takes_too(lines: list[object]) -> None:
    body = {"revision": 1, "lines": lines}
    if not isinstance(read_demand("lsf", body, settings_for()), Faulty):
        Draft202012Validator(demand_schema()).validate(body)


def test_every_schema_is_a_schema() -> None:
    whole: list[dict[str, Any]] = [demand_schema(), supply_schema(), cluster_schema(), ERROR_SCHEMA, PUSH_REPLY_SCHEMA]
    for schema in (*whole, *REPLY_SCHEMAS.values()):
        Draft202012Validator.check_schema(schema)


def test_every_reference_in_the_openapi_document_leads_somewhere() -> None:
    document: Any = openapi("1.0")
    text = json.dumps(document)
    named = set(document["components"]["schemas"])
    assert {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]} == named
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
