"""The SQLite file of facts: made, verified and opened, and its tables read and written.

Knows pragmas, tables and SQLite's errors. Must not know trio, threads or who waits for what; every function blocks.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from attrs import frozen

from provisioner.runtime.collection import no_collection
from provisioner.runtime.links.errors import (
    FactsCorrupt,
    FactsError,
    FactsNewer,
    FactsOfOtherCluster,
    FactsUnreachable,
)
from provisioner.runtime.links.held_files import KEPT_LOG_BYTES
from provisioner.runtime.links.link import Record
from provisioner.runtime.links.places import keep_folder, unreachable

SCHEMA = 1
BUSY_S = 5.0
_CHECKPOINT_PAGES = 4000
_FULL_CHECK_BYTES = 256 * 1024 * 1024
_ROWS_AT_ONCE = (64, 16, 4, 1)

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # With rowids: a new fact goes to the end and only its short key into the index, and a value stays in its page up to
    # 4 KB. Without them a group of new facts writes a page each, and every value over 1 KB takes a page of its own.
    "CREATE TABLE facts (kind TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, value BLOB NOT NULL,"
    " PRIMARY KEY (kind, id))",
)
_UPSERT = (
    "INSERT INTO facts (kind, id, version, value) VALUES ?rows"
    " ON CONFLICT (kind, id) DO UPDATE SET version = excluded.version, value = excluded.value"
)
# Many rows in one statement: each step lets go of the interpreter's lock, and getting it back from a busy loop
# may take a whole switch interval.
_PUT = {rows: _UPSERT.replace("?rows", ", ".join(["(?, ?, ?, ?)"] * rows)) for rows in _ROWS_AT_ONCE}
_DELETE = "DELETE FROM facts WHERE kind = ? AND id = ?"
_REVISION = "UPDATE meta SET value = ? WHERE key = 'revision'"


@frozen
class Meta:
    """What the facts say of themselves."""

    schema: int
    cluster: str
    lineage: str
    revision: int


def make_if_missing(place: Path, cluster: str) -> None:
    """Make a file (0600) of empty facts with a new lineage unless there is one; it appears whole or not at all.

    Raises FactsCorrupt if a write-ahead log lies there without its database, FactsUnreachable.
    """
    if place.exists():
        return
    log = _beside(place, "-wal")
    if log.exists():
        raise FactsCorrupt(
            str(place),
            f"The database is missing, but its log {log.name} is there: facts were moved or restored by half.",
            "Put the database back beside its log; only if these facts are truly given up, remove the log too.",
        )
    new = _beside(place, ".new")
    try:
        for rest in (new, _beside(new, "-wal"), _beside(new, "-shm"), _beside(new, "-journal")):
            rest.unlink(missing_ok=True)
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with reading_errors(new):
            _fill(new, cluster)
        new.rename(place)
        keep_folder(place.parent)
    except OSError as error:
        raise unreachable(place, error) from error


def _fill(new: Path, cluster: str) -> None:
    meta = {"schema": SCHEMA, "cluster": cluster, "lineage": f"l-{secrets.token_hex(8)}", "revision": 0}
    with contextlib.closing(connect(new)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            connection.execute(table)
        connection.executemany("INSERT INTO meta (key, value) VALUES (?, ?)", meta.items())
        connection.execute("COMMIT")
    # The last close has moved the log into the database and synced it.


def verify(place: Path, cluster: str) -> Meta:
    """Look at the facts without changing a byte.

    Raises FactsNewer, FactsOfOtherCluster, FactsCorrupt, FactsUnreachable.
    """
    try:
        # For writing too: beside a file it may only read SQLite would make a log that nobody may write, and leave it.
        with place.open("r+b") as file:
            head = file.read(16)
    except OSError as error:
        raise unreachable(place, error) from error
    if head != b"SQLite format 3\0":
        raise _corrupt(place, "This is no database of facts (its first bytes are not those of SQLite).")
    with reading_errors(place), contextlib.closing(_connect(place, "ro", BUSY_S)) as connection:
        meta = read_meta(connection, place)
    if meta.schema > SCHEMA:
        raise FactsNewer(
            str(place),
            f"These facts have schema {meta.schema}, this release knows up to {SCHEMA}. Nothing was touched.",
            "Start the newer release that wrote them, or restore a backup made before the upgrade.",
        )
    if meta.cluster != cluster:
        raise FactsOfOtherCluster(
            str(place),
            f"These facts belong to cluster {meta.cluster!r}, the configuration says {cluster!r}.",
            "Correct `cluster` or `controller.sqlite`: each cluster has its own file of facts.",
        )
    return meta


def read_meta(connection: sqlite3.Connection, place: Path) -> Meta:
    """Read what the facts say of themselves; raises FactsCorrupt if they do not."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "meta" not in tables:
        raise _corrupt(place, "This database holds no facts (it has no table `meta`).")
    rows = dict(connection.execute("SELECT key, value FROM meta"))
    match rows:
        case {"schema": int(schema), "cluster": str(cluster), "lineage": str(lineage), "revision": int(revision)}:
            return Meta(schema, cluster, lineage, revision)
        case _:
            raise _corrupt(place, "Its table `meta` lacks the schema, cluster, lineage or revision.")


