"""docs/reference/contract-v2.md: whole, in step with the clauses, the types and the schemas, and without loose ends."""

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, cast

import attrs
import pytest
from attrs import evolve

from provider_sdk.contract import CODES, METHODS, NOTIFICATIONS, Capability, Mode, Per, Promises, QuantityUnit, words
from provider_sdk.contract.strict import wire_name
from provider_sdk.contract.versions import VERSIONS
from provider_sdk.spec import page, sources, wire
from provider_sdk.spec.fields import Tables
from tests.contract import schemas

TEXT = (sources.ROOT / page.PAGE).read_text(encoding="utf-8")
SOURCES = sources.read()
ANCHORS = re.findall(r"^\(([\w.-]+)\)=$", TEXT, re.MULTILINE)
# Vocabularies without a weaker word: an unknown one is a fault, since no reading of it would be safe, or, for
# capabilities, a word that is looked up and never read.
NO_WEAKER_WORD = {Per, QuantityUnit, Mode, Capability}


def promises() -> Iterator[str]:
    for group in attrs.fields(Promises):
        for field in attrs.fields(cast(Any, type(group.default))):
            yield f"{wire_name(group.name)}.{field.name}"


def rendered(prose: str) -> str:
    return page.render(evolve(SOURCES, prose=prose))


def test_the_committed_page_is_what_the_generator_gives() -> None:
    assert page.render(SOURCES) == TEXT, "run: .venv/bin/python -m provider_sdk.spec"


def test_every_clause_is_an_anchor_exactly_once_and_every_such_anchor_a_clause() -> None:
    of_clauses = [anchor for anchor in ANCHORS if not anchor.startswith(("type-", "method-", "notification-"))]
    assert sorted(of_clauses) == sorted(clause.lower() for clause in SOURCES.clauses)


def test_every_clause_has_a_sentence_of_its_own() -> None:
    for clause in SOURCES.clauses:
        found = re.findall(
            rf"^\({re.escape(clause.lower())}\)=\n\n\*\*{re.escape(clause)}\*\* (.+)$", TEXT, re.MULTILINE
        )
        assert len(found) == 1
        assert len(found[0]) > 20


def test_every_method_notification_and_shared_type_has_its_place() -> None:
    assert [a for a in ANCHORS if a.startswith("method-")] == [f"method-{name}" for name in _in_order_of_the_page()]
    assert set(_in_order_of_the_page()) == set(METHODS)
    assert {a for a in ANCHORS if a.startswith("notification-")} == {f"notification-{name}" for name in NOTIFICATIONS}
    shown = {anchor.removeprefix("type-") for anchor in ANCHORS if anchor.startswith("type-")}
    shared = schemas.load("common")["$defs"]
    tables = Tables(SOURCES.schemas)
    assert shown == {name.lower() for name in shared if not tables.is_scalar(name) and not tables.is_list(name)}
    for name in shared:
        assert not tables.is_scalar(name) or f"\n| `{name}` | " in TEXT


def _in_order_of_the_page() -> list[str]:
    return [name for name in re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) if name in METHODS]


def test_every_field_of_every_message_stands_in_a_table() -> None:
    for name in schemas.names():
        if name not in {"common", "frames"}:
            for field in schemas.load(name).get("properties", {}):
                assert f"\n| `{field}` | " in TEXT, (name, field)


def test_every_error_class_has_a_row_with_its_code() -> None:
    for error_class, code in CODES.items():
        assert re.search(rf"^\| {code} \| `{error_class}` \| ∅? ?\| \S", TEXT, re.MULTILINE)


def test_every_capability_has_a_row() -> None:
    assert [each for each in Capability if f"\n| `{each}` | " not in TEXT] == []


def test_every_promise_is_explained_with_its_weakest_value() -> None:
    for promise in promises():
        assert re.search(rf"^\*\*PR-{re.escape(promise)}\*\* \(.+; weakest: .+\) \S", TEXT, re.MULTILINE), promise
    assert {clause.removeprefix("PR-") for clause in SOURCES.clauses if clause.startswith("PR-")} == set(promises())


def test_every_method_and_notification_has_an_example_of_whole_frames() -> None:
    blocks = re.findall(r"```json\n(.*?)\n```", TEXT, re.DOTALL)
    frames = [[json.loads(line) for line in block.split("\n")] for block in blocks]
    assert {frame[0]["method"] for frame in frames if "method" in frame[0]} == {*METHODS, *NOTIFICATIONS}
    for frame in frames:
        assert all(schemas.accepts("frames", line) for line in frame)


def test_every_link_inside_the_page_leads_somewhere() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", TEXT, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", TEXT)) <= {*ANCHORS, *headings}


def test_gr_2_every_vocabulary_weakens_is_left_out_or_has_no_safe_reading() -> None:
    every = {each for each in vars(words).values() if isinstance(each, type) and issubclass(each, StrEnum)}
    assert wire.weakening() | NO_WEAKER_WORD == every - {StrEnum}
    assert not wire.weakening() & NO_WEAKER_WORD


def test_gr_1_every_version_spoken_stands_in_the_table_of_versions() -> None:
    assert [version for version in VERSIONS if f"\n| {version} | " not in TEXT] == []


def test_the_wait_for_a_token_never_heard_of_is_late_effect_and_visibility_together() -> None:
    table = TEXT[TEXT.index("**OT-1**") : TEXT.index("(method-cancel)=")]
    assert "`calls.late_effect_s` + `list.delay_s`" in table


@pytest.mark.parametrize(
    "prose",
    [
        "FR-99: A clause nobody lists.",
        "{{nonsense}}",
        "{{words outcome\nmade: one of four\n{{end}}",
        "{{errors\nprice: one of many\n{{end}}",
        "{{nonsense\nmade: x\n{{end}}",
    ],
)
def test_prose_that_asks_for_what_there_is_not_or_leaves_out_what_there_is_is_refused(prose: str) -> None:
    with pytest.raises(page.UnknownMark):
        rendered(prose)


def test_a_clause_that_is_named_is_a_link_but_not_in_code_nor_where_it_is_told() -> None:
    told = rendered("FR-1: As RQ-1. (See HS-1, HS-10.) `RQ-2`\n\nNot FR-12 nor XFR-1.")
    assert told == (
        "(fr-1)=\n\n**FR-1** As [RQ-1](#rq-1). (See [HS-1](#hs-1), [HS-10](#hs-10).) `RQ-2`\n\nNot FR-12 nor XFR-1.\n"
    )


def test_a_changed_description_changes_the_page() -> None:
    changed = cast(dict[str, Any], json.loads(json.dumps(dict(SOURCES.schemas))))
    changed["shutdown.params"]["properties"]["grace_s"]["description"] = "Another sentence."
    assert page.render(evolve(SOURCES, schemas=changed)) != TEXT
