"""Reads and writes single records of the cloud's books, always inside a transaction that somebody else has begun.

Knows the tables; must not know locks, transactions, or why a record is written.
"""

import json
import sqlite3
from collections.abc import Sequence
from hashlib import sha256

from attrs import asdict, evolve

from providers.simulated.lives import Life, Release
from providers.simulated.offers import terms_to_text
from providers.simulated.plan import Held, Shortfall, Wrong
from providers.simulated.records import Order, OrderForm, Thing, shortfall_from, things_from_rows
from providers.simulated.tables import THINGS, cloud_tag


class Ledger:
    """The records behind one connection."""

    def __init__(self, connection: sqlite3.Connection, domain: str) -> None:
        self._connection = connection
        self._domain = domain
        self._tag = cloud_tag(connection)

    def write_order(self, form: OrderForm, closes_ms: int, lie: Wrong | None, shortfalls: Sequence[Shortfall]) -> None:
        """Write a purchase down, or a tombstone."""
        self._connection.execute(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)",
            (
                form.token,
                form.account.cluster,
                form.account.provider,
                form.request_id,
                form.content,
                json.dumps(dict(form.mark)),
                "" if form.terms is None else terms_to_text(form.terms),
                form.units,
                form.asked_ms,
                closes_ms,
                lie,
                json.dumps([asdict(shortfall) for shortfall in shortfalls]),
            ),
        )

    def write_lives(self, form: OrderForm, lives: Sequence[Life]) -> None:
        """Write down what a purchase yields; ids and addresses follow the number that was never used before."""
        if form.terms is None:
            raise ValueError("only what is for sale can be made")
        last = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'instances'").fetchone()
        first = (last[0] if last else 0) + 1
        rows = []
        for seq, life in enumerate(lives, first):
            address = self._address(seq)
            rows.append(
                (
                    seq,
                    f"i-{self._tag}{seq:09x}",
                    form.token,
                    form.account.cluster,
                    form.account.provider,
                    form.terms.template,
                    form.terms.kind,
                    f"ip-{address.replace('.', '-')}.{self._domain}",
                    address,
                    life.units,
                    life.units,
                    life.requested_ms,
                    life.made_ms,
                    life.ready_ms,
                    life.boot_fails,
                    life.first_of_order,
                    life.notice_ms,
                    life.reclaim_ms,
                    life.expires_ms,
                    life.gone_ms,
                )
            )
        self._connection.executemany(f"INSERT INTO instances VALUES ({', '.join('?' * 20)})", rows)  # noqa: S608

    def _address(self, seq: int) -> str:
        # The second figure tells clouds apart as far as one figure can; the name's domain does the rest.
        own = sha256(self._tag.encode()).digest()[0]
        return f"10.{(own + (seq >> 16)) % 256}.{(seq >> 8) % 256}.{seq % 256}"

    def release(self, thing: Thing, release: Release) -> None:
        """Write down that units of a thing were taken back."""
        life = evolve(thing.life, releases=(*thing.life.releases, release))
        self._connection.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?)", (thing.seq, release.units, release.accepted_ms, release.gone_ms)
        )
        self._connection.execute(
            "UPDATE instances SET units_left = ?, gone_ms = ? WHERE seq = ?",
            (life.units - life.promised_back, life.gone_ms, thing.seq),
        )

    def put_off(self, thing: Thing, expires_ms: int) -> None:
        """Write down another end of a thing."""
        life = evolve(thing.life, expires_ms=expires_ms)
        self._connection.execute(
            "UPDATE instances SET expires_ms = ?, gone_ms = ? WHERE seq = ?", (expires_ms, life.gone_ms, thing.seq)
        )

    def held(self, template: str, now_ms: int) -> Held:
        """Return what is held of one template, and machines altogether."""
        machines, units = self.all_held(now_ms)
        return Held(machines, units.get(template, 0))

    def all_held(self, now_ms: int) -> tuple[int, dict[str, int]]:
        """Return machines held altogether, and units held of each template."""
        # What is given back counts until it is gone: a cloud can't sell a machine twice.
        rows = self._connection.execute(
            "SELECT kind, template, SUM(units_left) FROM instances WHERE gone_ms > ? GROUP BY kind, template"
            " UNION ALL SELECT i.kind, i.template, SUM(r.units) FROM releases r JOIN instances i USING (seq)"
            " WHERE r.gone_ms > ? AND i.gone_ms > ? GROUP BY i.kind, i.template",
            (now_ms, now_ms, now_ms),
        ).fetchall()
        machines, units = 0, dict[str, int]()
        for kind, template, count in rows:
            units[template] = units.get(template, 0) + count
            machines += count if kind == "host" else 0
        return machines, units

    def order_or_tombstone(self, form: OrderForm) -> Order:
        """Return the order under this token, made a tombstone if there is none."""
        if self.read_order(form.token) is None:
            self.write_order(evolve(form, units=0), form.asked_ms, None, ())
        return self.written_order(form.token)

    def written_order(self, token: str) -> Order:
        """Return an order that is known to be there."""
        written = self.read_order(token)
        if written is None:
            raise LookupError("an order that was just written is not there")
        return written

    def read_order(self, token: str) -> Order | None:
        """Return the order under this token."""
        row = self._connection.execute("SELECT * FROM orders WHERE token = ?", (token,)).fetchone()
        if row is None:
            return None
        return Order(
            token=token,
            request_id=row["request_id"],
            content=row["content"],
            closes_ms=row["closes_ms"],
            lie=row["lie"],
            cancelled=bool(row["cancelled"]),
            shortfalls=tuple(shortfall_from(values) for values in json.loads(row["shortfalls"])),
            things=tuple(self.read_things("i.token", [token])),
        )

    def read_things(self, column: str, values: Sequence[str | int]) -> list[Thing]:
        """Return the things whose column has one of these values, in the order of their numbers."""
        if not values:
            return []
        marks = ", ".join("?" * len(values))
        rows = self._connection.execute(f"{THINGS} WHERE {column} IN ({marks}) ORDER BY i.seq", list(values)).fetchall()
        return things_from_rows(rows, self._releases_of([row["seq"] for row in rows]))

    def _releases_of(self, seqs: Sequence[int]) -> list[sqlite3.Row]:
        marks = ", ".join("?" * len(seqs))
        return self._connection.execute(
            f"SELECT * FROM releases WHERE seq IN ({marks}) ORDER BY accepted_ms, rowid",  # noqa: S608
            list(seqs),
        ).fetchall()
