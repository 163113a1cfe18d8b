"""What all tests share: where Hypothesis keeps its examples, and the mark of tests that start real processes."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.database import DirectoryBasedExampleDatabase

ROOT = Path(__file__).resolve().parent.parent
E2E = ROOT / "tests" / "e2e"

# Everything a test run leaves behind lies in build/ or in pytest's own temporary folder.
set_hypothesis_home_dir(ROOT / "build" / "hypothesis")
settings.register_profile(
    "project",
    # A busy machine must not fail a property: time is measured in tests/bench.
    deadline=None,
    database=DirectoryBasedExampleDatabase(ROOT / "build" / "hypothesis" / "examples"),
    print_blob=True,
)
settings.load_profile("project")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything under tests/e2e as e2e, so that `-m "not e2e"` needs no discipline."""
    for item in items:
        if E2E in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what campaigns counted, also with -q."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in getattr(report, "user_properties", ()):
                if name == "campaign":
                    terminalreporter.write_line(str(value))