def connect_sound(place: Path, busy_s: float) -> sqlite3.Connection:
    """Connect and have SQLite examine the file, all of it if it is not large, and see that it can be written.

    Raises FactsCorrupt, FactsUnreachable.
    """
    with reading_errors(place), contextlib.ExitStack() as undo:
        connection = connect(place, busy_s)
        undo.callback(connection.close)
        check = "integrity_check" if place.stat().st_size <= _FULL_CHECK_BYTES else "quick_check"
        (verdict,) = connection.execute(f"PRAGMA {check}(1)").fetchone()
        if verdict != "ok":
            raise _corrupt(place, f"The database is damaged: {' '.join(str(verdict).split())[:300]}.")
        # A file it may only read SQLite opens all the same, and lets a transaction begin: only a write tells.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE meta SET value = value WHERE key = 'revision'")
        connection.execute("ROLLBACK")
        undo.pop_all()
    return connection


def connect(place: Path, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """Open the database for reading and writing, durable at each commit even through a power loss.

    Where another program holds it, each call waits up to `busy_s`; raises sqlite3.Error.
    """
    return _connect(place, "rw", busy_s)


def _connect(place: Path, mode: str, busy_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(place))}?mode={mode}",
        uri=True,
        timeout=busy_s,
        isolation_level=None,  # transactions are ours to begin and end
        check_same_thread=False,  # opened in one thread, then given to the writer for good
        cached_statements=32,
    )
    if mode == "rw":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA journal_size_limit = {KEPT_LOG_BYTES}")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def move_log_into_database(connection: sqlite3.Connection) -> None:
    """Write all that the log holds into the database, synced, and empty the log; raises sqlite3.Error."""
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise sqlite3.OperationalError("the log is in use by another process")


def read_all(connection: sqlite3.Connection) -> list[Record]:
    """Read every record, in the order of (kind, id)."""
    cursor = connection.cursor()
    cursor.row_factory = _record
    with no_collection():
        return cursor.execute("SELECT kind, id, version, value FROM facts ORDER BY kind, id").fetchall()


def read_versions(connection: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Read the version of every record, by (kind, id)."""
    with no_collection():
        rows = connection.execute("SELECT kind, id, version FROM facts").fetchall()
        return {(kind, id_): version for kind, id_, version in rows}


def _record(_cursor: sqlite3.Cursor, row: tuple[str, str, int, bytes]) -> Record:
    # Half the price of Record(*row), which matters a hundred thousand times.
    return tuple.__new__(Record, row)


def write_rows(connection: sqlite3.Connection, written: Mapping[tuple[str, str], Record | None], revision: int) -> None:
    """Put records, delete those that are None, set the revision; inside the transaction that is open."""
    puts = [record for record in written.values() if record is not None]
    at = 0
    for rows in _ROWS_AT_ONCE:
        while len(puts) - at >= rows:
            connection.execute(_PUT[rows], [field for put in puts[at : at + rows] for field in put])
            at += rows
    if len(puts) < len(written):
        connection.executemany(_DELETE, [key for key, record in written.items() if record is None])
    connection.execute(_REVISION, (revision,))


@contextlib.contextmanager
def reading_errors(place: Path) -> Iterator[None]:
    """Turn SQLite's errors while opening and reading into FactsError."""
    try:
        yield
    except sqlite3.Error as error:
        raise as_facts_error(place, error) from error


def as_facts_error(place: Path, error: sqlite3.Error) -> FactsError:
    """The error for people that stands for one of SQLite's, outside of a commit."""
    said = f"SQLite says: {error}."
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            remedy = "Close other programs that have it open, such as a sqlite3 shell or a backup."
            return FactsUnreachable(str(place), f"The database is locked by another program. {said}", remedy)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_AUTH:
            remedy = "Give the daemon's user the right to write the file, its -wal and -shm files and their folder."
            return FactsUnreachable(str(place), f"The database can't be opened for writing. {said}", remedy)
        case sqlite3.SQLITE_FULL:
            return FactsUnreachable(str(place), f"The disk is full. {said}", "Make room.")
        case sqlite3.SQLITE_IOERR:
            remedy = "Check the disk, then start again."
            return FactsUnreachable(str(place), f"The disk reports an error. {said}", remedy)
        case _:
            return _corrupt(place, f"The database is damaged. {said}")


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code of an error; SQLITE_ERROR if it carries none."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def _corrupt(place: Path, sentence: str) -> FactsCorrupt:
    return FactsCorrupt(
        str(place),
        sentence,
        "Keep a copy of it with its -wal file, then restore the latest backup; with a fresh file the daemon would"
        " not know what it has bought.",
    )


def _beside(place: Path, suffix: str) -> Path:
    return place.with_name(place.name + suffix)
