"""Keeps the end of what a provider writes to stderr, in bounded memory and safe to show.

It alone cuts, escapes and hides; it reads no stream and writes no log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from provisioner.edge.redaction import Hidden

__all__ = ["StderrTail", "last_said", "printable"]


def printable(text: str) -> str:
    """`text` with everything that could steer a terminal or a log written as an escape."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )


def last_said(lines: Sequence[str]) -> str:
    """The last line that holds a letter or digit, without the bars a traceback of a group stands behind; else ""."""
    said = (line.lstrip(" |") for line in reversed(lines) if any(c.isalnum() for c in line))
    return next(said, "")


class StderrTail:
    """The last lines fed, each cut to `line_bytes`, all together at most `total_bytes`."""

    def __init__(
        self, *, lines: int = 400, line_bytes: int = 4096, total_bytes: int = 1 << 20, hidden: Hidden | None = None
    ) -> None:
        self._most_lines = lines
        self._line_bytes = line_bytes
        self._total_bytes = total_bytes
        self._hidden = Hidden() if hidden is None else hidden
        self._kept: deque[str] = deque()
        self._kept_bytes = 0
        self._open = bytearray()
        self._open_bytes = 0
        self._count = 0

    @property
    def finished(self) -> tuple[int, tuple[str, ...]]:
        """The number of the first line kept, counted from 1 over all that were ever written, and the whole lines."""
        return self._count - len(self._kept) + 1, tuple(self._kept)

    @property
    def lines(self) -> tuple[str, ...]:
        """The tail, oldest first, with the line still being written last."""
        last = (self._shown(self._open, self._open_bytes),) if self._open_bytes else ()
        return (*self._kept, *last)

    def feed(self, data: bytes | bytearray) -> tuple[list[str], int]:
        """Takes what was read; returns the lines it completed that are kept, and how many earlier ones are not."""
        first, *rest = data.split(b"\n")
        self._append(first)
        if not rest:
            return [], 0
        self._count += len(rest)
        finished = [self._shown(self._open, self._open_bytes)]
        *middle, unfinished = rest
        dropped = max(0, len(middle) - self._most_lines)
        if dropped:  # a flood: the finished line and the first of these would be pushed out at once
            finished, middle, dropped = [], middle[dropped:], dropped + 1
        finished.extend(self._shown(line[: self._line_bytes], len(line)) for line in middle)
        self._open.clear()
        self._open_bytes = 0
        self._append(unfinished)
        for line in finished:
            self._keep(line)
        return finished, dropped

    def _append(self, piece: bytes | bytearray) -> None:
        self._open += piece[: self._line_bytes - len(self._open)]
        self._open_bytes += len(piece)

    def _keep(self, line: str) -> None:
        self._kept.append(line)
        self._kept_bytes += len(line)
        while len(self._kept) > self._most_lines or self._kept_bytes > self._total_bytes:
            self._kept_bytes -= len(self._kept.popleft())

    def _shown(self, line: bytes | bytearray, whole_bytes: int) -> str:
        is_cut = whole_bytes > len(line)
        text = self._hidden.text(line.rstrip(b"\r").decode("utf-8", "replace"), is_cut=is_cut)
        cut = f" … {whole_bytes - len(line)} bytes more" if is_cut else ""
        return printable(text) + cut
