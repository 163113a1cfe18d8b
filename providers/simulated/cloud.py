"""The far side: the simulated cloud with its own books, which outlive every provider process.

Alone responsible for what exists, for whom, and under which token. Knows no message of the contract, no fence, no
fault of the wire; the time comes in as milliseconds of the Unix epoch. Each method is one transaction and safe from
any thread.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256

from attrs import asdict, evolve

from providers.simulated.lives import NEVER, Life, Release, units_at
from providers.simulated.offers import terms_to_text
from providers.simulated.plan import Granted, Held, Refused, Shortfall, Wrong
from providers.simulated.records import Account, Order, OrderForm, Thing, shortfall_from, things_from_rows
from providers.simulated.tables import THINGS, cloud_tag, writing


class Cloud:
    """The books of one cloud, behind one connection; nothing is cached, so other processes may write beside us."""

    def __init__(self, connection: sqlite3.Connection, domain: str) -> None:
        self._connection = connection
        self._domain = domain
        self._lock = threading.Lock()
        self._tag = cloud_tag(connection)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    # Purchases

    def buy(self, form: OrderForm, decide: Callable[[Held], Refused | Granted]) -> Order | Refused:
        """Buy once for this token: the order, new or as it already stands, or a refusal that leaves no order behind.

        `decide` is asked only if the token is new, with the stock as it is at that very moment.
        """
        with self._lock, writing(self._connection):
            known = self._read_order(form.token)
            if known is not None:
                return known
            held = self._held(form.terms.template if form.terms else "", form.asked_ms)
            plan = decide(held)
            if isinstance(plan, Refused):
                if plan.outcome == "not_made":
                    self._write_order(form, form.asked_ms, None, (plan.why,))
                return plan
            self._write_order(form, plan.closes_ms, plan.lie, plan.shortfalls)
            self._write_lives(form, plan.lives)
            return self._written_order(form.token)

    def order(self, token: str) -> Order | None:
        """Return what the books hold under this token."""
        with self._lock:
            return self._read_order(token)

    def order_or_tombstone(self, form: OrderForm) -> Order:
        """Return the order, or close the token for ever: nothing can be made under it any more."""
        with self._lock, writing(self._connection):
            return self._order_or_tombstone(form)

    def cancel(self, form: OrderForm) -> Order:
        """See to it that no further unit is made under this token, then return the order."""
        with self._lock, writing(self._connection):
            order, now = self._order_or_tombstone(form), form.asked_ms
            if order.closes_ms <= now:
                return order
            self._connection.execute("DELETE FROM instances WHERE token = ? AND made_ms > ?", (form.token, now))
            self._connection.execute(
                "UPDATE orders SET cancelled = 1, closes_ms = ?, lie = NULL WHERE token = ?", (now, form.token)
            )
            return self._written_order(form.token)

    # Give-backs

    def give_back(
        self,
        account: Account,
        return_id: str,
        keeps: Mapping[str, int],
        now_ms: int,
        gone_after_ms: Callable[[str], int],
    ) -> None:
        """Note the give-back and take, of each instance named, all units above what is kept.

        `gone_after_ms` says for an instance how long it takes until what is given back is gone; unknown names are left
        alone.
        """
        with self._lock, writing(self._connection):
            self._connection.executemany(
                "INSERT OR REPLACE INTO give_backs VALUES (?, ?, ?, ?, ?)",
                [(account.cluster, account.provider, return_id, instance, keep) for instance, keep in keeps.items()],
            )
            for thing in self._read_things("i.instance", list(keeps)):
                left = thing.life.units - thing.life.promised_back
                surplus = left - keeps[thing.instance]
                if self._is_of(thing, account) and surplus > 0 and units_at(thing.life, now_ms) > 0:
                    self._release(thing, Release(surplus, now_ms, now_ms + gone_after_ms(thing.instance)))

    def note_give_back(self, account: Account, return_id: str, keeps: Mapping[str, int]) -> None:
        """Note items that were asked for but not done, so that a later question about the give-back names them."""
        with self._lock, writing(self._connection):
            self._connection.executemany(
                "INSERT OR IGNORE INTO give_backs VALUES (?, ?, ?, ?, ?)",
                [(account.cluster, account.provider, return_id, instance, keep) for instance, keep in keeps.items()],
            )

    def given_back(self, account: Account, return_id: str) -> dict[str, int] | None:
        """Return what each instance of this give-back was to keep, None if it is not known."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT instance, keep FROM give_backs WHERE cluster = ? AND provider = ? AND return_id = ?",
                (account.cluster, account.provider, return_id),
            ).fetchall()
        return {row["instance"]: row["keep"] for row in rows} or None

    def forget_give_backs(self, account: Account, return_ids: Iterable[str]) -> None:
        """Drop the notes of these give-backs; what was given back stays so."""
        with self._lock, writing(self._connection):
            self._connection.executemany(
                "DELETE FROM give_backs WHERE cluster = ? AND provider = ? AND return_id = ?",
                [(account.cluster, account.provider, return_id) for return_id in return_ids],
            )

    # Reading

    def find(self, account: Account, instances: Sequence[str], now_ms: int) -> dict[str, Thing]:
        """Return those of the named instances that are this account's and were ever made."""
        with self._lock:
            things = self._read_things("i.instance", instances)
        return {
            thing.instance: thing for thing in things if self._is_of(thing, account) and thing.life.made_ms <= now_ms
        }

    def page(
        self, cluster: str, provider: str | None, after: int, limit: int, made_by_ms: int, gone_since_ms: int
    ) -> list[Thing]:
        """Return up to `limit` things numbered above `after`, made by one time and not gone before another."""
        with self._lock:
            # The end is the narrow condition and has the index: the books may hold a long history.
            rows = self._connection.execute(
                "SELECT seq FROM instances WHERE gone_ms > ? AND seq > ? AND made_ms <= ? AND cluster = ?"
                " AND (? IS NULL OR provider = ?) ORDER BY seq LIMIT ?",
                (gone_since_ms, after, made_by_ms, cluster, provider, provider, limit),
            ).fetchall()
            return self._read_things("i.seq", [row["seq"] for row in rows])

    def held_units(self, now_ms: int) -> tuple[int, dict[str, int]]:
        """Return the machines held altogether, and the units held of each template."""
        with self._lock:
            return self._all_held(now_ms)

    def open_count(self, account: Account, now_ms: int) -> int:
        """Return how many purchases and give-backs of this account are still under way."""
        with self._lock:
            orders = self._connection.execute(
                "SELECT COUNT(*) FROM orders WHERE cluster = ? AND provider = ? AND closes_ms > ?",
                (account.cluster, account.provider, now_ms),
            ).fetchone()[0]
            returns = self._connection.execute(
                "SELECT COUNT(DISTINCT r.seq) FROM releases r JOIN instances i USING (seq)"
                " WHERE r.gone_ms > ? AND i.cluster = ? AND i.provider = ?",
                (now_ms, account.cluster, account.provider),
            ).fetchone()[0]
        return int(orders) + int(returns)

    def turned(self, account: Account, after_ms: int, until_ms: int) -> list[Thing]:
        """Return what was made, became ready, was given notice or ended after one time and until another."""
        with self._lock:
            seqs: set[int] = set()
            for column in ("made_ms", "ready_ms", "notice_ms", "gone_ms"):
                rows = self._connection.execute(
                    f"SELECT seq FROM instances WHERE {column} > ? AND {column} <= ? AND cluster = ? AND provider = ?",  # noqa: S608
                    (after_ms, until_ms, account.cluster, account.provider),
                )
                seqs.update(row["seq"] for row in rows)
            return self._read_things("i.seq", sorted(seqs))

    def next_turn_ms(self, after_ms: int) -> int:
        """Return when something next happens to any instance by itself, NEVER if nothing will."""
        with self._lock:
            times = [
                self._connection.execute(
                    f"SELECT MIN({column}) FROM instances WHERE {column} > ?",  # noqa: S608
                    (after_ms,),
                ).fetchone()[0]
                for column in ("made_ms", "ready_ms", "notice_ms", "gone_ms")
            ]
        return min((time for time in times if time is not None), default=NEVER)

    # Inside one transaction

    def _write_order(self, form: OrderForm, closes_ms: int, lie: Wrong | None, shortfalls: Sequence[Shortfall]) -> None:
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

    def _write_lives(self, form: OrderForm, lives: Sequence[Life]) -> None:
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

    def _release(self, thing: Thing, release: Release) -> None:
        life = evolve(thing.life, releases=(*thing.life.releases, release))
        self._connection.execute(
            "INSERT INTO releases VALUES (?, ?, ?, ?)", (thing.seq, release.units, release.accepted_ms, release.gone_ms)
        )
        self._connection.execute(
            "UPDATE instances SET units_left = ?, gone_ms = ? WHERE seq = ?",
            (life.units - life.promised_back, life.gone_ms, thing.seq),
        )

    def _held(self, template: str, now_ms: int) -> Held:
        machines, units = self._all_held(now_ms)
        return Held(machines, units.get(template, 0))

    def _all_held(self, now_ms: int) -> tuple[int, dict[str, int]]:
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

    def _order_or_tombstone(self, form: OrderForm) -> Order:
        if self._read_order(form.token) is None:
            self._write_order(evolve(form, units=0), form.asked_ms, None, ())
        return self._written_order(form.token)

    def _written_order(self, token: str) -> Order:
        written = self._read_order(token)
        if written is None:
            raise LookupError("an order that was just written is not there")
        return written

    def _read_order(self, token: str) -> Order | None:
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
            things=tuple(self._read_things("i.token", [token])),
        )

    def _read_things(self, column: str, values: Sequence[str | int]) -> list[Thing]:
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

    def _is_of(self, thing: Thing, account: Account) -> bool:
        return (thing.mark.get("cluster"), thing.mark.get("provider")) == (account.cluster, account.provider)
