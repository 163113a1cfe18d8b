"""Whether the paths of the facts still lead to the files that are open, and whether these are still whole.

SQLite writes on into a file that was removed, replaced or cut, and says nothing: what is bought then is lost with the
process. Knows names, inodes and sizes. Must not know tables, commits or who asks.
"""

from __future__ import annotations

from pathlib import Path

from attrs import define, field, frozen

KEPT_LOG_BYTES = 64 * 1024 * 1024
"""SQLite itself cuts the log to this size; below it a file only grows."""


@frozen
class _Seen:
    device: int
    inode: int
    size: int

    def is_same(self, other: _Seen) -> bool:
        return (self.device, self.inode) == (other.device, other.inode)


@define(eq=False)
class HeldFiles:
    """The database and its log as they were when last looked at, by paths; made while they are open."""

    place: Path
    _seen: dict[Path, _Seen] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self.remember()

    def remember(self) -> None:
        """Take the size of each file as what it must have later; one that stands there for the first time is ours."""
        for path in (self.place, self.place.with_name(self.place.name + "-wal")):
            seen, before = _look(path), self._seen.get(path)
            if seen is not None and (before is None or seen.is_same(before)):
                self._seen[path] = seen

    def fault(self) -> str | None:
        """What has become of a file behind our back, and what to do, in sentences; None if nothing has."""
        for path, before in self._seen.items():
            seen = _look(path)
            if seen is None or not seen.is_same(before):
                what = "removed" if seen is None else "replaced"
                return (
                    f"The file {path} was {what} while it was in use. Put the very same file back; until the daemon "
                    "ends it can be read from the daemon's /proc/PID/fd."
                )
            if seen.size < min(before.size, KEPT_LOG_BYTES):
                return (
                    f"The file {path} was cut from {before.size} to {seen.size} bytes while it was in use. Keep a copy "
                    "of all files of the facts, and restore the latest backup."
                )
        return None


def _look(path: Path) -> _Seen | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return _Seen(found.st_dev, found.st_ino, found.st_size)
