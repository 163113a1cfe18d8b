"""The fast way of decoding big answers: msgspec into the attrs classes, then the rest checked column by column.

Alone responsible for saying yes to exactly those values that the strict way accepts unchanged; it never says what is
wrong. Knows no message.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar, cast, get_args

import attrs
import msgspec

from provider_sdk.contract.forms import EncodedLimit, Matches
from provider_sdk.contract.strict import (
    encoded_size,
    is_annotated,
    is_class,
    is_mapping,
    is_tuple,
    members,
    misses_attributes,
    wire_name,
)
from provider_sdk.contract.types import Template

T = TypeVar("T")
Texts = dict[str, set[str]]
Gather = Callable[[list[Any], Texts], None]
Sizes = Callable[[Iterable[Any]], bool]


def decode_fast(cls: type[T], raw: object) -> T | None:
    """Return `raw` as a `cls`, or None if only the strict way can tell."""
    try:
        value = msgspec.convert(raw, cls)
    except msgspec.ValidationError:
        return None
    texts: Texts = defaultdict(set)
    _gatherer(cast(object, cls))([value], texts)
    fits = all(all(map(_search(pattern), found)) for pattern, found in texts.items())
    return value if fits and _sizes(cast(object, cls))([raw]) else None


@cache
def _search(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern).search


def _nothing(_: list[Any], __: Texts) -> None:
    """Gather nothing: values of this type carry no pattern."""


def _stated(column: Iterable[Any]) -> list[Any]:
    return [value for value in column if value is not None]


# --- texts with a pattern, gathered from a column of values of one type


@cache
def _gatherer(t: object) -> Gather:
    if is_class(t):
        return _class_gatherer(cast(type[attrs.AttrsInstance], t))
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
    inner, *marks = get_args(t)
    patterns = [mark.pattern for mark in marks if isinstance(mark, Matches)]
    return (lambda column, texts: texts[patterns[0]].update(column)) if patterns else _gatherer(inner)


def _class_gatherer(t: type[attrs.AttrsInstance]) -> Gather:
    parts = [(attrgetter(part.name), _gatherer(part.type)) for part in attrs.fields(t)]
    parts = [(get, gather) for get, gather in parts if gather is not _nothing]
    if not parts:
        return _nothing

    def gather_class(column: list[Any], texts: Texts) -> None:
        for get, gather in parts:
            stated = _stated(map(get, column))
            if stated:
                gather(stated, texts)

    return gather_class


# --- bounds on the encoded size, and what else one field alone cannot say, seen in the raw objects


def _any_size(_: Iterable[Any]) -> bool:
    return True


@cache
def _sizes(t: object) -> Sizes:
    if is_class(t):
        return _class_sizes(cast(type[attrs.AttrsInstance], t))
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
        return all(size is not None and size <= limits[0] for size in map(encoded_size, items)) and inside(items)

    return fit


def _class_sizes(t: type[attrs.AttrsInstance]) -> Sizes:
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
