"""A file of facts that is removed, replaced or cut while it is in use takes no more commits, until it is put back."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from provisioner.runtime.links.link import Batch, Committed, Put, Record, Refused
from provisioner.runtime.links.sqlite import SqliteLink, open_sqlite

ENDINGS = ["", "-wal"]


@contextlib.asynccontextmanager
async def link_with_a_fact(place: Path) -> AsyncIterator[SqliteLink]:
    link = await open_sqlite(place, "clu-a", "prov-1")
    try:
        assert isinstance(await link.commit(fact("first")), Committed)
        yield link
    finally:
        await link.close()


def fact(id_: str) -> Batch:
    return Batch((Put("a", id_, b"x", 0),))


async def refused(link: SqliteLink, id_: str) -> str:
    """The sentence of a commit that must be refused as not writable."""
    answer = await link.commit(fact(id_))
    assert isinstance(answer, Refused), answer
    assert answer.reason == "read_only"
    return answer.detail


@pytest.mark.parametrize("ending", ENDINGS)
async def test_what_was_moved_away_is_missed_until_it_is_put_back(tmp_path: Path, ending: str) -> None:
    file, aside = tmp_path / f"facts.db{ending}", tmp_path / "aside"
    async with link_with_a_fact(tmp_path / "facts.db") as link:
        file.rename(aside)
        sentence = await refused(link, "second")
        assert f"{file} was removed while it was in use" in sentence
        aside.rename(file)
        assert isinstance(await link.commit(fact("third")), Committed)
    assert [id_ for _, id_, _, _ in await facts_in(tmp_path / "facts.db")] == ["first", "third"]


@pytest.mark.parametrize("ending", ENDINGS)
async def test_another_file_in_its_place_is_told_apart_though_its_bytes_are_the_same(
    tmp_path: Path, ending: str
) -> None:
    file, copy = tmp_path / f"facts.db{ending}", tmp_path / "copy"
    async with link_with_a_fact(tmp_path / "facts.db") as link:
        shutil.copy(file, copy)
        copy.rename(file)
        assert f"{file} was replaced while it was in use" in await refused(link, "second")


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_file_that_was_cut_takes_no_more_facts(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"facts.db{ending}"
    async with link_with_a_fact(tmp_path / "facts.db") as link:
        os.truncate(file, 100)
        assert f"{file} was cut from" in await refused(link, "second")
        assert f"{file} was cut from" in await refused(link, "second")


async def facts_in(place: Path) -> list[Record]:
    """Every record, read by another link."""
    link = await open_sqlite(place, "clu-a", "prov-1")
    try:
        return (await link.load()).records
    finally:
        await link.close()
