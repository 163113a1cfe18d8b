"""Opening a file of facts: what is made, who may, and the sentence for every file that can't be opened."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.runtime.links.errors import (
    FactsCorrupt,
    FactsError,
    FactsInUse,
    FactsNewer,
    FactsOfOtherCluster,
    FactsUnreachable,
)
from provisioner.runtime.links.link import Batch, Committed, Put
from provisioner.runtime.links.places import unreachable
from provisioner.runtime.links.sqlite import open_sqlite
from provisioner.runtime.links.sqlite_file import SCHEMA, connect_sound, make_if_missing
from provisioner.runtime.links.sqlite_writer import Patience
from tests.house.sources import ROOT


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "facts.db"


async def make_facts(place: Path, records: int = 0) -> str:
    """Facts of cluster clu-a, closed again; returns their lineage."""
    link = await open_sqlite(place, "clu-a", "prov-1")
    for n in range(records):
        assert isinstance(await link.commit(Batch((Put("a", f"{n:04d}", b"x" * 300),))), Committed)
    await link.close()
    return link.lineage


async def refusal(place: Path, kind: type[FactsError]) -> FactsError:
    with pytest.raises(kind) as caught:
        await open_sqlite(place, "clu-a", "prov-2")
    return caught.value


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def words_of_owner(place: Path) -> dict[str, object]:
    words: dict[str, object] = json.loads(place.with_name("facts.db.owner").read_text())
    return words


def contents(place: Path) -> bytes:
    return place.read_bytes()


def write(place: Path, content: bytes) -> None:
    place.write_bytes(content)


NOBODY = 65534
OPEN_AS_NOBODY = f"""
import os, sys
from pathlib import Path
import trio
from provisioner.runtime.links.errors import FactsUnreachable
from provisioner.runtime.links.sqlite import open_sqlite

async def open_and_close():
    await (await open_sqlite(Path(sys.argv[1]), "clu-a", "prov-2")).close()

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
try:
    trio.run(open_and_close)
except* FactsUnreachable as refusals:
    print(*refusals.exceptions)
"""


@contextlib.contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """A folder that a user without rights of root owns and can get at, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="facts-"))
    give_to_nobody(folder)
    try:
        yield folder
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)


def give_to_nobody(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)


