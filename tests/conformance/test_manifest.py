"""The list of requirements and the checks name each other, both ways; so does the page that shows the list."""

import ast
import re
from pathlib import Path

import attrs
import pytest

from provider_sdk.contract import METHODS, Promises
from provider_sdk.testing.checks import order
from provider_sdk.testing.manifest import requirements
from provider_sdk.testing.manual import table

ROOT = Path(__file__).parents[2]
CLAUSES = {clause for each in order.ALL for clause in each.clauses}
ID = re.compile(r"(?:PR-[a-z_]+\.[a-z_]+|SH-[a-z_]+|[A-Z]{2}-\d{1,2})")


def test_every_requirement_has_a_check_or_a_reason_why_it_can_not_be_seen() -> None:
    bare = [each.id for each in requirements().values() if each.id not in CLAUSES and not each.unseen]
    assert bare == []


def test_no_requirement_has_both_a_check_and_such_a_reason() -> None:
    assert [each.id for each in requirements().values() if each.id in CLAUSES and each.unseen] == []


def test_every_check_names_requirements_that_exist() -> None:
    assert CLAUSES - set(requirements()) == set()


def test_no_two_checks_share_a_name() -> None:
    names = [each.name for each in order.ALL]
    assert len(set(names)) == len(names)


def test_every_clause_a_check_can_break_is_in_the_list() -> None:
    folder = ROOT / "provider_sdk" / "testing"
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.fullmatch(node.value):
                assert node.value in requirements(), f"{path.name} names {node.value}"


def test_every_method_has_a_requirement_on_its_shape() -> None:
    assert {f"SH-{name}" for name in METHODS} <= set(requirements())


def test_every_promise_has_a_requirement() -> None:
    stated = {
        f"PR-{group.name.rstrip('_')}.{promise.name}"
        for group in attrs.fields(Promises)
        for promise in attrs.fields(type(getattr(Promises(), group.name)))
    }
    assert stated == {each for each in requirements() if each.startswith("PR-")}


def test_the_page_shows_the_list_as_it_is() -> None:
    page = (ROOT / "docs" / "reference" / "conformance.md").read_text(encoding="utf-8")
    assert table() in page, "run: python -m provider_sdk.testing.manual"


@pytest.mark.parametrize("requirement", requirements().values(), ids=lambda each: each.id)
def test_a_requirement_is_a_sentence_with_a_section(requirement: object) -> None:
    found = requirements()[getattr(requirement, "id", "")]
    assert found.sentence.endswith(".")
    assert found.clause.startswith("§")
