"""pytest plugin: `pytest --provider-cmd "COMMAND"` makes one test of each clause that can be seen from outside.

Knows pytest; the kit itself is imported only when a provider is named.
"""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from provider_sdk.testing.verdict import Outcome, Verdict

_OUTCOME: pytest.StashKey[Outcome] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("conformance", "conformance of a resource provider")
    group.addoption("--provider-cmd", metavar="COMMAND", help="examine this provider, one test for each clause")
    group.addoption("--provider-config", metavar="FILE", help="subject file: the provider's configuration and more")
    group.addoption("--provider-strict", action="store_true", help="report extra fields without x-")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker by which these tests are chosen or left out."""
    config.addinivalue_line("markers", "conformance: one clause of the provider contract")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one test for each clause, if a provider is named."""
    if config.getoption("--provider-cmd"):
        from provider_sdk.testing.manifest import requirements  # noqa: PLC0415

        seen = [each.id for each in requirements().values() if each.unseen is None]
        items.extend(Clause.from_parent(session, name=clause) for clause in seen)


class ClauseBroken(Exception):
    """The clause of this test is broken; the text is its part of the report."""


class Clause(pytest.Item):
    """One clause; the first to run examines the provider for all of them."""

    def __init__(self, *, name: str, parent: pytest.Session) -> None:
        """Take the clause's id."""
        super().__init__(name, parent)
        self.add_marker("conformance")
        self.obj = None  # plugins that look for coroutines ask every item for its function

    def runtest(self) -> None:
        """Pass, skip or fail as the report says."""
        verdict = self._verdict()
        if verdict.status == "fail":
            lines = [verdict.requirement.sentence]
            for each in verdict.breaches:
                lines += [f"check: {each.check}", f"  sent: {each.sent}", f"  expected: {each.expected}"]
                lines += [f"  came: {each.came}"]
            raise ClauseBroken("\n".join(lines))
        if verdict.status in ("skipped", "unseen"):
            pytest.skip("; ".join(verdict.notes))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: str | None = None) -> str:
        """Show the report's words instead of a traceback."""
        if isinstance(excinfo.value, ClauseBroken):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Name the clause."""
        return self.path, None, f"conformance {self.name}"

    def _verdict(self) -> Verdict:
        stash = self.config.stash
        if _OUTCOME not in stash:
            stash[_OUTCOME] = _examined(self.config)
        return next(each for each in stash[_OUTCOME].verdicts if each.requirement.id == self.name)


def _examined(config: pytest.Config) -> Outcome:
    import trio  # noqa: PLC0415

    from provider_sdk.testing.run import examine  # noqa: PLC0415
    from provider_sdk.testing.subject import read_subject  # noqa: PLC0415

    file = config.getoption("--provider-config")
    command = tuple(shlex.split(config.getoption("--provider-cmd")))
    subject = read_subject(command, None if file is None else Path(file), os.environ)
    return trio.run(partial(examine, subject, strict=config.getoption("--provider-strict")))
