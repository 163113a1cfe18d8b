"""What is kept of the pages of a list until its end: names, so that a list of any length takes little memory.

It proves nothing; what follows from it is the core's.
"""

from attrs import define, field

from provisioner.core.events import ShownByPages
from provisioner.core.listing import shown_by
from provisioner.core.model import Place, Problem
from provisioner.edge.list_reader import ListPage

__all__ = ["Shown"]

NOTES_MOST = 1000
"""Problems and names not found that are kept of a whole pass; a page may hold as many."""


@define(eq=False)
class Shown:
    """Grows with each page but the last; `count` counts all instances."""

    count: int = 0
    age_s: int = 0
    not_found: list[str] = field(factory=list)
    problems: list[Problem] = field(factory=list)
    missing: list[Place] = field(factory=list)
    _ids: set[str] = field(factory=set)
    _nameless: set[str] = field(factory=set)
    _tokens: set[str] = field(factory=set)

    @property
    def is_first(self) -> bool:
        """Whether no page has shown anything yet."""
        return not self._ids

    def add(self, page: ListPage) -> None:
        """Keeps what the end of the pass has to know of a page."""
        self.age_s = max(self.age_s, page.age_s)
        self.not_found = [*self.not_found, *page.not_found][:NOTES_MOST]
        self.problems = [*self.problems, *page.problems][:NOTES_MOST]
        self.missing = [*self.missing, *page.missing][:NOTES_MOST]
        found = shown_by(page.instances)
        self._ids |= found.ids
        self._nameless |= found.nameless
        self._tokens |= found.tokens

    def by_pages(self) -> ShownByPages | None:
        """All of it; None where no page before the last has shown anything."""
        if self.is_first:
            return None
        return ShownByPages(frozenset(self._ids), frozenset(self._nameless), frozenset(self._tokens))
