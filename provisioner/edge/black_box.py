"""The black box of a provider's process: one line a frame, told or heard, with when and how much of it is kept.

It alone knows the form of these lines, both ways. It must not know files, clocks or what a frame means.

    1900000000.123456 5021.250001 3 > 412 -\t{"jsonrpc":"2.0","id":7,"method":"list","params":{}}

Wall clock and boot clock in seconds, the number of the process, the direction, the size of the whole frame in bytes,
what was done to it, and after a tab the frame as it was on the pipe, but for what was done to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from attrs import frozen

__all__ = ["FRAME_KEPT_BYTES", "HEARD", "NOTE", "TOLD", "Direction", "Record", "line_of", "read_records", "record_line"]

FRAME_KEPT_BYTES: Final = 16_384
"""Of a longer frame this much is kept; a frame of the daemon is rarely as long, and one that is can't be replayed."""


class Direction(Enum):
    """Who spoke."""

    TOLD = ">"
    HEARD = "<"
    NOTE = "="


TOLD: Final = Direction.TOLD.value.encode()
HEARD: Final = Direction.HEARD.value.encode()
NOTE: Final = Direction.NOTE.value.encode()
_CUT, _HIDDEN, _TORN = b"c", b"h", b"t"


@frozen
class Record:
    """One frame, or a note of the daemon; `at` and `boot_s` in seconds, `size` in bytes of the whole frame.

    `body` lacks the end where `is_cut`, has secrets replaced where `is_hidden`; one that `is_torn` has no end.
    """

    at: float
    boot_s: float
    number: int
    direction: Direction
    size: int
    body: bytes
    is_cut: bool = False
    is_hidden: bool = False
    is_torn: bool = False

    @property
    def text(self) -> str:
        """The body for people."""
        return self.body.decode("utf-8", "backslashreplace")


def record_line(record: Record) -> bytes:
    """The line of one record, with its end; a line end inside the body is written as a blank."""
    return line_of(
        record.at,
        record.boot_s,
        record.number,
        record.direction.value.encode(),
        record.size,
        record.body,
        cut=record.is_cut,
        hidden=record.is_hidden,
        torn=record.is_torn,
    )


def line_of(  # the same without a value made for it, since it stands in the way of every call
    at: float,
    boot_s: float,
    number: int,
    direction: bytes,
    size: int,
    body: bytes,
    *,
    cut: bool = False,
    hidden: bool = False,
    torn: bool = False,
) -> bytes:
    """The line of the record with these fields; `direction` as it is written."""
    done = (_CUT if cut else b"") + (_HIDDEN if hidden else b"") + (_TORN if torn else b"") or b"-"
    if b"\n" in body:
        body = body.replace(b"\n", b" ")
    return b"%.6f %.6f %d %b %d %b\t%b\n" % (at, boot_s, number, direction, size, done, body)


def read_records(data: bytes) -> Iterator[Record]:
    """The records in `data`, oldest first; lines that are none (a last one that was not written whole) are left out."""
    for line in data.split(b"\n"):
        record = _record(line)
        if record is not None:
            yield record


def _record(line: bytes) -> Record | None:
    head, _, body = line.partition(b"\t")
    try:
        at, boot_s, number, direction, size, done = head.split(b" ")
        return Record(
            at=float(at),
            boot_s=float(boot_s),
            number=int(number),
            direction=Direction(direction.decode("ascii")),
            size=int(size),
            body=body,
            is_cut=_CUT in done,
            is_hidden=_HIDDEN in done,
            is_torn=_TORN in done,
        )
    except ValueError:  # also no such direction, and no ASCII
        return None