def opened_by_nobody(place: Path) -> str:
    """What a process that may not do everything is told when it opens these facts; empty if it could."""
    command = [sys.executable, "-c", OPEN_AS_NOBODY, str(place)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.strip()


def change(place: Path, statement: str, *values: object) -> None:
    with contextlib.closing(sqlite3.connect(place)) as connection, connection:
        connection.execute(statement, values)


async def test_the_file_is_ours_alone_and_so_is_a_folder_made_for_it(tmp_path: Path) -> None:
    place = tmp_path / "made" / "facts.db"
    link = await open_sqlite(place, "clu-a", "prov-1")
    await link.commit(Batch((Put("a", "1", b"x"),)))
    modes = modes_in(place.parent)
    await link.close()
    assert modes_in(tmp_path) == {"made": 0o700}
    assert modes == dict.fromkeys(["facts.db", "facts.db-wal", "facts.db-shm", "facts.db.owner"], 0o600)


async def test_facts_keep_their_lineage_and_revision_and_fresh_ones_have_another(tmp_path: Path) -> None:
    lineage = await make_facts(tmp_path / "one.db", records=3)
    again = await open_sqlite(tmp_path / "one.db", "clu-a", "prov-1")
    loaded = await again.load()
    await again.close()
    assert again.lineage == lineage
    assert (len(loaded.records), loaded.revision) == (3, 3)
    assert await make_facts(tmp_path / "two.db") != lineage


def test_every_commit_is_synced_to_the_disk(place: Path) -> None:
    make_if_missing(place, "clu-a")
    with contextlib.closing(connect_sound(place, 1)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


async def test_a_second_owner_is_told_who_the_first_is_and_what_to_do(place: Path) -> None:
    link = await open_sqlite(place, "clu-a", "prov-1")
    error = await refusal(place, FactsInUse)
    words = words_of_owner(place)
    await link.close()
    assert f"in use by prov-1 (process {os.getpid()} on {words['host']}, cluster clu-a) since 2" in error.sentence
    assert "Stop that daemon first" in error.remedy
    assert str(place) in str(error)
    assert set(words) == {"pid", "started_at", "host", "cluster", "owner"}


async def test_an_owner_whose_words_are_garbled_still_keeps_others_out(place: Path) -> None:
    link = await open_sqlite(place, "clu-a", "prov-1")
    write(place.with_name("facts.db.owner"), b'{"pid": "none"')
    error = await refusal(place, FactsInUse)
    await link.close()
    assert "has not said who it is" in error.sentence


async def test_a_symbolic_link_to_facts_in_use_is_in_use_as_well(place: Path, tmp_path: Path) -> None:
    link = await open_sqlite(place, "clu-a", "prov-1")
    alias = tmp_path / "alias.db"
    os.symlink(place, alias)
    await refusal(alias, FactsInUse)
    await link.close()


async def test_facts_are_free_again_after_a_close_and_after_a_failed_open(place: Path) -> None:
    await make_facts(place)
    with pytest.raises(FactsOfOtherCluster):
        await open_sqlite(place, "clu-b", "prov-1")
    await make_facts(place)


async def test_facts_of_another_cluster_are_refused_with_both_names(place: Path) -> None:
    await make_facts(place)
    with pytest.raises(FactsOfOtherCluster) as caught:
        await open_sqlite(place, "clu-b", "prov-1")
    assert "'clu-a'" in caught.value.sentence
    assert "'clu-b'" in caught.value.sentence


async def test_facts_of_a_newer_schema_are_refused_and_not_touched(place: Path) -> None:
    await make_facts(place)
    change(place, "UPDATE meta SET value = ? WHERE key = 'schema'", SCHEMA + 1)
    before = contents(place)
    error = await refusal(place, FactsNewer)
    assert f"schema {SCHEMA + 1}" in error.sentence
    assert "newer release" in error.remedy
    assert contents(place) == before


async def test_a_damaged_page_is_found_before_anything_is_done(place: Path) -> None:
    await make_facts(place, records=100)
    page = 4096
    content = bytearray(contents(place))
    assert len(content) > 6 * page
    for at in range(4 * page, 4 * page + 64):
        content[at] ^= 0xFF
    write(place, bytes(content))
    error = await refusal(place, FactsCorrupt)
    assert "damaged" in error.sentence
    assert "restore the latest backup" in error.remedy


async def test_a_file_cut_short_is_found(place: Path) -> None:
    await make_facts(place, records=100)
    os.truncate(place, 4096 * 4)
    assert "damaged" in (await refusal(place, FactsCorrupt)).sentence


@pytest.mark.parametrize("content", [b"", b"SQLite", b"cluster: clu-a\n" * 1000], ids=["empty", "short", "text"])
async def test_a_file_that_is_no_database_is_refused_and_kept(place: Path, content: bytes) -> None:
    write(place, content)
    assert "no database of facts" in (await refusal(place, FactsCorrupt)).sentence
    assert contents(place) == content


async def test_a_database_of_something_else_is_refused_and_kept(place: Path) -> None:
    change(place, "CREATE TABLE songs (name TEXT)")
    before = contents(place)
    assert "holds no facts" in (await refusal(place, FactsCorrupt)).sentence
    assert contents(place) == before


async def test_facts_that_do_not_say_whose_they_are_are_refused(place: Path) -> None:
    await make_facts(place)
    change(place, "DELETE FROM meta WHERE key = 'lineage'")
    assert "lacks" in (await refusal(place, FactsCorrupt)).sentence


async def test_a_log_without_its_database_is_not_taken_into_fresh_facts(place: Path) -> None:
    write(place.with_name("facts.db-wal"), b"x" * 100)
    error = await refusal(place, FactsCorrupt)
    assert "facts.db-wal" in error.sentence
    assert "facts.db" not in modes_in(place.parent)


async def test_what_a_start_that_was_killed_half_way_left_is_made_anew(place: Path) -> None:
    write(place.with_name("facts.db.new"), b"half")
    write(place.with_name("facts.db.new-wal"), b"half")
    await make_facts(place)
    assert set(modes_in(place.parent)) == {"facts.db", "facts.db.owner"}


async def test_a_missing_folder_above_the_last_is_not_made(tmp_path: Path) -> None:
    error = await refusal(tmp_path / "no-disk" / "provisioner" / "facts.db", FactsUnreachable)
    assert "No such file or directory" in error.sentence
    assert "mount its disk" in error.remedy
    assert modes_in(tmp_path) == {}


async def test_symbolic_links_in_a_circle_are_refused(place: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "other.db", place)
    os.symlink(place, tmp_path / "other.db")
    assert "circle" in (await refusal(place, FactsUnreachable)).remedy


async def test_a_symbolic_link_to_nowhere_makes_no_fresh_facts(place: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "unmounted" / "facts.db", place)
    assert "mount its disk" in (await refusal(place, FactsUnreachable)).remedy


async def test_a_symbolic_link_in_place_of_the_side_file_is_refused(place: Path, tmp_path: Path) -> None:
    os.symlink(tmp_path / "lock", place.with_name("facts.db.owner"))
    assert "symbolic links" in (await refusal(place, FactsUnreachable)).remedy


async def test_a_folder_in_place_of_the_file_is_refused(place: Path) -> None:
    os.mkdir(place)
    assert "name a file in it" in (await refusal(place, FactsUnreachable)).remedy


async def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "file", b"")
    assert "part of the path is a file" in (await refusal(tmp_path / "file" / "facts.db", FactsUnreachable)).remedy


async def test_a_pipe_in_place_of_the_side_file_is_an_error_and_no_endless_wait(place: Path) -> None:
    os.mkfifo(place.with_name("facts.db.owner"))
    assert "not an ordinary file" in (await refusal(place, FactsUnreachable)).sentence


@pytest.mark.parametrize("read_only", ["facts.db", "facts.db.owner", "."])
def test_what_one_may_only_read_is_refused(read_only: str) -> None:
    with folder_of_nobody() as folder:
        assert opened_by_nobody(folder / "facts.db") == ""
        kept = folder / read_only
        kept.chmod(0o500)
        said = opened_by_nobody(folder / "facts.db")
        kept.chmod(0o700)
        assert "right to" in said
        assert str(folder / "facts.db") in said
        assert opened_by_nobody(folder / "facts.db") == ""


def test_facts_are_not_made_in_a_folder_one_may_not_write() -> None:
    with folder_of_nobody() as folder:
        folder.chmod(0o500)
        assert "right to read and write the file and its folder" in opened_by_nobody(folder / "facts.db")
        assert modes_in(folder) == {}


async def test_facts_that_another_program_keeps_from_being_written_are_refused(place: Path) -> None:
    await make_facts(place)
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(FactsUnreachable, match="locked by another program"):
            await open_sqlite(place, "clu-a", "prov-2", Patience(busy_s=0.05))
    await make_facts(place)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EROFS, "mounted read-only"),
        (errno.EACCES, "right to read and write"),
        (errno.ENOSPC, "make room"),
        (errno.EDQUOT, "quota"),
        (errno.EIO, "Check"),
    ],
)
def test_each_word_of_the_operating_system_has_its_remedy(number: int, words: str) -> None:
    error = unreachable(Path("/facts.db"), OSError(number, os.strerror(number)))
    assert words.lower() in error.remedy.lower()
    assert os.strerror(number) in error.sentence
