"""What the cloud's books hold, as values: accounts, orders, things; and how a row of a table becomes one.

Knows the columns; must not know when rows are read or written.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from attrs import frozen

from providers.simulated.lives import Life, Release
from providers.simulated.offers import Terms, terms_from_text
from providers.simulated.plan import Shortfall, Wrong


@frozen
class Account:
    """Whose things they are: what the marks of one provider entry of one cluster have in common."""

    cluster: str
    provider: str


@frozen
class Thing:
    """One instance as the cloud knows it."""

    seq: int
    instance: str
    token: str
    template: str
    name: str
    address: str
    life: Life
    terms: Terms
    mark: Mapping[str, object]


@frozen
class Order:
    """One purchase in the books; an order for 0 units is a tombstone: its token can never buy."""

    token: str
    request_id: str
    content: str
    closes_ms: int
    lie: Wrong | None
    cancelled: bool
    shortfalls: tuple[Shortfall, ...]
    things: tuple[Thing, ...]

    def made(self, now_ms: int) -> tuple[Thing, ...]:
        """Return what exists or existed by now; a thing of the future is only planned."""
        return tuple(thing for thing in self.things if thing.life.made_ms <= now_ms)


@frozen
class OrderForm:
    """What is written down of a purchase besides what it yields."""

    token: str
    request_id: str
    account: Account
    content: str
    mark: Mapping[str, object]
    terms: Terms | None
    units: int
    asked_ms: int


def things_from_rows(rows: Iterable[sqlite3.Row], releases: Iterable[sqlite3.Row]) -> list[Thing]:
    """Build things from rows of instances joined with their orders, and from rows of releases."""
    given: dict[int, list[Release]] = {}
    for row in releases:
        given.setdefault(row["seq"], []).append(Release(row["units"], row["accepted_ms"], row["gone_ms"]))
    terms: dict[str, Terms] = {}
    marks: dict[str, Mapping[str, object]] = {}
    things = []
    for row in rows:
        token = row["token"]
        if token not in terms:
            terms[token] = terms_from_text(row["terms"])
            marks[token] = json.loads(row["mark"])
        things.append(
            Thing(
                seq=row["seq"],
                instance=row["instance"],
                token=token,
                template=row["template"],
                name=row["name"],
                address=row["address"],
                life=_life_from_row(row, tuple(given.get(row["seq"], ()))),
                terms=terms[token],
                mark=marks[token],
            )
        )
    return things


def _life_from_row(row: sqlite3.Row, releases: tuple[Release, ...]) -> Life:
    return Life(
        units=row["units"],
        requested_ms=row["requested_ms"],
        made_ms=row["made_ms"],
        ready_ms=row["ready_ms"],
        boot_fails=bool(row["boot_fails"]),
        notice_ms=row["notice_ms"],
        reclaim_ms=row["reclaim_ms"],
        expires_ms=row["expires_ms"],
        first_of_order=bool(row["first_of_order"]),
        releases=releases,
    )


def shortfall_from(values: dict[str, object]) -> Shortfall:
    """Build a shortfall from what the books hold of it."""
    limit = values.pop("limit", None)
    return Shortfall(**values, limit=None if limit is None else tuple(limit))  # type: ignore[arg-type]
