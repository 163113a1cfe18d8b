"""Hypothesis strategies built from the contract's types: any value of the type that the contract allows."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, get_args, get_origin

import attrs
from hypothesis import strategies as st
from msgspec import Meta

from provider_sdk.contract import Kind, Template
from provider_sdk.contract import format_time as as_time
from provider_sdk.contract import nanos_to_amount as as_amount
from provider_sdk.contract.forms import AMOUNT_PATTERN, INT_MAX, TIME_PATTERN, Matches
from tests.contract.wire_types import options

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-INT_MAX, INT_MAX) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)
_PATTERNED = {
    AMOUNT_PATTERN: st.integers(0, 10**21 - 1).map(as_amount),
    TIME_PATTERN: st.integers(0, 32_503_679_999_000).map(lambda ms: as_time(ms / 1000)),
}


@cache
def values(t: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of one type."""
    several = options(t)
    if len(several) > 1:
        return st.one_of([values(option) for option in several])
    t = several[0]
    if get_origin(t) is Annotated:
        return _annotated(t)
    if get_origin(t) is tuple:
        return st.lists(values(get_args(t)[0]), max_size=2).map(tuple)
    if get_origin(t) is Mapping:
        return _mapping(*get_args(t))
    if issubclass(t, StrEnum):
        return st.sampled_from(list(t))
    if attrs.has(t):
        return _instances(t)
    return {str: _TEXT, bool: st.booleans(), int: st.integers(-INT_MAX, INT_MAX)}.get(
        t, st.floats(allow_nan=False, allow_infinity=False)
    )


def _annotated(t: Any) -> st.SearchStrategy[Any]:
    inner, *marks = get_args(t)
    for mark in marks:
        match mark:
            case Matches(pattern=pattern):
                return _PATTERNED[pattern] if pattern in _PATTERNED else st.from_regex(pattern)
            case Meta(ge=int() as least, le=int() as most):
                return st.integers(least, most) if inner is int else st.floats(least, most)
            case Meta(min_length=least, max_length=int() as longest) if inner is str:
                return st.text(st.characters(exclude_categories=["Cs"]), min_size=least or 0, max_size=min(longest, 40))
            case Meta(min_length=least) if get_origin(inner) is tuple:
                return st.lists(values(get_args(inner)[0]), min_size=least or 0, max_size=2).map(tuple)
            case _:
                continue
    return values(inner)


def _mapping(key: Any, value: Any) -> st.SearchStrategy[Any]:
    if value is object:
        return st.dictionaries(_TEXT, _JSON, max_size=3)
    return st.dictionaries(values(key), values(value), max_size=3)


def _instances(t: type[Any]) -> st.SearchStrategy[Any]:
    parts: dict[str, st.SearchStrategy[Any]] = {}
    for field in attrs.fields(t):
        stated = values(field.type)
        absent = field.default
        if isinstance(absent, attrs.Factory):  # type: ignore[arg-type]
            absent = absent.factory()
        parts[field.name] = stated if absent is attrs.NOTHING else st.just(absent) | stated
    built = st.builds(t, **parts)
    if t is Template:
        return built.filter(lambda template: template.kind is not Kind.HOST or template.attributes is not None)
    return built
