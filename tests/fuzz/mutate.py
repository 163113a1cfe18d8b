"""Mutations of bytes, lines and JSON trees, each with its name; all chance comes from the generator given.

It knows JSON and lines, no method; what a mutation does to a program is for others to see.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from tests.fuzz.words import LINES, NUMBERS, PIECES, TEXTS, VALUES

Bytes = Callable[[Random, bytes, Sequence[bytes]], bytes]
"""Takes the data and other seeds to splice from; answers what it becomes."""

MOST_BYTES: Final = 64 * 1024
_NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TEXT: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_KEY: Final = re.compile(rb'"(?:[^"\\\n]|\\.)*"\s*:')


def mutated(rng: Random, data: bytes, others: Sequence[bytes]) -> tuple[str, bytes]:
    """(names of the mutations, the data after one to four of them)."""
    names = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        name = rng.choice(_NAMES)
        data = MUTATIONS[name](rng, data, others)[:MOST_BYTES]
        names.append(name)
    return "+".join(names), data


# --- bytes


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + int(rng.expovariate(1 / 12)) + 1)


def _flip(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _insert(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(PIECES) + data[at:]


def _delete(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def _repeat(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _span(rng, data)
    return data[:end] + data[start:end] * rng.choice((1, 2, 50)) + data[end:]


def _cut(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else data
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _instead(pattern: re.Pattern[bytes], make: Callable[[Random], bytes]) -> Bytes:
    def replace(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        found = list(pattern.finditer(data))
        if not found:
            return data
        spot = rng.choice(found)
        return data[: spot.start()] + make(rng) + data[spot.end() :]

    return replace


def _quoted(rng: Random) -> bytes:
    return json.dumps(rng.choice(TEXTS), ensure_ascii=rng.random() < 0.5).encode()


def _repeat_key(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    found = list(_KEY.finditer(data))
    if not found:
        return data
    spot = rng.choice(found)
    return data[: spot.start()] + spot[0] + rng.choice((b"1,", b"null,", b'"x",', b"{},")) + data[spot.start() :]


# --- lines


def _of_lines(change: Callable[[Random, list[bytes]], None]) -> Bytes:
    def mutate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        lines = data.split(b"\n")
        change(rng, lines)
        return b"\n".join(lines)

    return mutate


def _line_twice(rng: Random, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))


def _line_gone(rng: Random, lines: list[bytes]) -> None:
    del lines[rng.randrange(len(lines))]
    lines.extend([] if lines else [b""])


def _lines_shuffled(rng: Random, lines: list[bytes]) -> None:
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]


def _line_moved(rng: Random, lines: list[bytes]) -> None:
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)


def _line_odd(rng: Random, lines: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines)), rng.choice(LINES))


def _lines_flood(rng: Random, lines: list[bytes]) -> None:
    at = rng.randrange(len(lines))
    lines[at:at] = [rng.choice((*LINES, rng.choice(lines)))] * rng.choice((25, 60))


# --- trees: one line that holds JSON is read, changed somewhere inside, and written again


def _of_tree(change: Callable[[Random, Any, Any], None]) -> Bytes:
    """`change` gets a container and one of its keys or places."""

    def mutate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
        lines = data.split(b"\n")
        tries = [rng.randrange(len(lines)) for _ in range(3)]
        for at in tries:
            try:
                tree = json.loads(lines[at])
            except (ValueError, RecursionError):
                continue
            spots = _spots(tree)
            if not spots:
                continue
            change(rng, *rng.choice(spots))
            lines[at] = json.dumps(tree, ensure_ascii=rng.random() < 0.3, separators=(",", ":")).encode(
                "utf-8", "surrogatepass"
            )
            return b"\n".join(lines)
        return data

    return mutate


def _spots(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    left = [tree]
    while left:
        part = left.pop()
        inner: list[tuple[Any, Any]] = []
        if isinstance(part, dict | list):
            inner = list(part.items() if isinstance(part, dict) else enumerate(part))
        found += [(part, key) for key, _ in inner]
        left += [value for _, value in inner]
    return found


def _value_changed(rng: Random, inside: Any, key: Any) -> None:
    inside[key] = rng.choice(VALUES)


def _value_gone(rng: Random, inside: Any, key: Any) -> None:
    del inside[key]


def _value_null(rng: Random, inside: Any, key: Any) -> None:
    inside[key] = None


def _value_near(rng: Random, inside: Any, key: Any) -> None:
    """Another value of the same type, or the same value as another type."""
    was = inside[key]
    match was:
        case bool():
            inside[key] = rng.choice((not was, int(was), str(was).lower()))
        case int() | float():
            inside[key] = rng.choice((was + 1, was - 1, -was, was * 1000, float(was), str(was), was == 1, 2**53 - 1, 0))
        case str():
            inside[key] = rng.choice((was + "\n", was + "x", was[:-1], was.upper(), " " + was, was * 3, [was], "x-new"))
        case list():
            inside[key] = rng.choice((was * 2, was * 300, was[:1], [], {"0": was}, [*was, None], [was]))
        case _:
            inside[key] = rng.choice(([was], {}, {"x": was}, "x", 1))


def _value_copied(rng: Random, inside: Any, key: Any) -> None:
    """What stands somewhere near comes here; a copy, or the tree would hold itself."""
    spots = _spots(inside)
    source, at = rng.choice(spots)
    inside[key] = json.loads(json.dumps(source[at]))


def _value_deep(rng: Random, inside: Any, key: Any) -> None:
    value = inside[key]
    for _ in range(rng.choice((1, 3, 28, 33, 40))):
        value = [value] if rng.random() < 0.5 else {"x": value}
    inside[key] = value


def _field_new(rng: Random, inside: Any, key: Any) -> None:
    if isinstance(inside, dict):
        inside[rng.choice((*TEXTS, "x-site", "instances", "outcome", "mark", "id", "kind"))] = rng.choice(VALUES)
    else:
        inside.insert(rng.randrange(len(inside) + 1), rng.choice(VALUES))


def _field_renamed(rng: Random, inside: Any, key: Any) -> None:
    if isinstance(inside, dict):
        inside[rng.choice((key.upper(), key + "_", key[:-1], "x-" + key))] = inside.pop(key)


MUTATIONS: Final[dict[str, Bytes]] = {
    "byte flipped": _flip,
    "bytes inserted": _insert,
    "bytes deleted": _delete,
    "bytes repeated": _repeat,
    "stream cut": _cut,
    "streams spliced": _splice,
    "number odd": _instead(_NUMBER, lambda rng: rng.choice(NUMBERS)),
    "text odd": _instead(_TEXT, _quoted),
    "key repeated": _repeat_key,
    "line twice": _of_lines(_line_twice),
    "line gone": _of_lines(_line_gone),
    "lines swapped": _of_lines(_lines_shuffled),
    "line moved": _of_lines(_line_moved),
    "line odd": _of_lines(_line_odd),
    "lines flood": _of_lines(_lines_flood),
    "value changed": _of_tree(_value_changed),
    "value gone": _of_tree(_value_gone),
    "value null": _of_tree(_value_null),
    "value near": _of_tree(_value_near),
    "value copied": _of_tree(_value_copied),
    "value deep": _of_tree(_value_deep),
    "field new": _of_tree(_field_new),
    "field renamed": _of_tree(_field_renamed),
}
_NAMES: Final = tuple(MUTATIONS)
