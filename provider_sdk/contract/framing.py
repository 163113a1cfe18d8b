"""Frames (FR-1 to FR-4): bytes to JSON objects and back, one object a line.

Alone responsible for cutting lines and for what counts as a frame. Does no I/O and knows no method: whoever reads
the pipe feeds the bytes in.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

import orjson
from attrs import frozen

DAEMON_FRAME_BYTES: Final = 1_048_576
PROVIDER_FRAME_BYTES: Final = 16 * 1_048_576
DEPTH_MAX: Final = 32
EXCERPT_CHARS: Final = 200

_LF: Final = b"\n"
_LOOKED_AT: Final = 4_096
"""Up to so many bytes, counting brackets costs less than having the writer find the depth."""
_SPACED_COLONS: Final = (b" :", b"\t:", b"\r:")


@frozen
class Frame:
    """A line that is one JSON object."""

    obj: dict[str, object]


@frozen
class Junk:
    """A line that is no frame: at most 200 characters of it, and why."""

    excerpt: str
    reason: str


@frozen
class Oversize:
    """A line over the limit, told once `size` bytes of it were read; the rest of the line is dropped."""

    size: int


class FrameTooLong(Exception):
    """A frame that must not be sent because it is over the limit; `size` and `limit_bytes` in bytes."""

    def __init__(self, size: int, limit_bytes: int) -> None:
        """Hold both sizes."""
        super().__init__(f"a frame of {size} bytes is over the limit of {limit_bytes}")
        self.size = size
        self.limit_bytes = limit_bytes


class LineCutter:
    """Cuts a stream of bytes into lines in time linear in its length, holding at most one line up to the limit."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the longest line accepted, its LF not counted."""
        self._limit_bytes = limit_bytes
        self._held = bytearray()
        self._discarding = False

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished line is held."""
        return len(self._held)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes | Oversize]:
        """Return the lines ended by `data`, in order, without their LF and a CR before it; empty ones are left out."""
        read = bytes(data)
        is_between = not self._held and not self._discarding
        if is_between and 0 < len(read) <= self._limit_bytes and read.find(_LF) == len(read) - 1:
            line = read[:-1].removesuffix(b"\r")  # one line, as nearly always
            return [line] if line else []
        found: list[bytes | Oversize] = []
        *ended, rest = read.split(_LF)
        for piece in ended:
            self._take(piece, found)
            self._cut(found)
        self._take(rest, found)
        return found

    def end(self) -> bytes:
        """Return the unfinished line, empty if the stream did not end inside one."""
        left = bytes(self._held)
        self._held.clear()
        return left

    def _take(self, piece: bytes, found: list[bytes | Oversize]) -> None:
        if self._discarding:
            return
        self._held += piece
        if len(self._held) > self._limit_bytes:
            found.append(Oversize(len(self._held)))
            self._held = bytearray()
            self._discarding = True

    def _cut(self, found: list[bytes | Oversize]) -> None:
        line = bytes(self._held).removesuffix(b"\r")
        self._held.clear()
        self._discarding = False
        if line:
            found.append(line)


class FrameReader:
    """Cuts a stream of bytes into frames, as LineCutter does into lines."""

    def __init__(self, limit_bytes: int) -> None:
        """Take the longest line accepted, its LF not counted."""
        self._lines = LineCutter(limit_bytes)

    @property
    def held_bytes(self) -> int:
        """How much of an unfinished line is held."""
        return self._lines.held_bytes

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame | Junk | Oversize]:
        """Return what the lines ended by `data` are, in order."""
        return [read_line(line) if isinstance(line, bytes) else line for line in self._lines.feed(data)]

    def end(self) -> list[Junk]:
        """Return the unfinished line as junk, if the stream ended inside one."""
        left = self._lines.end()
        return [unfinished(left)] if left else []


def unfinished(line: bytes) -> Junk:
    """Return what the last line of a stream is, if it did not end."""
    return Junk(_excerpt(line), "the stream ended inside a line")


def read_line(line: bytes) -> Frame | Junk:
    """Return the frame that one line (without its LF) holds, or why it holds none."""
    try:
        obj = orjson.loads(line)
    except orjson.JSONDecodeError as fault:
        return Junk(_excerpt(line), _why_unreadable(line, fault))
    if type(obj) is not dict:
        return Junk(_excerpt(line), "a batch" if type(obj) is list else "not a JSON object")
    few_brackets = len(line) <= _LOOKED_AT and line.count(b"{") + line.count(b"[") <= DEPTH_MAX
    text = _written(obj) if few_brackets else _written_if_shallow(obj)
    if text is None:
        return Junk(_excerpt(line), f"nested deeper than {DEPTH_MAX}")
    if text != line and _repeats_a_key(line, obj):
        return Junk(_excerpt(line), "a key is repeated")
    return Frame(obj)


def frame(obj: Mapping[str, object], limit_bytes: int | None = None) -> bytes:
    """Return the frame of a JSON object with its LF; FrameTooLong if it takes more than `limit_bytes`."""
    data = orjson.dumps(obj, option=orjson.OPT_APPEND_NEWLINE)
    if limit_bytes is not None and len(data) > limit_bytes:
        raise FrameTooLong(len(data), limit_bytes)
    return data


def _excerpt(line: bytes) -> str:
    return line[: EXCERPT_CHARS * 4].decode("utf-8", "backslashreplace")[:EXCERPT_CHARS]


def _why_unreadable(line: bytes, fault: orjson.JSONDecodeError) -> str:
    if line.startswith(b"\xef\xbb\xbf"):
        return "begins with a byte order mark"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8"
    return f"not JSON: {fault.msg}, character {fault.pos}"


@cache
def _padding() -> int:
    """Return how many lists around an object make the writer refuse just the objects nested deeper than allowed.

    The writer's own limit is the only depth check that costs nothing; it is looked up, since it is fixed by the writer.
    """
    accepted = 0
    nested: list[object] = []
    while _written(nested) is not None:
        accepted += 1
        nested = [nested]
    return accepted - DEPTH_MAX


def _written(value: object) -> bytes | None:
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return None


def _written_if_shallow(obj: dict[str, object]) -> bytes | None:
    """Return `obj` as compact JSON, or None if it is nested deeper than allowed."""
    padding = _padding()
    padded: object = obj
    for _ in range(padding):
        padded = [padded]
    text = _written(padded)
    return None if text is None else text[padding:-padding]


def _repeats_a_key(line: bytes, obj: dict[str, object]) -> bool:
    """Return whether some object of `line`, which parses to `obj`, has a key twice; the parser keeps the last silently.

    If `line` is not just as we would write it: where no space stands before a colon, every key of the text ends in
    `":`, so these are at least as many as the keys of the text, which are at least as many as the keys of the tree;
    if the first are as many as the last, nothing was lost. Else a slow parser tells exactly.
    """
    if not any(spaced in line for spaced in _SPACED_COLONS) and line.count(b'":') == _keys(obj):
        return False
    try:
        json.loads(line, object_pairs_hook=_unique)
    except _RepeatedKeyError:
        return True
    return False


def _keys(obj: dict[str, object]) -> int:
    keys = 0
    left: list[object] = [obj]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            keys += len(part)
            left.extend(value for value in part.values() if isinstance(value, dict | list))
        elif isinstance(part, list):
            left.extend(value for value in part if isinstance(value, dict | list))
    return keys


class _RepeatedKeyError(ValueError):
    pass


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError
    return found
