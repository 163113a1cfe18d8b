"""Each broken provider fails the clause it breaks: all of them under its checks, a choice under the whole kit."""

import pytest

from provider_sdk.testing import Outcome, as_text
from tests.conformance.examined import clause_of, examine_all
from tests.conformance.subjects.broken import FAULTS

pytestmark = pytest.mark.e2e

# Of each kind one or two: wire, handshake, description, purchase, give-back, list, order, memory, fence, promise, and
# what stands behind a capability.
WHOLE = (
    "Chatty",
    "AnswersTwice",
    "NoLock",
    "TakesAnyConfig",
    "HastyShutdown",
    "AlwaysAll",
    "BuysAgain",
    "ChangesItsMind",
    "CancelForgets",
    "KnowsEveryReturn",
    "ReturnsTogether",
    "CompleteTooSoon",
    "SkipsOne",
    "SilentCancel",
    "BuysAfterRestart",
    "RecordsLate",
    "ForeignEpoch",
    "CapIgnored",
    "QuoteCosts",
    "HalfAChange",
    "ExtendsTogether",
    "TombstoneInMemory",
)


@pytest.fixture(scope="module")
def under_their_checks() -> dict[str, Outcome]:
    return examine_all(FAULTS, whole=False)


@pytest.fixture(scope="module")
def under_the_whole_kit() -> dict[str, Outcome]:
    return examine_all(WHOLE, whole=True)


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_provider_fails_the_clause_it_breaks(name: str, under_their_checks: dict[str, Outcome]) -> None:
    outcome = under_their_checks[name]
    assert (outcome.failed, outcome.beside) == ((clause_of(name),), ()), as_text(outcome)


@pytest.mark.parametrize("name", WHOLE)
def test_it_fails_no_other_clause_of_the_whole_kit(name: str, under_the_whole_kit: dict[str, Outcome]) -> None:
    outcome = under_the_whole_kit[name]
    assert outcome.failed == (clause_of(name),), as_text(outcome)
    assert outcome.left_over == ()
