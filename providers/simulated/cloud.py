"""The far side: the simulated cloud with its own books, which outlive every provider process.

Alone responsible for what exists, for whom, and under which token. Knows no message of the contract, no fence, no
fault of the wire; the time comes in as milliseconds of the Unix epoch. Each method is one transaction and safe from
any thread.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence

from providers.simulated.ledger import Ledger
from providers.simulated.lives import NEVER, Release, units_at
from providers.simulated.plan import Granted, Held, Refused
from providers.simulated.records import Account, Order, OrderForm, Thing
from providers.simulated.tables import writing


class Cloud:
    """The books of one cloud, behind one connection; nothing is cached, so other processes may write beside us."""

    def __init__(self, connection: sqlite3.Connection, domain: str) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._ledger = Ledger(connection, domain)

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
            known = self._ledger.read_order(form.token)
            if known is not None:
                return known
            held = self._ledger.held(form.terms.template if form.terms else "", form.asked_ms)
            plan = decide(held)
            if isinstance(plan, Refused):
                if plan.outcome == "not_made":
                    self._ledger.write_order(form, form.asked_ms, None, (plan.why,))
                return plan
            self._ledger.write_order(form, plan.closes_ms, plan.lie, plan.shortfalls)
            self._ledger.write_lives(form, plan.lives)
            return self._ledger.written_order(form.token)

    def order(self, token: str) -> Order | None:
        """Return what the books hold under this token."""
        with self._lock:
            return self._ledger.read_order(token)

    def order_or_tombstone(self, form: OrderForm) -> Order:
        """Return the order, or close the token for ever: nothing can be made under it any more."""
        with self._lock, writing(self._connection):
            return self._ledger.order_or_tombstone(form)

    def cancel(self, form: OrderForm) -> Order:
        """See to it that no further unit is made under this token, then return the order."""
        with self._lock, writing(self._connection):
            order, now = self._ledger.order_or_tombstone(form), form.asked_ms
            if order.closes_ms <= now:
                return order
            self._connection.execute("DELETE FROM instances WHERE token = ? AND made_ms > ?", (form.token, now))
            self._connection.execute(
                "UPDATE orders SET cancelled = 1, closes_ms = ?, lie = NULL WHERE token = ?", (now, form.token)
            )
            return self._ledger.written_order(form.token)

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
            for thing in self._ledger.read_things("i.instance", list(keeps)):
                left = thing.life.units - thing.life.promised_back
                surplus = left - keeps[thing.instance]
                if _is_of(thing, account) and surplus > 0 and units_at(thing.life, now_ms) > 0:
                    self._ledger.release(thing, Release(surplus, now_ms, now_ms + gone_after_ms(thing.instance)))

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

    # Ends

    def extend(self, account: Account, until_ms: Mapping[str, int], now_ms: int) -> dict[str, Thing]:
        """Put off the end of the named instances that have one and are still ours, never to an earlier time.

        Returns those of them that are this account's as they stand now, gone ones too.
        """
        with self._lock, writing(self._connection):
            for thing in self._ledger.read_things("i.instance", list(until_ms)):
                if _is_of(thing, account) and now_ms < thing.life.gone_ms and thing.life.expires_ms != NEVER:
                    self._ledger.put_off(thing, max(thing.life.expires_ms, until_ms[thing.instance]))
            things = self._ledger.read_things("i.instance", list(until_ms))
        return {thing.instance: thing for thing in things if _is_of(thing, account)}

    # Reading

    def find(self, account: Account, instances: Sequence[str], now_ms: int) -> dict[str, Thing]:
        """Return those of the named instances that are this account's and were ever made."""
        with self._lock:
            things = self._ledger.read_things("i.instance", instances)
        return {thing.instance: thing for thing in things if _is_of(thing, account) and thing.life.made_ms <= now_ms}

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
            return self._ledger.read_things("i.seq", [row["seq"] for row in rows])

    def held_units(self, now_ms: int) -> tuple[int, dict[str, int]]:
        """Return the machines held altogether, and the units held of each template."""
        with self._lock:
            return self._ledger.all_held(now_ms)

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
            return self._ledger.read_things("i.seq", sorted(seqs))

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


def _is_of(thing: Thing, account: Account) -> bool:
    return (thing.mark.get("cluster"), thing.mark.get("provider")) == (account.cluster, account.provider)
