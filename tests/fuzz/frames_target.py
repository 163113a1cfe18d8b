"""The cutter of lines against a second reader: same frames, same junk, however the stream is cut; never more than one
line held.
"""

import json
from typing import Any

from provider_sdk.contract.framing import EXCERPT_CHARS, Frame, FrameReader, Junk, Oversize
from tests.fuzz.oracle import check, pieces
from tests.fuzz.reader import read_object

LIMIT_BYTES = 8 * 1024


def run_frames(scene: str, data: bytes) -> None:
    """Feeds these bytes to a reader with a limit of 8 KiB and holds every line against the second reader's word."""
    reader = FrameReader(LIMIT_BYTES)
    found: list[Frame | Junk | Oversize] = []
    for piece in pieces(data):
        found += reader.feed(piece)
        check(reader.held_bytes <= LIMIT_BYTES, "more than the limit is held")
    *whole, rest = data.split(b"\n")
    # A line counts as too long with the CR that ends it: it is cut off only where the line ends.
    lines = [line if len(line) > LIMIT_BYTES else line.removesuffix(b"\r") for line in whole]
    lines = [line for line in lines if line]
    if len(rest) > LIMIT_BYTES:
        lines.append(rest)
    check(len(found) == len(lines), f"{len(lines)} lines were read as {len(found)}")
    for line, each in zip(lines, found, strict=True):
        _as_expected(line, each)
    left = reader.end()
    check(len(left) == (0 < len(rest) <= LIMIT_BYTES), "an unfinished line is told as junk, once")


def _as_expected(line: bytes, found: Frame | Junk | Oversize) -> None:
    if len(line) > LIMIT_BYTES:
        check(isinstance(found, Oversize), "a line over the limit is told as such")
        return
    expected = read_object(line)
    match found:
        case Frame(obj=obj):
            check(expected is not None, "a frame that the second reader refuses")
            check(_plain(obj) == _plain(expected), "a frame that the second reader reads as something else")
        case Junk(excerpt=excerpt, reason=reason):
            check(expected is None, f"junk ({reason}) that the second reader accepts")
            check(len(excerpt) <= EXCERPT_CHARS and bool(reason), "junk is quoted in short, with a reason")
        case Oversize():
            check(False, "a line within the limit is told as over it")


def _plain(value: Any) -> str:
    """The value as text in which a number beyond 64 bits is what a double keeps of it."""
    return json.dumps(value, sort_keys=True)
