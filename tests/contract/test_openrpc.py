"""The OpenRPC document is valid, is what its generator gives, and judges every example as the schemas do."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7, DRAFT202012

from provider_sdk.contract import CODES, IMPLY_NOT_MADE, METHODS, NOTIFICATIONS, Capability, ErrorClass
from provider_sdk.spec import calls
from provider_sdk.spec.__main__ import main, pages
from tests.contract import schemas
from tests.contract.wire_types import TYPES

FILE = schemas.FOLDER / "openrpc.json"
META = Path(__file__).parent / "meta"
EXAMPLES = schemas.FOLDER / "examples"
DOCUMENT: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
BY_NAME: dict[str, dict[str, Any]] = {method["name"]: method for method in DOCUMENT["methods"]}
METHOD_NAMES_AS_CAPABILITY = {"quote", "cancel", "extend", "forget"}


@cache
def meta_validator() -> Any:
    openrpc = json.loads((META / "openrpc-1.3.schema.json").read_text(encoding="utf-8"))
    draft_07 = json.loads((META / "json-schema-draft-07.schema.json").read_text(encoding="utf-8"))
    known = [(address, DRAFT7.create_resource(draft_07)) for address in (draft_07["$id"], draft_07["$id"].rstrip("/"))]
    return Draft7Validator(openrpc, registry=Registry().with_resources(known))


def inside(pointer: str, draft: Any) -> Any:
    """Return the validator of one component under a draft of JSON Schema."""
    dialect = DRAFT7 if draft is Draft7Validator else DRAFT202012
    whole: Resource[Any] = dialect.create_resource(DOCUMENT)
    exact = extend(draft, {"pattern": schemas.whole_pattern})
    return exact({"$ref": "urn:openrpc" + pointer}, registry=Registry().with_resource("urn:openrpc", whole))


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for part in node.values():
            yield from references(part)
    elif isinstance(node, list):
        for part in node:
            yield from references(part)


def examples(kind: str) -> list[Path]:
    found = sorted((EXAMPLES / kind).glob("*.json"))
    return [path for path in found if path.name.partition("--")[0] in {*TYPES, "error"}]


def test_the_document_is_valid_against_the_meta_schema_of_openrpc() -> None:
    assert not list(meta_validator().iter_errors(DOCUMENT))


@pytest.mark.parametrize("part", ["openrpc", "info", "methods"])
def test_the_meta_schema_refuses_a_document_without_a_needed_part(part: str) -> None:
    assert not meta_validator().is_valid({key: value for key, value in DOCUMENT.items() if key != part})


def test_the_meta_schema_looks_into_the_schemas_of_params() -> None:
    ping = {"name": "p", "params": [{"name": "x", "schema": {"type": "whole"}}]}
    assert not meta_validator().is_valid({**DOCUMENT, "methods": [ping]})


@pytest.mark.parametrize("draft", [Draft202012Validator, Draft7Validator], ids=["2020-12", "draft-07"])
@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_component_is_valid_against_the_meta_schema_of_json_schema(name: str, draft: Any) -> None:
    draft.check_schema(DOCUMENT["components"]["schemas"][name])


def test_the_published_files_are_what_the_generator_gives(tmp_path: Path) -> None:
    root = schemas.FOLDER.parents[2]
    for name, text in pages(root).items():
        assert (root / name).read_text(encoding="utf-8") == text, "run: .venv/bin/python -m provider_sdk.spec"


def test_every_reference_leads_to_a_part_of_the_document_and_every_part_is_referred_to() -> None:
    found = set(references(DOCUMENT))
    for reference in found:
        assert reference.startswith("#/components/")
        _, _, kind, name = reference.split("/")
        assert name in DOCUMENT["components"][kind]
    parts = {f"#/components/{kind}/{name}" for kind, named in DOCUMENT["components"].items() for name in named}
    of_items = {f"#/components/errors/{each}" for each in DOCUMENT["x-errors-of-items"]}
    assert parts - found == of_items | {"#/components/schemas/error"}


def test_every_method_and_notification_stands_in_it_with_who_sends_it_and_its_params_by_name() -> None:
    assert list(BY_NAME) == [*METHODS, *NOTIFICATIONS]
    assert len(BY_NAME) == len(DOCUMENT["methods"])
    for name, method in BY_NAME.items():
        is_call = name in METHODS
        assert method["paramStructure"] == "by-name"
        assert method["x-kind"] == ("call" if is_call else "notification")
        assert method["x-from"] == ("daemon" if is_call else NOTIFICATIONS[name].sender)
        assert ("result" in method) == is_call
        assert ("errors" in method) == is_call


@pytest.mark.parametrize("name", BY_NAME)
def test_the_params_of_a_method_are_the_fields_of_its_schema_those_required_first(name: str) -> None:
    schema = schemas.load(f"{name}.params" if name in METHODS else f"{name}.notification")
    described = [(param["name"], param["required"]) for param in BY_NAME[name]["params"]]
    required = schema.get("required", [])
    assert {each for each, _ in described} == set(schema.get("properties", {}))
    assert {each for each, needed in described if needed} == set(required)
    assert [needed for _, needed in described] == sorted((needed for _, needed in described), reverse=True)


def test_optional_methods_name_their_capability_and_required_ones_none() -> None:
    named = {name: method["x-capability"] for name, method in BY_NAME.items() if "x-capability" in method}
    assert named == {name: str(m.capability) for name, m in METHODS.items() if m.capability is not None}
    assert set(named) == METHOD_NAMES_AS_CAPABILITY


def test_every_capability_adds_a_method_or_widens_one() -> None:
    adding = [method.get("x-capability") or method.get("x-more-by-capability") for method in DOCUMENT["methods"]]
    assert sorted(filter(None, adding)) == sorted(str(each) for each in Capability)


def test_every_error_class_stands_in_it_with_its_code_and_is_to_be_expected_of_a_call_or_an_item() -> None:
    errors = DOCUMENT["components"]["errors"]
    assert {name: error["code"] for name, error in errors.items()} == {str(c): code for c, code in CODES.items()}
    assert {error["message"] for error in errors.values()} == set(errors)
    expected = {each for name in METHODS for each in calls.errors_of(name)}
    assert expected | set(calls.OF_ITEMS) == set(ErrorClass)
    assert not expected & set(calls.OF_ITEMS)
    assert set(DOCUMENT["x-errors-implying-not-made"]) == {str(each) for each in IMPLY_NOT_MADE}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_examples_of_a_method_are_good_by_its_own_schemas(name: str) -> None:
    method = BY_NAME[name]
    assert method["examples"]
    for pairing in method["examples"]:
        params = {each["name"]: each["value"] for each in pairing["params"]}
        assert inside(method["x-params"]["$ref"], Draft202012Validator).is_valid(params)
        assert set(params) <= {param["name"] for param in method["params"]}
        if name in METHODS:
            assert inside(method["result"]["schema"]["$ref"], Draft202012Validator).is_valid(pairing["result"]["value"])
        else:
            assert "result" not in pairing


@pytest.mark.parametrize("draft", [Draft202012Validator, Draft7Validator], ids=["2020-12", "draft-07"])
def test_the_document_judges_every_example_as_the_schemas_do(draft: Any) -> None:
    judged = 0
    for kind in ("good", "bad", "grown"):
        for path in examples(kind):
            raw = json.loads(path.read_text(encoding="utf-8"))
            value = raw if kind == "good" else raw["value"]
            validator = inside(f"#/components/schemas/{path.name.partition('--')[0]}", draft)
            assert validator.is_valid(value) == (kind == "good"), path.name
            judged += 1
    assert judged > 150


def test_a_changed_schema_would_be_seen(tmp_path: Path) -> None:
    root = schemas.FOLDER.parents[2]
    for name in pages(root):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    copied = tmp_path / "schemas" / "provider"
    for path in (root / "schemas" / "provider").rglob("*"):
        if path.is_file():
            target = copied / path.relative_to(root / "schemas" / "provider")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    changed = copied / "v2" / "shutdown.params.schema.json"
    changed.write_text(changed.read_text().replace("How long that may take.", "How long."))
    main(tmp_path)
    assert (copied / "v2" / "openrpc.json").read_text() != FILE.read_text()
