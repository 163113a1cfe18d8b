"""What the kit says of a subject: breaches of clauses, and one verdict for each clause.

Alone responsible for the words of a verdict and for how single findings add up to it. Knows no wire and no check.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from attrs import Factory, frozen

from provider_sdk.testing.manifest import Requirement

EXCERPT_CHARS: Final = 600


class Status(StrEnum):
    """How a clause fared; only FAIL is a failure of the subject."""

    PASS = "pass"
    FAIL = "fail"
    SKIPPED = "skipped"
    MEASURED = "measured"
    UNSEEN = "unseen"


@frozen
class Breach:
    """One place where a clause was broken: what was sent, what came, what was expected instead."""

    clause: str
    check: str
    expected: str
    came: str
    sent: str = ""


class Broken(Exception):
    """Raised by a check: a clause is broken; without a clause the check's first one is."""

    def __init__(self, clause: str | None, expected: str, came: str, sent: str = "") -> None:
        """Hold the three texts, each cut to an excerpt."""
        super().__init__(f"{clause}: expected {expected}; came {excerpt(came)}")
        self.clause = clause
        self.expected = expected
        self.came = excerpt(came)
        self.sent = excerpt(sent)

    def breach(self, check: str, blamed: str) -> Breach:
        """Return it as a finding of `check`, whose first clause is `blamed`."""
        return Breach(self.clause or blamed, check, self.expected, self.came, self.sent)


class Inapplicable(Exception):
    """Raised by a check that can't say anything of this subject; the text is the reason."""


@frozen
class Finding:
    """What one check says of one clause that it did not find broken."""

    clause: str
    check: str
    status: Status
    text: str = ""


@frozen
class Verdict:
    """What is said of one clause in the end."""

    requirement: Requirement
    status: Status
    breaches: tuple[Breach, ...] = ()
    notes: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


@frozen
class Outcome:
    """The whole run: a verdict for each clause asked for, how long it took, and what could not be given back.

    `beside` are clauses that were not asked for and turned out to be broken on the way.
    """

    command: tuple[str, ...]
    provider: str
    verdicts: tuple[Verdict, ...]
    seconds: float
    beside: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    unfinished: bool = False
    strict: bool = False
    counts: Mapping[str, int] = Factory(dict)

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the clauses that are broken."""
        return tuple(each.requirement.id for each in self.verdicts if each.status is Status.FAIL)


def judge(requirement: Requirement, breaches: Iterable[Breach], findings: Iterable[Finding]) -> Verdict:
    """Return the verdict on one clause: broken if it was ever found broken, kept if some check could see that."""
    broken = tuple(each for each in breaches if each.clause == requirement.id)
    found = [each for each in findings if each.clause == requirement.id]
    checks = tuple(dict.fromkeys([each.check for each in broken] + [each.check for each in found]))
    if broken:
        return Verdict(requirement, Status.FAIL, _distinct(broken), checks=checks)
    for status in (Status.MEASURED, Status.PASS, Status.SKIPPED):
        same = [each for each in found if each.status is status]
        if same:
            return Verdict(requirement, status, notes=_texts(same), checks=checks)
    return Verdict(requirement, Status.UNSEEN, notes=(requirement.unseen or "not asked for",))


def excerpt(text: str) -> str:
    """Return the text, cut if it is long."""
    return text if len(text) <= EXCERPT_CHARS else f"{text[:EXCERPT_CHARS]}… ({len(text)} characters)"


def _distinct(breaches: tuple[Breach, ...]) -> tuple[Breach, ...]:
    firsts: dict[tuple[str, str], Breach] = {}
    for each in breaches:
        firsts.setdefault((each.check, each.expected), each)
    return tuple(firsts.values())[:5]


def _texts(findings: list[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.text for each in findings if each.text))
