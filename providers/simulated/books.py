"""Reads the whole history of a simulated cloud for comparison with what others believe about it.

Knows the cloud's file; changes nothing and may run beside living providers.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from provider_sdk.contract.times import format_time
from providers.simulated.lives import NEVER, reason_at, state_at, units_at
from providers.simulated.messages import charge_text
from providers.simulated.records import Thing, things_from_rows
from providers.simulated.tables import THINGS, find_file, open_for_reading


class NoBooks(Exception):
    """There is no cloud under the given path."""


def read(path: str | Path, now_s: float | None = None) -> list[dict[str, Any]]:
    """Return every instance ever made in the cloud under this path, oldest first, as plain JSON objects.

    `path` is a provider's state folder, a cloud's folder or its file. Each object holds instance, token, request_id,
    template, kind, units (as made), units_now, state, reason, name, made_at, returned_at (the last give-back accepted),
    gone_at, charged and currency (until `now_s`, by default the present), and mark. Raises NoBooks.
    """
    file = find_file(Path(path))
    if file is None:
        raise NoBooks(f"no cloud under {path}")
    now_ms = round((time.time() if now_s is None else now_s) * 1000)
    with closing(open_for_reading(file)) as connection:
        connection.execute("BEGIN")  # instances and releases of the same moment
        rows = connection.execute(f"{THINGS} WHERE i.made_ms <= ? ORDER BY i.seq", (now_ms,)).fetchall()
        releases = connection.execute("SELECT * FROM releases ORDER BY accepted_ms, rowid").fetchall()
    return [_entry(thing, now_ms) for thing in things_from_rows(rows, releases)]


def _entry(thing: Thing, now_ms: int) -> dict[str, Any]:
    life = thing.life
    accepted = max((release.accepted_ms for release in life.releases), default=NEVER)
    price = thing.terms.price
    return {
        "instance": thing.instance,
        "token": thing.token,
        "request_id": thing.mark.get("request_id"),
        "template": thing.template,
        "kind": thing.terms.kind,
        "units": life.units,
        "units_now": units_at(life, now_ms),
        "state": state_at(life, now_ms),
        "reason": reason_at(life, now_ms),
        "name": thing.name,
        "made_at": format_time(life.made_ms / 1000),
        "returned_at": None if accepted == NEVER else format_time(accepted / 1000),
        "gone_at": format_time(life.gone_ms / 1000) if life.gone_ms <= now_ms else None,
        "charged": charge_text(thing, now_ms),
        "currency": None if price is None else price.currency,
        "mark": dict(thing.mark),
    }
