"""The exclusive right to one file of facts: a lock on a side file that says who holds it.

Knows the lock and the words in the side file. Must not know what the facts are kept in.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen

from provisioner.runtime.links.errors import FactsInUse
from provisioner.runtime.links.places import unreachable

_MOST_WORDS = 4096


@frozen
class OwnerLock:
    """A lock that is held until `release`, or until the process ends, however it ends."""

    descriptor: int

    def release(self) -> None:
        """Take our words out of the side file and let go; the file itself stays, since removing it would be a race."""
        try:
            os.ftruncate(self.descriptor, 0)
        finally:
            os.close(self.descriptor)


def take_owner_lock(facts: Path, cluster: str, owner: str) -> OwnerLock:
    """Lock `facts` for this process; raises FactsInUse naming the holder, FactsUnreachable."""
    side = facts.with_name(facts.name + ".owner")
    descriptor = _open_side_file(side)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _write_words(descriptor, cluster, owner)
    except BlockingIOError:
        words = os.pread(descriptor, _MOST_WORDS, 0)
        os.close(descriptor)
        raise _in_use(facts, words) from None
    except OSError as error:
        os.close(descriptor)
        raise unreachable(side, error) from error
    return OwnerLock(descriptor)


def _open_side_file(side: Path) -> int:
    try:
        # O_NOFOLLOW: a link here could lead two daemons with one file of facts to different locks.
        # O_NONBLOCK: a named pipe must be an error, not an endless wait.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(side, flags, 0o600)
    except OSError as error:
        raise unreachable(side, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise unreachable(side, OSError("not an ordinary file"))
    return descriptor


def _write_words(descriptor: int, cluster: str, owner: str) -> None:
    words = {
        "pid": os.getpid(),
        "started_at": round(time.time(), 3),
        "host": socket.gethostname(),
        "cluster": cluster,
        "owner": owner,
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(words).encode() + b"\n", 0)


def _in_use(facts: Path, words: bytes) -> FactsInUse:
    remedy = "Stop that daemon first, or give this one another file of facts (controller.sqlite)."
    try:
        holder = json.loads(words)
        since = datetime.fromtimestamp(holder["started_at"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        who = f"{holder['owner']} (process {holder['pid']:d} on {holder['host']}, cluster {holder['cluster']})"
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        # The holder locks before it writes its words, and anyone may have scribbled here: the lock alone counts.
        return FactsInUse(str(facts), "These facts are in use by a process that has not said who it is.", remedy)
    return FactsInUse(str(facts), f"These facts are in use by {who} since {since}.", remedy)
