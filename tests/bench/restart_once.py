"""One start, or one reading and parsing, of facts that lie there, in a process of its own that measures itself.

`python -m tests.bench.restart_once start|parse PATH` prints {"ms", "instances"}. Imports come before the clock starts.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import sys
import time
from pathlib import Path

import orjson
import structlog
import trio
from structlog.testing import ReturnLogger

from provisioner.core.effects import Effect
from provisioner.runtime.clock import SystemClock
from provisioner.runtime.engine import Engine
from provisioner.runtime.links.sqlite import open_sqlite
from tests.bench.many_facts import PROVIDERS
from tests.core.play import settings_for

CLUSTER = "clu"


def parse(place: Path) -> tuple[float, int]:
    """Milliseconds to read every row and parse its value, as fast as that goes, and how many were instances."""
    gc.disable()  # the least that reading can cost: no walks over a list that only grows
    began_ns = time.monotonic_ns()
    connection = sqlite3.connect(place)
    rows = connection.execute("SELECT kind, id, version, value FROM facts").fetchall()
    values = [(kind, orjson.loads(value)) for kind, _, _, value in rows]
    took_ms = (time.monotonic_ns() - began_ns) / 1e6
    connection.close()
    return took_ms, sum(1 for kind, _ in values if kind == "instance")


async def start(place: Path) -> tuple[float, int]:
    """Milliseconds from opening the facts, checks included, until the engine has taken over, and how many live."""
    began_ns = time.monotonic_ns()
    link = await open_sqlite(place, CLUSTER, "bench")
    try:
        log = structlog.wrap_logger(ReturnLogger())
        engine = Engine(link, settings_for(*PROVIDERS), SystemClock(), _begin_nothing, log, "bench")
        async with trio.open_nursery() as nursery:
            await nursery.start(engine.run)
            took_ms = (time.monotonic_ns() - began_ns) / 1e6
            world = engine.world()
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await link.close()
    return took_ms, 0 if world is None else len(world.live)


def _begin_nothing(effect: Effect) -> None:
    """The daemon is ready before its providers are: what it owes them is begun, and not waited for."""


def main(what: str, place: Path) -> None:
    """Measures once and prints it."""
    took_ms, instances = trio.run(start, place) if what == "start" else parse(place)
    sys.stdout.write(json.dumps({"ms": took_ms, "instances": instances}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
