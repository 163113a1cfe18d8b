"""The facts in SQLite as one thread uses them: groups committed, everything loaded, doubt settled after a disk error.

Knows versions and which outcome an error of SQLite stands for. Must not know trio, threads, or who waits for an answer.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from provisioner.runtime.links.errors import FactsError
from provisioner.runtime.links.fold import Fold, Key
from provisioner.runtime.links.held_files import HeldFiles
from provisioner.runtime.links.link import Batch, Loaded, Outcome, Refusal, Refused, Unknown
from provisioner.runtime.links.sqlite_file import (
    as_facts_error,
    connect,
    move_log_into_database,
    primary_code,
    read_all,
    read_meta,
    read_versions,
    write_rows,
)

_REFUSALS: dict[int, tuple[Refusal, str]] = {
    sqlite3.SQLITE_FULL: ("disk_full", "The disk that holds the facts is full"),
    sqlite3.SQLITE_BUSY: ("locked", "Another program holds the facts locked"),
    sqlite3.SQLITE_LOCKED: ("locked", "Another program holds the facts locked"),
    sqlite3.SQLITE_READONLY: ("read_only", "The facts can't be written: the file or its disk is read-only"),
    sqlite3.SQLITE_PERM: ("read_only", "The facts can't be written: not permitted"),
    sqlite3.SQLITE_TOOBIG: ("too_large", "SQLite takes no value of this size"),
}


@frozen
class GroupResult:
    """One outcome for each batch of a group, in order, and those that moved the revision, by one each."""

    outcomes: list[Outcome]
    moves: list[Batch]


class SqliteStore:
    """An open file of facts, owned by us alone, so that the versions in memory are those in the file."""

    def __init__(self, place: Path, connection: sqlite3.Connection, revision: int, busy_s: float) -> None:
        self.place = place
        self.revision = revision
        self._busy_s = busy_s
        self._connection = connection
        self._held = HeldFiles(place)
        self._versions: dict[Key, int] | None = None
        self._in_doubt = False

    def load(self) -> Loaded:
        """Read everything; raises FactsError."""
        try:
            self._settle_doubt()
            records = read_all(self._connection)
        except sqlite3.Error as error:
            raise as_facts_error(self.place, error) from error
        if self._versions is None:
            self._versions = {(kind, id_): version for kind, id_, version, _ in records}
        return Loaded(records, self.revision)

    def commit(self, batches: Sequence[Batch]) -> GroupResult:
        """Make a group durable in one transaction, each batch under its own guards; a refused one refuses alone."""
        fault = self._held.fault()
        if fault is not None:
            return GroupResult([Refused("read_only", (), fault)] * len(batches), [])
        try:
            self._settle_doubt()
            versions = self._known_versions()
        except (sqlite3.Error, FactsError) as error:
            detail = f"The facts can't be written since the disk reported an error: {error}"
            return GroupResult([Refused("read_only", (), detail)] * len(batches), [])
        fold = Fold(versions, self.revision)
        outcomes: list[Outcome] = [fold.take(batch) for batch in batches]
        failure = self._write(fold) if fold.moves else None
        if failure is None:
            return GroupResult(outcomes, fold.moves)
        if isinstance(failure, Refused) and failure.reason in {"disk_full", "too_large"} and len(batches) > 1:
            return self._commit_singly(batches)
        # Verdicts within the group rested on writes that did not happen, so the failure answers all of them.
        return GroupResult([failure] * len(batches), [])

    def close(self) -> None:
        """Move the log into the database and let go of the file; an error leaves all that was committed in the log."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _commit_singly(self, batches: Sequence[Batch]) -> GroupResult:
        results = [self.commit([batch]) for batch in batches]
        outcomes = [outcome for result in results for outcome in result.outcomes]
        return GroupResult(outcomes, [batch for result in results for batch in result.moves])

    def _write(self, fold: Fold) -> Refused | Unknown | None:
        # Whatever ends this early, an error of ours included, leaves the doubt that makes the next call read anew.
        self._in_doubt = True
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            write_rows(self._connection, fold.written, fold.revision)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            return self._failure(error)
        self._absorb(fold)
        self._held.remember()
        self._in_doubt = False
        return None

    def _failure(self, error: sqlite3.Error) -> Refused | Unknown:
        """A refusal where SQLite is sure that nothing landed and has rolled back; else unknown."""
        refusal = _REFUSALS.get(primary_code(error))
        if refusal is None or not self._rolled_back():
            return Unknown(f"The commit failed half-way: {error}.")
        self._in_doubt = False
        reason, sentence = refusal
        return Refused(reason, (), f"{sentence} ({error}).")

    def _rolled_back(self) -> bool:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            return False
        return True

    def _absorb(self, fold: Fold) -> None:
        self.revision = fold.revision
        versions = self._known_versions()
        for key, record in fold.written.items():
            if record is None:
                versions.pop(key, None)
            else:
                versions[key] = record.version

    def _known_versions(self) -> dict[Key, int]:
        if self._versions is None:
            self._versions = read_versions(self._connection)
        return self._versions

    def _settle_doubt(self) -> None:
        """After a commit that failed half-way: learn what landed, and make it durable, before anything is built on it.

        The log may hold a whole commit that this connection gave up and the next start would find, and pages whose
        sync failed: so a new connection recovers the log and copies all of it into the database, synced.
        """
        if not self._in_doubt:
            return
        self._versions = None
        self.close()
        self._connection = connect(self.place, self._busy_s)
        move_log_into_database(self._connection)
        self.revision = read_meta(self._connection, self.place).revision
        self._held = HeldFiles(self.place)
        self._in_doubt = False
