"""Why facts can't be opened or read: a sentence that names the place, and what to do about it.

Knows only the errors. Must not know how any store is read.
"""

from __future__ import annotations


class FactsError(Exception):
    """Facts can't be used; `where` names them, `sentence` says what is wrong, `remedy` what to do (all for people)."""

    def __init__(self, where: str, sentence: str, remedy: str) -> None:
        super().__init__(where, sentence, remedy)
        self.where = where
        self.sentence = sentence
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.where}: {self.sentence} {self.remedy}"


class FactsInUse(FactsError):
    """Another daemon owns these facts now."""


class FactsOfOtherCluster(FactsError):
    """The facts belong to a cluster of another name."""


class FactsNewer(FactsError):
    """The facts were written by a newer release, and nothing was touched."""


class FactsCorrupt(FactsError):
    """The file is no database of facts, or a damaged one."""


class FactsUnreachable(FactsError):
    """The operating system does not let us at the facts: missing, not permitted, read-only, full, a loop of links."""


class FactsSilent(FactsError):
    """The store did not answer in time."""
