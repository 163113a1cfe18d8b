"""Where a file of facts lies: its real path, its folder, and the words for a place that can't be used.

Knows paths and the operating system's errors. Must not know what is inside the file.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from provisioner.runtime.links.errors import FactsUnreachable

_REMEDIES = {
    errno.ENOENT: "Make the folder first (or mount its disk); only the last folder of the path is made by itself.",
    errno.ENOTDIR: "A part of the path is a file; name a path below a folder.",
    errno.EISDIR: "It is a folder; name a file in it.",
    errno.ELOOP: "Its symbolic links lead in a circle or where none may be; name the real file.",
    errno.EACCES: "Give the daemon's user the right to read and write the file and its folder.",
    errno.EPERM: "Give the daemon's user the right to read and write the file and its folder.",
    errno.EROFS: "The disk is mounted read-only; mount it writable, or keep the facts elsewhere.",
    errno.ENOSPC: "The disk is full; make room.",
    errno.EDQUOT: "The quota is used up; make room or raise it.",
    errno.ENAMETOOLONG: "Choose a shorter path.",
    errno.EIO: "The disk reports errors; check it before anything is started on it.",
}


def unreachable(place: Path, error: OSError) -> FactsUnreachable:
    """The error for people that stands for an operating system's error at a place."""
    remedy = _REMEDIES.get(error.errno or 0, "Put this right, then start again.")
    return FactsUnreachable(str(place), f"The facts can't be reached: {error.strerror or error}.", remedy)


def settle_place(path: Path) -> Path:
    """The real path of a file of facts, there or not yet; makes its last folder (0700) if that is missing.

    Raises FactsUnreachable, also for a link that leads nowhere: a disk may be missing, and fresh facts would forget
    what costs money.
    """
    try:
        _make_folder(path.absolute().parent)
        folder = os.path.realpath(path.absolute().parent, strict=True)
        place = Path(folder, path.name)
        if place.is_symlink():
            place = Path(os.path.realpath(place, strict=True))
    except OSError as error:
        raise unreachable(path, error) from error
    if place.is_dir():
        raise unreachable(path, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
    return place


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return
    keep_folder(folder.parent)


def keep_folder(folder: Path) -> None:
    """Make names just made or renamed in a folder outlive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
