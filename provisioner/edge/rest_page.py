"""What a GET asks for: filters, the page's length and where it begins; and the pages themselves.

It alone knows how lists are cut into pages: by key, never by position, so that records that come or go between two
pages neither repeat nor hide others. It must not know what the records are.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar
from urllib.parse import urlencode

from attrs import frozen

from provisioner.edge.rest_fault import FieldFault, shown

PAGE_DEFAULT: Final = 1000
PAGE_MOST: Final = 10_000

T = TypeVar("T")


@frozen
class Asked:
    """The parameters of a list: how many records at most, after which key, and the filters as they were written."""

    path: str
    filters: Mapping[str, str]
    limit: int
    after: str

    def flag(self, name: str) -> bool | None:
        """A filter of yes or no, None if it is not stated."""
        return {"true": True, "false": False}.get(self.filters.get(name, ""))

    def next_url(self, key: str) -> str:
        """The relative URL of the page after the record with this key."""
        query = dict(self.filters) | ({"limit": str(self.limit)} if self.limit != PAGE_DEFAULT else {})
        return f"{self.path}?{urlencode({**query, 'after': key})}"


@frozen
class Filter:
    """One filter a list takes: its name and the words it may be, any text if there are none."""

    name: str
    words: tuple[str, ...] = ()


FLAG_WORDS: Final = ("true", "false")


def read_asked(
    path: str, query: Iterable[tuple[str, str]], filters: tuple[Filter, ...]
) -> Asked | tuple[FieldFault, ...]:
    """What a list is asked for, or every fault of its parameters; faults name the parameter."""
    known = {f.name: f for f in filters}
    stated: dict[str, str] = {}
    faults: list[FieldFault] = []
    for name, value in query:
        if name in stated:
            faults.append(FieldFault(name, "is stated twice", "state it once"))
        elif name not in known and name not in ("limit", "after"):
            names = ", ".join(("limit", "after", *known))
            faults.append(FieldFault(name, f"{shown(name)} is no parameter here", f"use {names}"))
        elif name in known and known[name].words and value not in known[name].words:
            faults.append(FieldFault(name, f"{shown(value)} is no {name}", f"write {' or '.join(known[name].words)}"))
        stated[name] = value
    limit = stated.pop("limit", str(PAGE_DEFAULT))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= len(str(PAGE_MOST)) and 1 <= int(limit) <= PAGE_MOST):
        faults.append(FieldFault("limit", f"{shown(limit)} is no length of a page", f"write 1 to {PAGE_MOST}"))
    after = stated.pop("after", "")
    return tuple(faults) if faults else Asked(path, stated, int(limit), after)


def page_of(records: Iterable[T], key: Callable[[T], str], asked: Asked) -> tuple[list[T], str | None]:
    """The records of one page in the order of their keys, and the URL of the next page or None."""
    after = asked.after
    rest = (r for r in records if key(r) > after) if after else records
    found = heapq.nsmallest(asked.limit + 1, rest, key=key)
    if len(found) <= asked.limit:
        return found, None
    return found[:-1], asked.next_url(key(found[-2]))
