"""The rules for tests: sentences as names, no sleeps, no mocks, no expected failures. Pure functions to findings."""

import ast
from collections.abc import Iterator

from tests.house.purity import imports
from tests.house.shape import functions
from tests.house.sources import Source

SENTENCE_WORDS = 3
# Real processes on the real clock: only there may a test wait by sleeping.
REAL_CLOCK = ("tests/e2e", "tests/bench", "tests/replay")
SLEEPS = frozenset({"time.sleep", "trio.sleep", "trio.sleep_until", "asyncio.sleep"})
MOCKS = ("unittest.mock", "mock", "pytest_mock")


def names_that_are_no_sentence(found: Source) -> list[str]:
    """A test whose name has fewer than three words after `test`."""
    return [
        found.at(function, f"{function.name}: a test's name is a sentence")
        for function in functions(found)
        if function.name.startswith("test_") and len(function.name.removeprefix("test_").split("_")) < SENTENCE_WORDS
    ]


def sleeps(found: Source) -> list[str]:
    """A sleep outside the tests that run real processes."""
    if found.is_under(*REAL_CLOCK):
        return []
    return [
        found.at(call, f"calls {name}: wait for an event, or for tests.virtual_time.pass_s")
        for call, name in _calls(found)
        if name in SLEEPS
    ]


def mocks(found: Source) -> list[str]:
    """A mock or a patched attribute: fakes pass the conformance kit, our own code is used as it is."""
    by_import = [
        found.at(node, f"imports {name}")
        for node, name in imports(found)
        if any(name == mock or name.startswith(f"{mock}.") for mock in MOCKS)
    ]
    return by_import + [
        found.at(call, f"calls {name}") for call, name in _calls(found) if name == "monkeypatch.setattr"
    ]


def hidden_failures(found: Source) -> list[str]:
    """An expected failure, or a skip without its reason."""
    findings = []
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Attribute) and node.attr == "xfail":
            findings.append(found.at(node, "expects to fail"))
        elif isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.mark.skip":
            findings.append(found.at(node, "is skipped for ever: delete it or say with skipif when it can run"))
    for call, name in _calls(found):
        has_reason = call.args if name == "pytest.skip" else any(word.arg == "reason" for word in call.keywords)
        if name in {"pytest.skip", "pytest.mark.skipif"} and not has_reason:
            findings.append(found.at(call, "is skipped without a reason"))
    return findings


def _calls(found: Source) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)
