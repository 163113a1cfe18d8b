"""How many facts per second a hundred writers make durable through the SQLite link, against the disk's own floors.

Knows the link as its users do. Must not know tables. Nothing acknowledged may be missing when the facts are read again.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from provisioner.runtime.links.link import Batch, Committed, Link, Put
from provisioner.runtime.links.sqlite import open_sqlite
from tests.bench.facts_floor import RECORD_BYTES, Rate, drive, handed_floor, raw_floor
from tests.bench.measure import Bench, Effort, Measured, Row, median_ratio, median_text

NEW_TO_RAW = Row("facts.commit.ratio_to_fsync_floor", 0.5, "higher")
NEW_TO_HANDED = Row("facts.commit.ratio_to_handed_floor", 0.5, "higher")
AGAIN_TO_RAW = Row("facts.commit_again.ratio_to_fsync_floor", 0.5, "higher")

ROUNDS = 9
PART_S = 0.5
KIND = "decision"


class LostFacts(Exception):
    """What was acknowledged is not what is read after opening the facts again."""


class Book:
    """Writers over one link, and the version of every record that was acknowledged to them."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.versions: dict[str, int] = {}

    async def put(self, id_: str) -> None:
        """Commit one record, new or guarded by the version it had."""
        operation = Put(KIND, id_, secrets.token_bytes(RECORD_BYTES), self.versions.get(id_, 0))
        found = await self._link.commit(Batch((operation,)))
        if not isinstance(found, Committed):
            raise LostFacts(f"a commit of {id_} came to {found}")
        self.versions[id_] = found.revision

    async def put_new(self, _writer: int) -> None:
        """A fact that was not there before; its id lies anywhere among the others, as those of decisions do."""
        await self.put(f"dc-{secrets.token_hex(8)}")

    async def put_again(self, writer: int) -> None:
        """The next version of the writer's own fact."""
        await self.put(f"own-{writer:03d}")


def measure(folder: Path, effort: Effort) -> list[Measured]:
    """The three rows, from rounds of raw floor, new facts, handed floor and facts written again."""
    rates = trio.run(_rounds, folder, effort)
    raw, new, handed, again = ([rate.per_s for rate in rates[part]] for part in ("raw", "new", "handed", "again"))
    made, rewritten = (sum(rate.n for rate in rates[part]) for part in ("new", "again"))

    def said(subject: list[float], floor: list[float]) -> str:
        return f"{median_text(subject, 'commits/s')} ÷ {median_text(floor, 'commits/s')}"

    return [
        Measured(NEW_TO_RAW, median_ratio(new, raw), made, said(new, raw)),
        Measured(NEW_TO_HANDED, median_ratio(new, handed), made, said(new, handed)),
        Measured(AGAIN_TO_RAW, median_ratio(again, raw), rewritten, said(again, raw)),
    ]


async def _rounds(folder: Path, effort: Effort) -> dict[str, list[Rate]]:
    place, seconds = folder / "facts.db", 0.02 if effort.tiny else PART_S
    link = await open_sqlite(place, "bench", "bench")
    book = Book(link)
    parts: list[tuple[str, Callable[[], Awaitable[Rate]]]] = [
        ("raw", lambda: trio.to_thread.run_sync(raw_floor, folder, seconds)),
        ("new", lambda: drive(book.put_new, seconds)),
        ("handed", lambda: handed_floor(folder, seconds)),
        ("again", lambda: drive(book.put_again, seconds)),
    ]
    rates: dict[str, list[Rate]] = {name: [] for name, _ in parts}
    try:
        for turn in range(effort.rounds_or(ROUNDS)):
            # There and back, so that no part always comes after the same other one.
            for name, part in parts if turn % 2 == 0 else reversed(parts):
                rates[name].append(await part())
    finally:
        await link.close()
    await _compare(place, book.versions, sum(rate.n for name in ("new", "again") for rate in rates[name]))
    return rates


async def _compare(place: Path, acknowledged: dict[str, int], commits: int) -> None:
    """LostFacts unless every record, every version and the count of all commits are read again as acknowledged."""
    link = await open_sqlite(place, "bench", "bench")
    try:
        loaded = await link.load()
    finally:
        await link.close()
    found = {record.id: record.version for record in loaded.records}
    whole = all(len(record.value) == RECORD_BYTES for record in loaded.records)
    if found != acknowledged or loaded.revision != commits or not whole:
        raise LostFacts(
            f"{commits} commits left {len(acknowledged)} records, read again: {len(found)} at {loaded.revision}"
        )


BENCH = Bench((NEW_TO_RAW, NEW_TO_HANDED, AGAIN_TO_RAW), measure)
