"""Which outcome a commit to SQLite comes to when something is in its way, and that the link stays usable after it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import trio

from provisioner.runtime.links.errors import FactsSilent
from provisioner.runtime.links.link import Batch, Committed, Loaded, Outcome, Put, Record, Refused, Unknown
from provisioner.runtime.links.sqlite import MOST_WAITING, SqliteLink, open_sqlite
from provisioner.runtime.links.sqlite_file import connect_sound, make_if_missing
from provisioner.runtime.links.sqlite_store import SqliteStore
from provisioner.runtime.links.sqlite_writer import Patience


def put(id_: str, value: bytes = b"x", expect: int | None = 0) -> Batch:
    return Batch((Put("a", id_, value, expect),))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "facts.db"


@contextlib.contextmanager
def store_over(place: Path) -> Iterator[tuple[SqliteStore, sqlite3.Connection]]:
    make_if_missing(place, "clu-a")
    connection = connect_sound(place, 0.05)
    store = SqliteStore(place, connection, 0, 0.05)
    try:
        yield store, connection
    finally:
        store.close()


@contextlib.contextmanager
def locked_by_another(place: Path) -> Iterator[None]:
    """Another program in the middle of a write."""
    with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


@contextlib.asynccontextmanager
async def link_to(place: Path, patience: Patience) -> AsyncIterator[SqliteLink]:
    link = await open_sqlite(place, "clu-a", "prov-1", patience)
    try:
        yield link
    finally:
        await link.close()


async def load_once_it_answers(link: SqliteLink) -> Loaded:
    while True:
        with contextlib.suppress(FactsSilent):
            return await link.load()


def test_a_full_disk_refuses_what_does_not_fit_and_commits_the_rest_of_its_group(place: Path) -> None:
    with store_over(place) as (store, connection):
        connection.execute("PRAGMA max_page_count = 20")
        result = store.commit([put("small-1"), put("big", b"x" * 500_000), put("small-2"), put("small-1")])
        reasons = [outcome.reason if isinstance(outcome, Refused) else "" for outcome in result.outcomes]
        assert reasons == ["", "disk_full", "", "conflict"]
        assert [record.id for record in store.load().records] == ["small-1", "small-2"]
        connection.execute("PRAGMA max_page_count = 1000000")
        assert store.commit([put("big", b"x" * 500_000)]).outcomes == [Committed(3)]


def test_a_read_only_file_refuses_and_says_so(place: Path) -> None:
    with store_over(place) as (store, connection):
        connection.execute("PRAGMA query_only = 1")
        (outcome,) = store.commit([put("1")]).outcomes
        assert isinstance(outcome, Refused)
        assert outcome.reason == "read_only"
        connection.execute("PRAGMA query_only = 0")
        assert store.commit([put("1")]).outcomes == [Committed(1)]


def test_a_file_locked_by_another_program_refuses_the_whole_group(place: Path) -> None:
    with store_over(place) as (store, _):
        with locked_by_another(place):
            result = store.commit([put("1"), put("2")])
        assert [outcome.reason for outcome in result.outcomes if isinstance(outcome, Refused)] == ["locked", "locked"]
        assert store.commit([put("1"), put("2")]).outcomes == [Committed(1), Committed(2)]


def test_a_load_after_a_refused_group_shows_only_what_was_acknowledged(place: Path) -> None:
    with store_over(place) as (store, _):
        store.commit([put("1")])
        with locked_by_another(place):
            store.commit([put("2")])
        assert store.load().records == [Record("a", "1", 1, b"x")]
        assert store.load().revision == 1


async def test_a_disk_that_does_not_answer_in_time_leaves_the_outcome_unknown(place: Path) -> None:
    async with link_to(place, Patience(busy_s=20, commit_s=0.05, load_s=0.05, look_every_s=0.01)) as link:
        with locked_by_another(place), trio.fail_after(10):
            outcome = await link.commit(put("1"))
            assert isinstance(outcome, Unknown)
            assert outcome.detail == "The disk that holds the facts does not answer."
            with pytest.raises(FactsSilent, match="does not answer"):
                await link.load()
        with trio.fail_after(10):
            loaded = await load_once_it_answers(link)
            landed = [record.id for record in loaded.records]
            assert (landed, loaded.revision) == (["1"], 1)
            assert await link.commit(put("2")) == Committed(2)


async def test_commits_that_wait_when_the_link_is_closed_are_refused_as_closed(place: Path) -> None:
    outcomes: dict[str, Outcome] = {}
    async with link_to(place, Patience(busy_s=0.3)) as link:

        async def commit(id_: str) -> None:
            outcomes[id_] = await link.commit(put(id_))

        with locked_by_another(place):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(commit, "begun")
                await trio.testing.wait_all_tasks_blocked(0.05)
                for n in range(20):
                    nursery.start_soon(commit, f"waits-{n}")
                await trio.testing.wait_all_tasks_blocked()
                await link.close()
    begun = outcomes.pop("begun")
    assert isinstance(begun, Refused)
    assert begun.reason == "locked"
    assert len(outcomes) == 20
    assert {outcome.reason if isinstance(outcome, Refused) else "" for outcome in outcomes.values()} == {"closed"}


async def test_a_commit_cancelled_while_it_waits_leaves_the_link_sane(place: Path) -> None:
    async with link_to(place, Patience(busy_s=10)) as link:
        with locked_by_another(place):
            async with trio.open_nursery() as nursery:
                for n in range(10):
                    nursery.start_soon(link.commit, put(f"left-{n}"))
                await trio.testing.wait_all_tasks_blocked(0.05)
                nursery.cancel_scope.cancel()
        with trio.fail_after(10):
            loaded = await link.load()
            outcome = await link.commit(put("after"))
        # Those the writer had begun have landed, though nobody was told.
        assert len(loaded.records) == loaded.revision
        assert outcome == Committed(loaded.revision + 1)


async def test_more_commits_than_the_queue_holds_wait_for_room_and_all_land(place: Path) -> None:
    async with link_to(place, Patience()) as link:
        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for n in range(MOST_WAITING + 500):
                    nursery.start_soon(link.commit, put(str(n)))
            assert len((await link.load()).records) == MOST_WAITING + 500


async def test_commits_without_room_are_refused_when_the_disk_does_not_answer(place: Path) -> None:
    outcomes: list[Outcome] = []
    async with link_to(place, Patience(busy_s=20, commit_s=0.05, look_every_s=0.01)) as link:

        async def commit(batch: Batch) -> None:
            outcomes.append(await link.commit(batch))

        with locked_by_another(place), trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for n in range(80):
                    nursery.start_soon(commit, put(str(n), b"x" * 1_000_000))
    unknown = [outcome for outcome in outcomes if isinstance(outcome, Unknown)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refused)]
    assert len(unknown) == 67  # as many as 64 MiB hold
    assert {outcome.reason for outcome in refused} == {"locked"}
    assert len(refused) == 13
