"""Answers `list` and `describe` page by page from one reading, and remembers readings for their cursors (LS-8).

Knows what a page may hold and how long a cursor lives; must not know where things are read from.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Generic, TypeVar

import orjson
from attrs import evolve, frozen

from provider_sdk.contract.codec import encode
from provider_sdk.contract.messages import DescribeParams, DescribeResult, ListParams, ListResult
from provider_sdk.contract.types import Instance, Limit, Place, Problem, Template
from provider_sdk.contract.words import ErrorClass, View
from provider_sdk.errors import ContractError

KEPT_S = 330.0
"""The contract's 300 s (LS-8), and some for the way."""
READINGS = 16
"""Readings kept at once; a daemon walks one at a time, so the oldest is of nobody's use."""
PAGE_TEMPLATES = 500
FRAME_ROOM_BYTES = 65_536
"""Of a frame, for what stands around the items."""

T = TypeVar("T")
R = TypeVar("R")


@frozen
class _Kept(Generic[T, R]):
    items: tuple[T, ...]
    rest: R
    at: float


class _Shelf(Generic[T, R]):
    """Readings by a random name; a cursor is that name and where to go on."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept[T, R]] = {}

    def put(self, items: tuple[T, ...], rest: R) -> str:
        """Keep a reading; its name."""
        name = secrets.token_hex(8)
        with self._lock:
            self._drop_old()
            while len(self._kept) >= READINGS:
                del self._kept[next(iter(self._kept))]
            self._kept[name] = _Kept(items, rest, self._now())
        return name

    def find(self, cursor: str) -> tuple[str, int, _Kept[T, R]]:
        """The reading of a cursor and where to go on; raises `cursor_gone`. Each use keeps it for another while."""
        name, _, place = cursor.partition(".")
        with self._lock:
            self._drop_old()
            kept = self._kept.pop(name, None)
            if kept is not None:
                kept = self._kept[name] = evolve(kept, at=self._now())
        if kept is None or not (place.isascii() and place.isdigit()) or not 0 < int(place) < len(kept.items):
            raise ContractError(ErrorClass.CURSOR_GONE)
        return name, int(place), kept

    def _drop_old(self) -> None:
        for name in [name for name, kept in self._kept.items() if self._now() - kept.at > KEPT_S]:
            del self._kept[name]


@frozen
class _ListRest:
    begun: float
    complete: bool
    missing_places: tuple[Place, ...]
    problems: tuple[Problem, ...]


class ListPages:
    """Pages of `list`: first `go_on`, and where that answers None read the far side and `answer` from it.

    `frame_bytes` is that of Start; a page is as long as asked for, and shorter where it would not fit a frame.
    """

    def __init__(self, frame_bytes: int, now: Callable[[], float] = time.monotonic) -> None:
        self._room_bytes = frame_bytes - FRAME_ROOM_BYTES
        self._now = now
        self._shelf: _Shelf[Instance, _ListRest] = _Shelf(now)

    def go_on(self, params: ListParams) -> ListResult | None:
        """The page of a cursor; None if a new reading is asked for. Raises `cursor_gone`."""
        if params.cursor is None:
            return None
        name, begin, kept = self._shelf.find(params.cursor)
        return self._page(params, name, begin, kept.items, kept.rest)

    def begin(self) -> "ListReading":
        """To be called before the first look at the far side: `age_s` counts from here (LS-2)."""
        return ListReading(self, self._now())

    def answer(self, params: ListParams, items: tuple[Instance, ...], rest: _ListRest) -> ListResult:
        """The first page, or the named instances alone."""
        if params.instances is not None:
            return self._named(params, items, rest)
        name = self._shelf.put(items, rest) if len(items) > self._fitting(items[: params.limit]) else ""
        return self._page(params, name, 0, items, rest)

    def _named(self, params: ListParams, items: tuple[Instance, ...], rest: _ListRest) -> ListResult:
        known = {item.instance: item for item in items}
        asked = dict.fromkeys(params.instances or ())
        return ListResult(
            instances=tuple(_shown(known[name], params.view) for name in asked if name in known),
            age_s=self._age_s(rest),
            complete=False,
            missing_places=rest.missing_places,
            # Where something could not be read, what was not seen may be there all the same.
            not_found=tuple(name for name in asked if name not in known) if rest.complete else (),
            problems=rest.problems,
        )

    def _page(
        self, params: ListParams, name: str, begin: int, items: tuple[Instance, ...], rest: _ListRest
    ) -> ListResult:
        window = items[begin : begin + params.limit]
        end = begin + self._fitting(window)
        is_last = end >= len(items)
        return ListResult(
            instances=tuple(_shown(item, params.view) for item in items[begin:end]),
            age_s=self._age_s(rest),
            complete=is_last and rest.complete,
            next=None if is_last else f"{name}.{end}",
            missing_places=rest.missing_places,
            problems=rest.problems,
        )

    def _fitting(self, window: Sequence[Instance]) -> int:
        return fitting(window, self._room_bytes)

    def _age_s(self, rest: _ListRest) -> int:
        return int(self._now() - rest.begun)


@frozen
class ListReading:
    """One look at the far side, begun and not yet told."""

    _pages: ListPages
    _begun: float

    def answer(
        self,
        params: ListParams,
        instances: Iterable[Instance],
        *,
        complete: bool = True,
        missing_places: Iterable[Place] = (),
        problems: Iterable[Problem] = (),
    ) -> ListResult:
        """The first page of what was seen (or, if asked, the named instances); later pages come by `go_on`.

        `complete` is the vow that every source was read to its end without an error and that the right account
        answered (LS-3); with a missing place it counts as False.
        """
        missing = tuple(missing_places)
        rest = _ListRest(self._begun, complete and not missing, missing, tuple(problems))
        return self._pages.answer(params, tuple(instances), rest)


@frozen
class _DescribeRest:
    revision: str
    limits: tuple[Limit, ...] | None
    base: str | None
    removed: tuple[str, ...]


@frozen
class _Described:
    templates: tuple[Template, ...]
    limits: tuple[Limit, ...] | None


class DescribePages:
    """Pages of `describe`, its revision, and what changed since one of the last four (capability `describe.delta`).

    Without `delta` everything is told each time the revision is another one.
    """

    def __init__(self, frame_bytes: int, *, delta: bool = False, now: Callable[[], float] = time.monotonic) -> None:
        self._room_bytes = frame_bytes - FRAME_ROOM_BYTES
        self._delta = delta
        self._lock = threading.Lock()
        self._last: dict[str, _Described] = {}
        self._shelf: _Shelf[Template, _DescribeRest] = _Shelf(now)

    def go_on(self, params: DescribeParams) -> DescribeResult | None:
        """The page of a cursor; None if a new reading is asked for. Raises `cursor_gone`."""
        if params.cursor is None:
            return None
        name, begin, kept = self._shelf.find(params.cursor)
        return self._page(name, begin, kept.items, kept.rest)

    def answer(
        self, params: DescribeParams, templates: Iterable[Template], limits: Iterable[Limit] | None = None
    ) -> DescribeResult:
        """The first page of what is for sale now; only the revision if the daemon knows it already (DS-1)."""
        told = _Described(tuple(templates), None if limits is None else tuple(limits))
        revision = revision_of(told.templates, told.limits)
        base = self._remember(revision, told, params.known)
        if params.known == revision:
            return DescribeResult(revision, base=revision)
        items, rest = told.templates, _DescribeRest(revision, told.limits, None, ())
        if base is not None and params.known is not None:
            items = tuple(template for template in told.templates if template not in base.templates)
            names = {template.template for template in told.templates}
            removed = tuple(old.template for old in base.templates if old.template not in names)
            # In a change, no limits means that they are as they were: that there are none any more has to be said.
            limits = () if told.limits is None and base.limits else told.limits
            rest = _DescribeRest(revision, limits, params.known, removed)
        name = self._shelf.put(items, rest) if len(items) > self._fitting(items[:PAGE_TEMPLATES]) else ""
        return self._page(name, 0, items, rest)

    def _remember(self, revision: str, told: _Described, known: str | None) -> _Described | None:
        with self._lock:
            base = self._last.get(known) if self._delta and known is not None else None
            self._last.pop(revision, None)
            self._last[revision] = told
            while len(self._last) > 4:
                del self._last[next(iter(self._last))]
            return base

    def _page(self, name: str, begin: int, items: tuple[Template, ...], rest: _DescribeRest) -> DescribeResult:
        end = begin + self._fitting(items[begin : begin + PAGE_TEMPLATES])
        return DescribeResult(
            revision=rest.revision,
            templates=items[begin:end],
            base=rest.base,
            removed=rest.removed if begin == 0 else (),
            limits=rest.limits if begin == 0 else None,
            next=None if end >= len(items) else f"{name}.{end}",
        )

    def _fitting(self, window: Sequence[Template]) -> int:
        return fitting(window, self._room_bytes)


def revision_of(templates: Iterable[Template], limits: Iterable[Limit] | None = None) -> str:
    """A revision that is the same for the same templates and limits, in this process and the next."""
    told = [[encode(each) for each in templates], None if limits is None else [encode(each) for each in limits]]
    return sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def fitting(window: Sequence[object], room_bytes: int) -> int:
    """How many of these, from the first, take no more than the room as JSON; at least one."""
    left = room_bytes
    for count, item in enumerate(window):
        left -= len(orjson.dumps(encode(item))) + 1
        if left < 0:
            return max(1, count)
    return len(window)


def _shown(item: Instance, view: View) -> Instance:
    if view is not View.STATE:
        return item
    return Instance(item.instance, item.units, item.state, item.kind, notice=item.notice)
