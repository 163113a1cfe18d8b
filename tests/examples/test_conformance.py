"""The kit examines the examples with their subject files: every clause that can be judged is kept, strictly."""

import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest
import trio

from provider_sdk.testing import Outcome, Status, as_text, examine, read_subject
from tests.examples.subjects import EXAMPLES, Example

pytestmark = pytest.mark.e2e

# What an example does not have can't be judged. Anything else that is passed over would be a hole in the examination.
NOT_DECLARED: Final = {"SH-quote", "QT-1", "QT-2", "SH-extend", "XT-1", "PR-memory.where", "PR-list.covers"}
NO_HINTS: Final = {"SH-notification", "NT-2"}
WHOLE_ONLY: Final = {"RT-3", "PR-return.partial"}
NO_FORGET: Final = {"SH-forget", "FG-1"}
NO_CANCEL: Final = {"SH-cancel", "CN-1", "CN-2", "CN-3"}
ALIKE: Final = NOT_DECLARED | NO_HINTS | {"CC-4", "PR-list.not_found_gone_after_s"}
SERIAL: Final = ALIKE | NO_CANCEL | NO_FORGET | {"CC-1", "CC-2", "CC-3"}
PASSED_OVER: Final[Mapping[str, set[str]]] = {
    "node": ALIKE | WHOLE_ONLY | {"CN-2", "PR-limits.min_units"},
    "perl": SERIAL | WHOLE_ONLY | {"RQ-4", "PR-limits.min_units"},  # its far side has no end: nothing falls short
    "sh": SERIAL | {"RT-3"},
}


def runs(example: Example) -> bool:
    return all(shutil.which(program) is not None for program in example.needs)


async def examined_beside_each_other() -> dict[str, Outcome]:
    """All of those whose language is here; they mostly wait, so that they disturb each other little."""
    found: dict[str, Outcome] = {}

    async def one(example: Example) -> None:
        subject = read_subject(example.command, Path(example.command[-1]).parent / "subject.json", os.environ)
        found[example.name] = await examine(subject, strict=True)

    async with trio.open_nursery() as nursery:
        for example in filter(runs, EXAMPLES):
            nursery.start_soon(partial(one, example))
    return found


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return trio.run(examined_beside_each_other)


def test_every_clause_that_can_be_judged_is_kept(example: Example, outcomes: dict[str, Outcome]) -> None:
    outcome = outcomes[example.name]
    report = as_text(outcome)
    assert (outcome.failed, outcome.left_over, outcome.unfinished) == ((), (), False), report
    passed_over = {each.requirement.id for each in outcome.verdicts if each.status is Status.SKIPPED}
    assert passed_over == PASSED_OVER[example.name], report
