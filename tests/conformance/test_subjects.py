"""Every clause that a check can find broken is broken by some test subject, so that no check is an empty word."""

from collections.abc import Mapping
from typing import Final

from provider_sdk.testing.manifest import requirements
from tests.conformance.examined import clause_of
from tests.conformance.subjects.broken import FAULTS

# What no subject breaks alone, and why.
NOT_ALONE: Final[Mapping[str, str]] = {
    "RS-3": "what a reading destroys is missing in the next report, which is RP-1 or RP-2",
    "SH-forget": "the result is an empty object, which has no shape to break",
    "PR-return.typical_s": "it is measured only",
}


def test_every_clause_that_can_be_seen_is_broken_by_a_subject_or_has_its_reason() -> None:
    broken = {clause_of(name) for name in FAULTS}
    seen = {each.id for each in requirements().values() if each.unseen is None}
    assert broken <= seen
    assert seen - broken == set(NOT_ALONE)


def test_each_subject_names_its_clause_and_says_in_a_sentence_what_it_does() -> None:
    for name, fault in FAULTS.items():
        clause, _, sentence = (fault.__doc__ or "").partition(": ")
        assert clause in requirements(), name
        assert sentence.endswith("."), name
