"""How long a start over ten thousand instances takes until it is ready, against reading and parsing the same bytes.

Knows that each start is a process of its own, as a restart is. Must not know what is done in one (restart_once.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import trio

from provisioner.runtime.links.sqlite import open_sqlite
from tests.bench.many_facts import write_cluster
from tests.bench.measure import Bench, Effort, Measured, Row, median_ratio, median_text
from tests.bench.restart_once import CLUSTER

ROW = Row("restart.10k.ratio_to_parse", 3.0, "lower")

ROUNDS = 9
REQUESTS = 1_000
WITHIN_S = 300
ROOT = Path(__file__).resolve().parents[2]


def measure(folder: Path, effort: Effort) -> list[Measured]:
    """The row, from rounds of parsing and starting in turn."""
    place = folder / "facts.db"
    hosts = trio.run(_write, place, 2 if effort.tiny else REQUESTS)
    parses, starts = [], []
    for _ in range(effort.rounds_or(ROUNDS)):
        parses.append(_took_ms("parse", place, hosts))
        starts.append(_took_ms("start", place, hosts))
    said = f"{median_text(starts, 'ms')} ÷ {median_text(parses, 'ms')}, {hosts} instances"
    return [Measured(ROW, median_ratio(starts, parses), len(starts), said)]


async def _write(place: Path, requests: int) -> int:
    link = await open_sqlite(place, CLUSTER, "bench")
    try:
        return await write_cluster(link, requests)
    finally:
        with trio.CancelScope(shield=True):
            await link.close()


def _took_ms(what: str, place: Path, hosts: int) -> float:
    """What one fresh process measured of itself; it must have met every instance."""
    command = (sys.executable, "-m", "tests.bench.restart_once", what, str(place))
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=WITHIN_S, check=True)
    said = json.loads(done.stdout)
    if said["instances"] != hosts:
        raise RuntimeError(f"{what} met {said['instances']} of {hosts} instances")
    return float(said["ms"])


BENCH = Bench((ROW,), measure)
