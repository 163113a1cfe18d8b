"""The fast way of decoding big answers: msgspec into the attrs classes, then the rest checked column by column.

Alone responsible for saying yes to exactly those values that the strict way accepts unchanged; it never says what is
wrong. Knows no message.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeVar, cast, get_args

import attrs
import msgspec
import orjson

from provider_sdk.contract.forms import EncodedLimit, Matches
from provider_sdk.contract.strict import (
    is_annotated,
    is_class,
    is_mapping,
    is_tuple,
    members,
    misses_attributes,
    wire_name,
)
from provider_sdk.contract.types import Template

KNOWN_MOST: Final = 50_000
KNOWN_CHARS: Final = 256
"""Texts that matched a pattern are kept up to so many, and only short ones: some megabytes for each pattern."""

T = TypeVar("T")
Texts = dict[str, set[str | None]]
Gather = Callable[[list[Any], Texts], None]
Sizes = Callable[[Iterable[Any]], bool]


def decode_fast(cls: type[T], raw: object) -> T | None:
    """Return `raw` as a `cls`, or None if only the strict way can tell; not for classes with fields named otherwise
    than on the wire."""
    try:
        value = msgspec.convert(raw, cls)
    except msgspec.ValidationError:
        return None
    gather, sizes = _ways(cast(Hashable, cls))
    texts: Texts = defaultdict(set)
    gather([value], texts)
    for pattern, found in texts.items():
        if not _fits(pattern).all(found):
            return None
    return value if sizes([raw]) else None


@cache
def _ways(cls: object) -> tuple[Gather, Sizes]:
    return _gatherer(cls), _sizes(cls)


@cache
def _fits(pattern: str) -> "_Fitting":
    return _Fitting(pattern)


class _Fitting:
    """Whether texts match one pattern; those that did are known again, since names come again in each answer."""

    def __init__(self, pattern: str) -> None:
        self._search = re.compile(pattern).search
        self._known: set[str | None] = {None}

    def all(self, texts: set[str | None]) -> bool:
        """Return whether all match; None is no text."""
        if texts <= self._known:
            return True
        new = texts - self._known
        if not all(map(self._search, cast(set[str], new))):
            return False
        if len(self._known) + len(new) > KNOWN_MOST:
            self._known = {None}
        self._known.update(text for text in new if text is not None and len(text) <= KNOWN_CHARS)
        return True


def _nothing(_: list[Any], __: Texts) -> None:
    """Gather nothing: values of this type carry no pattern."""


def _stated(column: Iterable[Any]) -> list[Any]:
    return [value for value in column if value is not None]


# --- texts with a pattern, gathered from a column of values of one type


@cache
def _gatherer(t: object) -> Gather:
    if is_class(t):
        return _class_gatherer(cast(type[Any], t))
    if is_annotated(t):
        return _annotated_gatherer(t)
    if is_tuple(t):
        item = _gatherer(get_args(t)[0])
        return item if item is _nothing else lambda column, texts: item(list(chain.from_iterable(column)), texts)
    if is_mapping(t):
        key = _gatherer(get_args(t)[0])
        return key if key is _nothing else lambda column, texts: key(list(chain.from_iterable(column)), texts)
    return _one_of(members(t))


def _one_of(options: tuple[object, ...]) -> Gather:
    """Return the way of the only member of a union that has anything to gather (the others are None or plain)."""
    ways = [way for way in map(_gatherer, options) if way is not _nothing]
    return ways[0] if len(ways) == 1 else _nothing


def _annotated_gatherer(t: object) -> Gather:
    pattern = _pattern(t)
    if pattern is None:
        return _gatherer(get_args(t)[0])
    return lambda column, texts: texts[pattern].update(column)


def _pattern(t: object) -> str | None:
    """Return the pattern of a text type, be it optional or not."""
    for option in (t, *members(t)):
        for mark in get_args(option)[1:] if is_annotated(option) else ():
            if isinstance(mark, Matches):
                return mark.pattern
    return None


def _class_gatherer(t: type[Any]) -> Gather:
    fields = [(part.name, part.type) for part in attrs.fields(t)]
    named: dict[str, list[str]] = defaultdict(list)
    for name, of in fields:
        if (pattern := _pattern(of)) is not None:
            named[pattern].append(name)
    texts_of = [(attrgetter(*names), pattern, len(names) > 1) for pattern, names in named.items()]
    parts = [(attrgetter(name), _gatherer(of)) for name, of in fields if _pattern(of) is None]
    parts = [(get, gather) for get, gather in parts if gather is not _nothing]
    if not parts and not texts_of:
        return _nothing

    def gather_class(column: list[Any], texts: Texts) -> None:
        for get, pattern, several in texts_of:  # with None, which is no text
            found: Iterable[Any] = map(get, column)
            texts[pattern].update(chain.from_iterable(found) if several else found)
        for get, gather in parts:
            if stated := _stated(map(get, column)):
                gather(stated, texts)

    return gather_class


# --- bounds on the encoded size, and what else one field alone cannot say, seen in the raw objects


def _any_size(_: Iterable[Any]) -> bool:
    return True


@cache
def _sizes(t: object) -> Sizes:
    if is_class(t):
        return _class_sizes(cast(type[Any], t))
    if is_annotated(t):
        return _annotated_sizes(t)
    if is_tuple(t):
        item = _sizes(get_args(t)[0])
        return item if item is _any_size else lambda column: item(chain.from_iterable(column))
    ways = [way for way in map(_sizes, members(t)) if way is not _any_size]
    return ways[0] if len(ways) == 1 else _any_size


def _annotated_sizes(t: object) -> Sizes:
    inner, *marks = get_args(t)
    limits = [mark.limit_bytes for mark in marks if isinstance(mark, EncodedLimit)]
    inside = _sizes(inner)
    if not limits:
        return inside

    def fit(column: Iterable[Any]) -> bool:
        items = list(column)
        try:
            largest = max(map(len, map(orjson.dumps, items)), default=0)
        except orjson.JSONEncodeError:
            return False
        return largest <= limits[0] and inside(items)

    return fit


def _class_sizes(t: type[Any]) -> Sizes:
    parts = [(wire_name(part.name), _sizes(part.type)) for part in attrs.fields(t)]
    parts = [(name, fit) for name, fit in parts if fit is not _any_size]
    if not parts and t is not Template:
        return _any_size

    def fit_class(column: Iterable[Any]) -> bool:
        objects = list(column)
        if t is Template and any(map(misses_attributes, objects)):
            return False
        return all(fit(_stated(obj.get(name) for obj in objects)) for name, fit in parts)

    return fit_class
