"""The checks of single values: size, pattern, length and range, each with the sentence that a fault is told in.

Alone responsible for these sentences. Knows no type of the contract.
"""

import re
from collections.abc import Callable
from typing import cast

import orjson
from msgspec import Meta

from provider_sdk.contract.forms import MUST_BE
from provider_sdk.contract.shape import fault

Check = Callable[[object], None]


def size_check(limit_bytes: int) -> Check:
    """Return the check that a raw value takes at most so many bytes as compact JSON."""

    def check(raw: object) -> None:
        size = encoded_size(raw)
        if size is None:
            raise fault("must be JSON")
        if size > limit_bytes:
            raise fault(f"must take at most {limit_bytes} bytes")

    return check


def encoded_size(raw: object) -> int | None:
    """Return how many bytes `raw` takes as compact JSON, or None if it is no JSON."""
    try:
        return len(orjson.dumps(raw))
    except orjson.JSONEncodeError:
        return None


def bounds(meta: Meta) -> list[Check]:
    """Return the checks of a value's length and range."""
    checks: list[Check] = []
    if meta.min_length is not None or meta.max_length is not None:
        checks.append(_length_check(meta.min_length or 0, meta.max_length))
    if meta.ge is not None or meta.le is not None:
        checks.append(_range_check(meta.ge, meta.le))
    return checks


def pattern_check(pattern: str) -> Check:
    """Return the check that a text matches."""
    search = re.compile(pattern).search
    what = MUST_BE[pattern]

    def check(value: object) -> None:
        if not search(cast(str, value)):
            raise fault(what)

    return check


def _length_check(least: int, most: int | None) -> Check:
    span = f"at least {least}" if most is None else f"at most {most}" if not least else f"{least} to {most}"

    def check(value: object) -> None:
        length = len(cast(str, value))
        if length < least or (most is not None and length > most):
            raise fault(f"must have {span} {'characters' if isinstance(value, str) else 'entries'}")

    return check


def _range_check(least: float | None, most: float | None) -> Check:
    # Written so that a number that compares with nothing (NaN) is refused.
    def check(value: object) -> None:
        number = cast(float, value)
        if not ((least is None or number >= least) and (most is None or number <= most)):
            raise fault(f"must lie between {least} and {most}")

    return check
