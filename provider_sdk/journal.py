"""An append-only journal in the state folder, for records that must be durable before each far-side call (clause ST-1).

Knows lines and durability; must not know what the records mean. One process writes it: the holder of the folder's lock.
"""

import os
from collections.abc import Sequence

import orjson

from provider_sdk.errors import StateFull, StateUnreadable
from provider_sdk.state import StateFolder, sync_folder


class Journal:
    """JSON records in the order they were written; cheaper than replacing a whole file for each of them.

    A last line torn by a crash was never acknowledged and is cut off; any other line that makes no sense is damage.
    """

    def __init__(self, folder: StateFolder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._fd: int | None = None
        self._length = 0

    def open(self) -> list[object]:
        """Every record so far; raises StateUnreadable (the file is set aside then), StateFull."""
        content = self._folder.read_bytes(self._name) or b""
        whole = content[: content.rfind(b"\n") + 1]
        records = self._parse(whole)
        try:
            self._fd = os.open(self._folder.path / self._name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if len(whole) < len(content):
                os.ftruncate(self._fd, len(whole))
                os.fsync(self._fd)
            sync_folder(self._folder.path)
        except OSError as problem:
            raise StateFull(f"{self._name} can't be opened: {problem.strerror}") from problem
        self._length = len(whole)
        return records

    def append(self, record: object) -> None:
        """Add a record, durable when the call returns; raises StateFull, and then it was not added."""
        if self._fd is None:
            raise StateUnreadable(f"{self._name} is not open")
        line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
        try:
            _write_at(self._fd, line, self._length)
            os.fdatasync(self._fd)
        except OSError as problem:
            # Whatever part of it is there must not become the begin of the next line.
            self._cut_back()
            raise StateFull(f"{self._name} can't be extended: {problem.strerror}") from problem
        self._length += len(line)

    def rewrite(self, records: Sequence[object]) -> None:
        """Replace all records by these, at once or not at all; raises StateFull with the old ones kept."""
        lines = b"".join(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE) for record in records)
        self._folder.write_bytes(self._name, lines)
        self.close()
        self.open()

    def close(self) -> None:
        """Close the file; harmless when closed."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _parse(self, whole: bytes) -> list[object]:
        try:
            return [orjson.loads(line) for line in whole.split(b"\n")[:-1]]
        except orjson.JSONDecodeError as problem:
            raise self._folder.set_aside(self._name, "has a line that is not JSON") from problem

    def _cut_back(self) -> None:
        if self._fd is None:
            return
        try:
            os.ftruncate(self._fd, self._length)
            os.fsync(self._fd)
        except OSError:
            # Unsure what is on the disk: no more records until it was read again.
            self.close()


def _write_at(fd: int, content: bytes, offset: int) -> None:
    rest = memoryview(content)
    while rest:
        written = os.pwrite(fd, rest, offset)
        rest, offset = rest[written:], offset + written
