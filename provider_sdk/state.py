"""The state folder: records that survive a crash, the lock, the memory of who was here (ST-2, HS-6, EP-1).

Knows files only; must not know the wire, the handshake or what a provider stores.
"""

import contextlib
import fcntl
import itertools
import os
import re
import secrets
from pathlib import Path

import orjson
from attrs import frozen

from provider_sdk.errors import StateFull, StateLocked, StateUnreadable

_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}\Z")
_MEMORY = "sdk-memory.json"
_LOCK = "sdk-lock"
_ASIDE = ".unreadable-"
_temporary = itertools.count(1)


@frozen
class Memory:
    """What the SDK itself keeps: the folder's random id and the highest epoch seen of each lineage."""

    state_id: str
    epochs: dict[str, int]


@frozen
class EpochClaim:
    """Whether this process may serve under its epoch, and the highest epoch that was here before."""

    granted: bool
    highest: int


class StateFolder:
    """One private folder of one provider entry; making the object touches nothing.

    Names are plain file names. Reads and writes are whole files; a write is durable when the call returns, and a
    crash at any moment leaves the old content or the new, never a mixture.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock_fd: int | None = None

    def lock(self) -> None:
        """Make the folder if absent and hold it until the process ends or `unlock`; raises StateLocked, StateFull."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise StateFull(f"the state folder {self.path} can't be used: {problem.strerror}") from problem
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
            os.close(fd)
            raise StateLocked(f"process {holder or 'unknown'} holds the state folder {self.path}") from problem
        self._lock_fd = fd
        with contextlib.suppress(OSError):  # the number is a courtesy for the operator, the lock is what counts
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        self._sweep_temporaries()

    def unlock(self) -> None:
        """Let another process in; harmless when not locked."""
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    def read_bytes(self, name: str) -> bytes | None:
        """The content of a record, None if there never was one; raises StateUnreadable if the disk does not give it."""
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StateUnreadable(f"{name} can't be read: {problem.strerror}") from problem

    def write_bytes(self, name: str, content: bytes) -> None:
        """Replace a record (temporary, fsync, rename, fsync of the folder); raises StateFull, the old content kept."""
        target = self._file(name)
        spare = self.path / f".{name}.{os.getpid()}-{next(_temporary)}.tmp"
        try:
            _write_whole(spare, content)
            os.replace(spare, target)
            sync_folder(self.path)
        except OSError as problem:
            with contextlib.suppress(OSError):
                spare.unlink(missing_ok=True)
            raise StateFull(f"{name} can't be stored: {problem.strerror}") from problem

    def read_json(self, name: str) -> object | None:
        """The record as JSON, None if there never was one; what is no JSON is set aside and raises StateUnreadable."""
        content = self.read_bytes(name)
        if content is None:
            return None
        try:
            found: object = orjson.loads(content)
        except orjson.JSONDecodeError as problem:
            raise self.set_aside(name, "is not JSON") from problem
        return found

    def write_json(self, name: str, record: object) -> None:
        """Replace a record by this JSON value; raises StateFull with the old content kept."""
        self.write_bytes(name, orjson.dumps(record, option=orjson.OPT_INDENT_2))

    def remove(self, name: str) -> None:
        """Remove a record durably; harmless when absent."""
        try:
            self._file(name).unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as problem:
            raise StateFull(f"{name} can't be removed: {problem.strerror}") from problem

    def set_aside(self, name: str, why: str) -> StateUnreadable:
        """Move a record that makes no sense out of the way, keeping it; answers the error to raise."""
        spare_names = (self.path / f"{name}{_ASIDE}{number}" for number in itertools.count(1))
        aside = next(path for path in spare_names if not path.exists())
        try:
            os.replace(self._file(name), aside)
            sync_folder(self.path)
        except OSError as problem:
            return StateUnreadable(f"{name} {why} and can't be set aside: {problem.strerror}")
        return StateUnreadable(f"{name} {why}; it was set aside as {aside.name}")

    def damage(self) -> tuple[str, ...]:
        """Names of the records set aside, by this process or an earlier one, until an operator removes them."""
        try:
            return tuple(sorted(entry for entry in os.listdir(self.path) if _ASIDE in entry))
        except OSError:
            return ()

    # The SDK's own memory.

    def remember(self) -> Memory:
        """The folder's memory; made with a new random state_id at first use, or after an unreadable one (ST-4)."""
        try:
            memory = self._memory()
        except StateUnreadable:
            if self._file(_MEMORY).exists():  # not set aside: a new memory would overwrite it
                raise
            memory = None
        if memory is None:
            memory = Memory(state_id=secrets.token_hex(16), epochs={})
            self._store(memory)
        return memory

    def claim_epoch(self, lineage: str, epoch: int) -> EpochClaim:
        """Store this epoch if none higher was seen in its lineage; durable when the call returns (EP-1)."""
        memory = self.remember()
        highest = memory.epochs.get(lineage, 0)
        if highest > epoch:
            return EpochClaim(granted=False, highest=highest)
        if highest < epoch:
            self._store(Memory(memory.state_id, {**memory.epochs, lineage: epoch}))
        return EpochClaim(granted=True, highest=highest)

    def highest_epoch(self, lineage: str) -> int:
        """The highest epoch stored at this moment, read from the disk (EP-2); raises StateUnreadable.

        An absent memory is no zero: whoever asks has claimed an epoch here, so somebody has taken the record away.
        """
        memory = self._memory()
        if memory is None:
            raise StateUnreadable("the memory of epochs is gone")
        return memory.epochs.get(lineage, 0)

    def _memory(self) -> Memory | None:
        match self.read_json(_MEMORY):
            case None:
                return None
            case {"state_id": str(state_id), "epochs": dict(epochs)} if _are_epochs(epochs):
                return Memory(state_id, epochs)
            case _:
                raise self.set_aside(_MEMORY, "is no memory of this SDK")

    def _store(self, memory: Memory) -> None:
        self.write_json(_MEMORY, {"state_id": memory.state_id, "epochs": memory.epochs})

    def _file(self, name: str) -> Path:
        if not _NAME.match(name):
            raise ValueError(f"not a plain file name: {name!r}")
        return self.path / name

    def _sweep_temporaries(self) -> None:
        # Only the holder of the lock writes, so a temporary file found now belongs to a process that died in a write.
        for entry in os.listdir(self.path):
            if entry.startswith(".") and entry.endswith(".tmp"):
                with contextlib.suppress(OSError):  # litter harms nobody
                    (self.path / entry).unlink(missing_ok=True)


def _are_epochs(epochs: dict[object, object]) -> bool:
    return all(isinstance(lineage, str) and type(epoch) is int for lineage, epoch in epochs.items())


def _write_whole(path: Path, content: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
