"""What the whole run has found so far: breaches and findings, by the check that was running.

Alone responsible for collecting. Judges nothing.
"""

from collections.abc import Iterable

from provider_sdk.testing.ledger import Ledger
from provider_sdk.testing.verdict import Breach, Broken, Finding, Status


class Watch:
    """The notebook of a run."""

    def __init__(self, *, strict: bool = False) -> None:
        """Begin with nothing; `strict` reports extra fields."""
        self.strict = strict
        self.ledger = Ledger()
        self.breaches: list[Breach] = []
        self.findings: list[Finding] = []
        self.frames = 0
        self.calls = 0
        self.hints = 0
        self.processes = 0
        self.longest_s: dict[str, float] = {}
        self._check = "handshake"
        self._blamed = "HS-1"

    def begin(self, check: str, blamed: str) -> None:
        """From now on findings are those of this check; `blamed` is the clause of those that name none."""
        self._check, self._blamed = check, blamed

    def broken(self, found: Broken) -> None:
        """Take down a breach."""
        self.breaches.append(found.breach(self._check, self._blamed))

    def all_broken(self, found: Iterable[Broken]) -> None:
        """Take down several breaches."""
        for each in found:
            self.broken(each)

    def say(self, clause: str, status: Status, text: str = "") -> None:
        """Take down that a clause was kept, measured or passed over."""
        self.findings.append(Finding(clause, self._check, status, text))

    def has_said(self, clause: str) -> bool:
        """Return whether the running check has already found something on a clause."""
        return (clause, self._check) in {(each.clause, each.check) for each in self.findings} | {
            (each.clause, each.check) for each in self.breaches
        }

    def is_broken(self, clause: str) -> bool:
        """Return whether a clause was found broken by now."""
        return any(each.clause == clause for each in self.breaches)

    def answered(self, method: str, seconds: float) -> None:
        """Take down how long an answer took."""
        self.calls += 1
        self.longest_s[method] = max(seconds, self.longest_s.get(method, 0.0))
