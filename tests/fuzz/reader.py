"""A second, slow and plain reader of lines, for comparison; it alone says what a strict JSON object on a line is.

It shares nothing with the reader it judges but the contract (FR-1, FR-2). It knows no method.
"""

import json
import math
from typing import Any

DEPTH_MAX = 32


class NotStrict(ValueError):
    """The text is no strict JSON; says why."""


def lines_of(data: bytes) -> list[bytes]:
    """The whole lines of a stream, without line ends, empty ones left out; what follows the last LF is none."""
    return [line for line in (part.removesuffix(b"\r") for part in data.split(b"\n")[:-1]) if line]


def read_value(line: bytes) -> Any:
    """The JSON value on a line; NotStrict if it is none, repeats a key, or holds a number no double can."""
    try:
        text = line.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refused, parse_float=_finite, parse_int=_whole
        )
    except (ValueError, RecursionError) as fault:
        raise NotStrict(str(fault)[:100]) from fault
    if _has_lone_surrogate(value):
        raise NotStrict("a lone surrogate")
    return value


def read_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line, None if there is none that the contract allows."""
    try:
        value = read_value(line)
    except NotStrict:
        return None
    return value if isinstance(value, dict) and depth(value) <= DEPTH_MAX else None


def depth(value: Any) -> int:
    """How deep lists and objects are nested; a plain value is 0 deep."""
    deepest, level = 0, [value]
    while level:
        inner: list[Any] = []
        nested = False
        for part in level:
            if isinstance(part, dict):
                nested = True
                inner += part.values()
            elif isinstance(part, list):
                nested = True
                inner += part
        deepest += nested
        level = inner
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotStrict("a repeated key")
    return found


def _refused(word: str) -> Any:
    raise NotStrict(f"{word} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotStrict("a number over all bounds")
    return number


def _whole(text: str) -> int | float:
    # Beyond 64 bits a reader may keep a double; no field of the contract allows either.
    number = float(text)
    if not math.isfinite(number):
        raise NotStrict("a number over all bounds")
    whole = int(text)
    return whole if -(2**63) <= whole < 2**64 else number


def _has_lone_surrogate(value: Any) -> bool:
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            if not part.isascii() and any("\ud800" <= letter <= "\udfff" for letter in part):
                return True
        elif isinstance(part, dict):
            left += part.keys()
            left += part.values()
        elif isinstance(part, list):
            left += part
    return False
