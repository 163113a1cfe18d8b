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


def show(findings: Iterable[str]) -> None:
    """Fail with every finding, whole: they are a list to work through, not a traceback."""
    if found := list(findings):
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.parametrize("rule", PRODUCT_RULES, ids=name_of)
def test_the_product_has_no(rule: Rule) -> None:
    show(finding for found in sources.product() for finding in rule(found))


@pytest.mark.parametrize("rule", TEST_RULES, ids=name_of)
def test_the_tests_have_no(rule: Rule) -> None:
    show(finding for found in sources.tests() for finding in rule(found))


@pytest.mark.parametrize("library", purity.SINGLE_IMPORTERS)
def test_one_file_alone_imports(library: str) -> None:
    importers = purity.importers(sources.product(), library)
    assert len(importers) == 1, importers


def test_no_file_mentions_a_machine_a_registry_or_a_secret() -> None:
    texts = ((str(path), sources.text_of(path)) for path in sources.files())
    show(finding for path, text in texts if text is not None for finding in mentions.mentions(path, text))
