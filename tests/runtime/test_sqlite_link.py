"""What every link promises, shown on the one over SQLite and on the one in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from provisioner.runtime.links.errors import FactsUnreachable
from provisioner.runtime.links.fold import weigh
from provisioner.runtime.links.link import (
    Batch,
    Bounds,
    Change,
    Committed,
    Conflict,
    Delete,
    Guard,
    Lagged,
    Link,
    Operation,
    Outcome,
    Put,
    Record,
    Refused,
)
from provisioner.runtime.links.memory import MemoryLink
from provisioner.runtime.links.recent import MOST_CHANGES
from provisioner.runtime.links.sqlite import open_sqlite


@pytest.fixture(params=["sqlite", "memory"])
async def link(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Link]:
    made: Link
    if request.param == "sqlite":
        made = await open_sqlite(tmp_path / "facts.db", "clu-a", "prov-1")
    else:
        made = MemoryLink("clu-a", "l-0a1b")
    yield made
    await made.close()


async def commit(link: Link, *operations: Operation) -> Outcome:
    with trio.fail_after(10):
        return await link.commit(Batch(operations))


async def revision_of(link: Link, *operations: Operation) -> int:
    outcome = await commit(link, *operations)
    assert isinstance(outcome, Committed), outcome
    return outcome.revision


async def collect(watch: AsyncIterator[Change | Lagged], n: int) -> list[Change | Lagged]:
    with trio.fail_after(10):
        return [await anext(watch) for _ in range(n)]


async def test_a_link_names_its_cluster_and_lineage(link: Link) -> None:
    assert link.cluster == "clu-a"
    assert link.lineage.startswith("l-")


async def test_fresh_facts_are_empty_at_revision_0(link: Link) -> None:
    loaded = await link.load()
    assert (loaded.records, loaded.revision) == ([], 0)


async def test_what_was_put_is_loaded_in_the_order_of_kind_and_id(link: Link) -> None:
    revision = await revision_of(link, Put("b", "1", b"x", 0), Put("a", "2", b"", 0), Put("a", "1", b"\x00\xff"))
    loaded = await link.load()
    assert loaded.revision == revision == 1
    assert loaded.records == [Record("a", "1", 1, b"\x00\xff"), Record("a", "2", 1, b""), Record("b", "1", 1, b"x")]


async def test_every_put_has_the_revision_of_its_commit_as_version(link: Link) -> None:
    first = await revision_of(link, Put("a", "1", b"x", 0))
    second = await revision_of(link, Put("a", "2", b"y", 0))
    third = await revision_of(link, Put("a", "1", b"z", first))
    assert first < second < third
    assert {record.id: record.version for record in (await link.load()).records} == {"1": third, "2": second}


@pytest.mark.parametrize(
    "operation",
    [Put("a", "1", b"new", 0), Put("a", "1", b"new", 7), Delete("a", "1", 7), Delete("a", "1", 0), Guard("a", "1", 0)],
    ids=repr,
)
async def test_a_failed_guard_refuses_and_names_the_version_found(link: Link, operation: Operation) -> None:
    revision = await revision_of(link, Put("a", "1", b"old", 0))
    outcome = await commit(link, operation)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "conflict"
    assert outcome.conflicts == (Conflict("a", "1", operation.expect or 0, revision),)
    assert outcome.detail == f"a/1 is at version {revision}, not {operation.expect}."
    assert (await link.load()).records == [Record("a", "1", revision, b"old")]


async def test_one_failed_guard_keeps_the_whole_batch_from_landing(link: Link) -> None:
    outcome = await commit(link, Put("a", "1", b"x", 0), Delete("a", "9", 3), Guard("a", "8", 4))
    assert isinstance(outcome, Refused)
    assert outcome.conflicts == (Conflict("a", "9", 3, 0), Conflict("a", "8", 4, 0))
    assert (await link.load()).records == []


async def test_guards_see_the_state_before_their_batch(link: Link) -> None:
    assert await commit(link, Put("a", "1", b"x", 0), Guard("a", "1", 0)) == Committed(1)


async def test_a_batch_of_guards_alone_moves_no_revision(link: Link) -> None:
    revision = await revision_of(link, Put("a", "1", b"x"))
    assert await commit(link, Guard("a", "1", revision), Guard("a", "2", 0)) == Committed(revision)


async def test_removing_what_is_absent_moves_no_revision(link: Link) -> None:
    revision = await revision_of(link, Put("a", "1", b"x"))
    assert await commit(link, Delete("a", "2"), Delete("a", "3", 0)) == Committed(revision)


async def test_what_was_removed_is_absent_and_may_be_made_again(link: Link) -> None:
    made = await revision_of(link, Put("a", "1", b"x", 0))
    removed = await revision_of(link, Delete("a", "1", made))
    assert ((await link.load()).records, (await link.load()).revision) == ([], removed)
    again = await revision_of(link, Put("a", "1", b"y", 0))
    assert made < removed < again


async def test_two_writes_to_one_key_in_a_batch_are_a_bug(link: Link) -> None:
    with pytest.raises(ValueError, match="writes a/1 twice"):
        await commit(link, Put("a", "1", b"x"), Delete("a", "1"))


async def test_text_that_cannot_be_encoded_is_a_bug_met_where_it_is_made(link: Link) -> None:
    with pytest.raises(UnicodeEncodeError):
        await commit(link, Put("a", "\ud800", b"x"))
    assert await commit(link, Put("a", "ü€𝄞", b"x")) == Committed(1)


def test_a_batch_of_too_many_operations_is_refused() -> None:
    fits = tuple(Put("a", str(n), b"x", 0) for n in range(3))
    assert weigh(Batch(fits), Bounds(operations=3, bytes=100)) == 9
    outcome = weigh(Batch((*fits, Put("a", "more", b"x"))), Bounds(operations=3, bytes=100))
    assert isinstance(outcome, Refused)
    assert outcome.reason == "too_large"


def test_a_batch_of_too_many_bytes_is_refused() -> None:
    bounds = Bounds(operations=3, bytes=100)
    outcome = weigh(Batch((Put("a", "1", b"x" * 99),)), bounds)
    assert isinstance(outcome, Refused)
    assert outcome.reason == "too_large"
    assert weigh(Batch((Put("a", "1", b"x" * 98),)), bounds) == 100


async def test_of_many_who_create_one_record_at_once_exactly_one_wins_and_others_are_not_disturbed(link: Link) -> None:
    outcomes: dict[str, Outcome] = {}

    async def create(writer: int) -> None:
        outcomes[f"shared-{writer}"] = await commit(link, Put("a", "shared", b"%d" % writer, 0))

    async def create_own(writer: int) -> None:
        outcomes[f"own-{writer}"] = await commit(link, Put("b", str(writer), b"x", 0))

    async with trio.open_nursery() as nursery:
        for writer in range(50):
            nursery.start_soon(create, writer)
            nursery.start_soon(create_own, writer)
    winners = [name for name, outcome in outcomes.items() if name[0] == "s" and isinstance(outcome, Committed)]
    losers = [outcome for name, outcome in outcomes.items() if name[0] == "s" and isinstance(outcome, Refused)]
    assert len(winners) == 1
    assert {outcome.reason for outcome in losers} == {"conflict"}
    assert all(isinstance(outcome, Committed) for name, outcome in outcomes.items() if name[0] == "o")
    loaded = await link.load()
    assert loaded.revision == 51
    assert {record.value for record in loaded.records if record.kind == "a"} == {
        winners[0].removeprefix("shared-").encode()
    }


async def test_a_watch_gives_every_change_after_a_load_once_and_in_order(link: Link) -> None:
    first = await revision_of(link, Put("a", "1", b"x"), Put("a", "2", b"y"))
    loaded = await link.load()
    second = await revision_of(link, Put("a", "1", b"z"), Delete("a", "2"))
    watch = await link.watch(loaded.revision)
    third = await revision_of(link, Put("a", "3", b"w"))
    assert loaded.revision == first
    assert await collect(watch, 2) == [
        Change(second, (Record("a", "1", second, b"z"),), (("a", "2"),)),
        Change(third, (Record("a", "3", third, b"w"),), ()),
    ]


async def test_a_watch_waits_for_what_comes_and_does_not_see_what_was_refused(link: Link) -> None:
    watch = await link.watch(0)
    seen: list[Change | Lagged] = []

    async def see() -> None:
        seen.extend(await collect(watch, 2))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(see)
        await commit(link, Put("a", "1", b"x", 0))
        await commit(link, Put("a", "1", b"no", 0))
        await commit(link, Guard("a", "1", 1))
        await commit(link, Put("a", "1", b"y", 1))
    assert [change.puts[0].value for change in seen if isinstance(change, Change)] == [b"x", b"y"]


async def test_a_watch_too_slow_is_told_that_it_lagged_and_ends(link: Link) -> None:
    watch = await link.watch(0)
    await commit(link, Put("a", "1", b"x"))
    assert isinstance((await collect(watch, 1))[0], Change)
    async with trio.open_nursery() as nursery:
        for n in range(2 * MOST_CHANGES):
            nursery.start_soon(commit, link, Put("a", str(n), b"y"))
    assert [word async for word in watch] == [Lagged(1)]


@pytest.mark.parametrize("revision", [-1, 5])
async def test_a_watch_from_a_revision_that_is_not_known_has_lagged(link: Link, revision: int) -> None:
    watch = await link.watch(revision)
    assert [word async for word in watch] == [Lagged(revision)]


async def test_a_close_ends_the_watches_and_refuses_all_later_calls(link: Link) -> None:
    await commit(link, Put("a", "1", b"x"))
    watch = await link.watch(1)
    ended = trio.Event()

    async def see() -> None:
        assert [word async for word in watch] == []
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(see)
        await trio.testing.wait_all_tasks_blocked()
        await link.close()
    assert ended.is_set()
    outcome = await commit(link, Put("a", "2", b"x"))
    assert isinstance(outcome, Refused)
    assert outcome.reason == "closed"
    with pytest.raises(FactsUnreachable, match="closed"):
        await link.load()
    await link.close()


@pytest.mark.parametrize(
    "call", [lambda link: link.load(), lambda link: link.commit(Batch(())), lambda link: link.watch(0)]
)
async def test_every_call_lets_others_run_and_may_be_cancelled(link: Link, call: Callable[[Link], Any]) -> None:
    with trio.testing.assert_checkpoints():
        await call(link)
    with trio.CancelScope() as scope:
        scope.cancel()
        await call(link)
    assert scope.cancelled_caught
