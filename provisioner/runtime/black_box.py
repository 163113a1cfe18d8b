"""Keeps on disk what the daemon and one provider's process last said to each other, in a bounded ring of two files.

Written at once and without a buffer, so that it also tells of a daemon that was killed; a write into the kernel's
memory costs less than handing it to anybody else. It alone knows the files. It must never harm the conversation: a disk
that is full or slow costs records, which are counted. It must not know what a frame means.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from provisioner.edge.black_box import FRAME_KEPT_BYTES, HEARD, NOTE, TOLD, Record, line_of, read_records
from provisioner.edge.redaction import HIDDEN, Hidden
from provisioner.runtime.supervision import Log

__all__ = ["FILE_NAME", "OLDER_FILE_NAME", "BlackBox", "records_in"]

FILE_NAME: Final = "frames"
OLDER_FILE_NAME: Final = "frames.old"
HIDDEN_RAW: Final = HIDDEN.encode()
_BOOT_S: Final = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
_SLOW_S: Final = 0.1
_PAUSE_S: Final = 60.0
_TAIL_BYTES: Final = 32
_ID_AT_THE_END: Final = re.compile(rb'(,"id":[0-9]{1,16}\})\n$')
"""Of a call that is cut this is kept too: its answer is known by it."""
_SLACK_BYTES: Final = 4096
"""A secret that begins before the cut must be known whole to be hidden."""


class BlackBox:
    """What is said over one process's pipes; `most_bytes` bounds both files together, whatever is said."""

    def __init__(
        self,
        folder: Path,
        *,
        most_bytes: int,
        number: int,
        hidden: Hidden,
        log: Log,
        boot_s: Callable[[], float] = _BOOT_S,
    ) -> None:
        self._folder = folder
        self._segment_bytes = most_bytes // 2
        self._number = number
        self._hidden = hidden
        self._log = log
        self._boot_s = boot_s
        self._file = -1
        self._size = 0
        self._line = bytearray()
        self._line_bytes = 0
        self._left_out = 0
        self._paused_until_s = float("-inf")

    def told(self, frame: bytes | memoryview) -> None:
        """A frame of ours, of which at least the first byte is in the pipe."""
        body = bytes(frame[: FRAME_KEPT_BYTES + _SLACK_BYTES]).rstrip(b"\n")
        last = _ID_AT_THE_END.search(bytes(frame[-_TAIL_BYTES:])) if len(frame) > FRAME_KEPT_BYTES else None
        self._keep(TOLD, body, len(frame) - 1, end=b"" if last is None else last[1])

    def heard(self, data: bytes | bytearray) -> None:
        """What was read from the provider: any piece of its stdout, frames and junk alike."""
        first, *others = data.split(b"\n")
        self._add(first)
        for piece in others:
            self._end_line(is_torn=False)
            self._add(piece)

    def heard_all(self) -> None:
        """Its stdout is over."""
        self._end_line(is_torn=True)

    def note(self, text: str) -> None:
        """Something the daemon did or saw."""
        body = text.encode("utf-8", "backslashreplace")[:FRAME_KEPT_BYTES]
        self._keep(NOTE, body, len(body))

    def close(self) -> None:
        """Closes its file; what is said afterwards opens it again."""
        if self._file >= 0:
            file, self._file = self._file, -1
            os.close(file)

    def _add(self, piece: bytes | bytearray) -> None:
        self._line += piece[: FRAME_KEPT_BYTES + _SLACK_BYTES - len(self._line)]
        self._line_bytes += len(piece)

    def _end_line(self, *, is_torn: bool) -> None:
        if self._line_bytes:
            body, size = bytes(self._line), self._line_bytes
            self._line.clear()
            self._line_bytes = 0
            self._keep(HEARD, body, size, is_torn=is_torn)

    def _keep(self, direction: bytes, body: bytes, size: int, *, end: bytes = b"", is_torn: bool = False) -> None:
        boot_s = self._boot_s()
        if boot_s < self._paused_until_s:
            self._left_out += 1
            return
        shown = self._hidden.frame(body)
        if is_cut := size > FRAME_KEPT_BYTES:
            # What was read beyond the cut served to know secrets that lie across it; its own end may hold half a one.
            shown = shown[: -max(1, len(body) - FRAME_KEPT_BYTES)] + end
        hidden = shown != body if not is_cut else HIDDEN_RAW in shown
        line = line_of(
            time.time(), boot_s, self._number, direction, size, shown, cut=is_cut, hidden=hidden, torn=is_torn
        )
        try:
            if self._left_out:
                self._tell_what_was_left_out(boot_s)
            self._write(line)
        except OSError as why:
            self._pause(boot_s, os.strerror(why.errno or 0))
            self._left_out += 1
        else:
            if self._boot_s() - boot_s > _SLOW_S:
                self._pause(boot_s, "the disk is slow")

    def _tell_what_was_left_out(self, boot_s: float) -> None:
        text = f"{self._left_out} records are missing here".encode()
        self._write(line_of(time.time(), boot_s, self._number, NOTE, len(text), text))
        self._left_out = 0

    def _write(self, line: bytes) -> None:
        if self._file < 0:
            self._open()
        if self._size and self._size + len(line) > self._segment_bytes:
            self._turn_over()
        written = os.write(self._file, line)
        self._size += written
        if written < len(line):  # a disk that got full: half a line must not become the head of another
            os.ftruncate(self._file, self._size - written)
            self._size -= written
            raise OSError(28, os.strerror(28))

    def _open(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(self._folder / FILE_NAME, flags, 0o600)
        self._size = os.fstat(self._file).st_size
        if self._size:  # the last line may have no end, where a machine stopped in the middle of it
            self._size += os.write(self._file, b"\n")

    def _turn_over(self) -> None:
        self.close()
        (self._folder / FILE_NAME).replace(self._folder / OLDER_FILE_NAME)
        self._open()

    def _pause(self, boot_s: float, why: str) -> None:
        self._paused_until_s = boot_s + _PAUSE_S
        self._log.warning("black_box_paused", why=why, for_s=_PAUSE_S)


def records_in(place: Path) -> list[Record]:
    """All records of a black box, oldest first: of its folder, or of one file alone. Raises OSError."""
    if not place.is_dir():
        return list(read_records(_bytes_of(place)))
    files = [place / name for name in (OLDER_FILE_NAME, FILE_NAME) if (place / name).exists()]
    if not files:
        raise FileNotFoundError(2, "there is no black box", str(place / FILE_NAME))
    return [record for file in files for record in read_records(_bytes_of(file))]


def _bytes_of(place: Path) -> bytes:
    """What a file holds; of a pipe or a device one would read for ever."""
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "it is no file", str(place))
    return place.read_bytes()
