"""The tree keeps the house rules."""

from collections.abc import Callable, Iterable

import pytest

from tests.house import conduct, mentions, purity, shape, sources, speech
from tests.house.sources import Source

Rule = Callable[[Source], list[str]]

PRODUCT_RULES: tuple[Rule, ...] = (
    purity.impurities,
    purity.foreign_imports,
    purity.fork_risks,
    purity.second_loops,
    shape.long_files,
    shape.long_functions,
    shape.gate_exemptions,
    shape.empty_names,
    shape.missing_promises,
    shape.unchosen_faces,
    conduct.broad_excepts,
    conduct.unfinished,
    conduct.float_money,
    conduct.mutable_values,
)
TEST_RULES: tuple[Rule, ...] = (
    shape.long_files,
    shape.empty_names,
    speech.names_that_are_no_sentence,
    speech.sleeps,
    speech.mocks,
    speech.hidden_failures,
)


def name_of(rule: Rule) -> str:
    return getattr(rule, "__name__", repr(rule)).replace("_", " ")


def findings(rule: Rule, kept_by: Iterable[Source]) -> str:
    return "\n".join(finding for found in kept_by for finding in rule(found))


@pytest.mark.parametrize("rule", PRODUCT_RULES, ids=name_of)
def test_the_product_has_no(rule: Rule) -> None:
    assert findings(rule, sources.product()) == ""


@pytest.mark.parametrize("rule", TEST_RULES, ids=name_of)
def test_the_tests_have_no(rule: Rule) -> None:
    assert findings(rule, sources.tests()) == ""


@pytest.mark.parametrize("library", purity.SINGLE_IMPORTERS)
def test_one_file_alone_imports(library: str) -> None:
    assert len(purity.importers(sources.product(), library)) == 1, purity.importers(sources.product(), library)


def test_no_file_mentions_a_machine_a_registry_or_a_secret() -> None:
    found = [
        finding
        for path in sources.files()
        if (text := sources.text_of(path)) is not None
        for finding in mentions.mentions(str(path), text)
    ]
    assert found == []
