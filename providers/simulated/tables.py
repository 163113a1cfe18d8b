"""The file in which the simulated cloud keeps its books: tables, how they are opened, what one transaction is.

Knows SQLite; must not know what a purchase or a give-back means. A crash at any moment leaves the last whole
transaction.
"""

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_NAME = "cloud.db"
_BUSY_MS = 10_000  # two providers may share one cloud; each transaction takes milliseconds

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS orders (
    token TEXT PRIMARY KEY,
    cluster TEXT NOT NULL, provider TEXT NOT NULL, request_id TEXT NOT NULL,
    content TEXT NOT NULL,
    mark TEXT NOT NULL,
    terms TEXT NOT NULL,
    units INTEGER NOT NULL,
    asked_ms INTEGER NOT NULL,
    closes_ms INTEGER NOT NULL,
    lie TEXT,
    cancelled INTEGER NOT NULL DEFAULT 0,
    shortfalls TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS instances (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    instance TEXT NOT NULL UNIQUE,
    token TEXT NOT NULL REFERENCES orders,
    cluster TEXT NOT NULL, provider TEXT NOT NULL,
    template TEXT NOT NULL, kind TEXT NOT NULL,
    name TEXT NOT NULL, address TEXT NOT NULL,
    units INTEGER NOT NULL,
    units_left INTEGER NOT NULL,
    requested_ms INTEGER NOT NULL, made_ms INTEGER NOT NULL, ready_ms INTEGER NOT NULL,
    boot_fails INTEGER NOT NULL, first_of_order INTEGER NOT NULL,
    notice_ms INTEGER NOT NULL, reclaim_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    gone_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS instances_by_token ON instances (token);
CREATE INDEX IF NOT EXISTS instances_by_end ON instances (gone_ms, kind, template, units_left);
CREATE INDEX IF NOT EXISTS instances_by_ready ON instances (ready_ms);
CREATE INDEX IF NOT EXISTS instances_by_made ON instances (made_ms);
CREATE INDEX IF NOT EXISTS instances_by_notice ON instances (notice_ms);
CREATE TABLE IF NOT EXISTS releases (
    seq INTEGER NOT NULL REFERENCES instances,
    units INTEGER NOT NULL, accepted_ms INTEGER NOT NULL, gone_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS releases_by_instance ON releases (seq);
CREATE INDEX IF NOT EXISTS releases_by_end ON releases (gone_ms);
CREATE TABLE IF NOT EXISTS give_backs (
    cluster TEXT NOT NULL, provider TEXT NOT NULL, return_id TEXT NOT NULL,
    instance TEXT NOT NULL, keep INTEGER NOT NULL,
    PRIMARY KEY (cluster, provider, return_id, instance)
) STRICT, WITHOUT ROWID;
"""

THINGS = "SELECT i.*, o.terms, o.mark FROM instances i JOIN orders o USING (token)"
"""What a thing is read from; a condition and an order follow."""


def find_file(path: Path) -> Path | None:
    """Return the books under a provider's state folder, a cloud's folder, or the file itself; None without any."""
    for candidate in (path, path / FILE_NAME, path / "cloud" / FILE_NAME):
        if candidate.is_file():
            return candidate
    return None


def open_books(folder: Path) -> sqlite3.Connection:
    """Open the books in this folder, made if absent; usable from any thread, one at a time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _prepared(sqlite3.connect(folder / FILE_NAME, isolation_level=None, check_same_thread=False))


def open_scratch() -> sqlite3.Connection:
    """Open books that are kept nowhere."""
    return _prepared(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))


def open_for_reading(file: Path) -> sqlite3.Connection:
    """Open existing books without the right to change them; other processes may be writing."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=_BUSY_MS / 1000)
    connection.execute("PRAGMA query_only = ON")
    connection.row_factory = sqlite3.Row
    return connection


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.executescript(_SCHEMA)
    with writing(connection):
        # A cloud's own random tag is part of every id: a cloud made anew never gives an old id again (IN-1).
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('tag', ?)", (secrets.token_hex(4),))
    return connection


def cloud_tag(connection: sqlite3.Connection) -> str:
    """Return the eight hexadecimal digits that tell this cloud from every other."""
    return str(connection.execute("SELECT value FROM meta WHERE key = 'tag'").fetchone()[0])


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that is the only writer; durable when the block ends, undone if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
