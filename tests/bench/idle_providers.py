"""What a daemon with many providers costs while nothing happens: processor time and memory, seen from outside.

Knows how a daemon is configured and asked. Must not know how it supervises.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from attrs import frozen

from provisioner.cli.exits import CommandEnds
from provisioner.cli.rest_client import Client, Where
from tests.bench.measure import Bench, Effort, Measured, Row

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("idle_provider.pl")
SHARE_ROW = Row("supervise.1000_idle.core_share", 0.01, "lower")
MEMORY_ROW = Row("supervise.1000_idle.kib_per_provider", None, "lower")
PROVIDERS = 1_000
WINDOW_S = 60.0
SETTLE_S = 15.0
READY_WITHIN_S = 300.0
END_WITHIN_S = 120.0
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class NotReady(Exception):
    """The daemon did not come to rest."""


@frozen
class Spent:
    """What a process has used: seconds of processor time, and KiB of memory that it holds now."""

    cpu_s: float
    resident_kib: int


def _measure(folder: Path, effort: Effort) -> list[Measured]:
    count, settle_s, window_s = (3, 0.1, 0.3) if effort.tiny else (PROVIDERS, SETTLE_S, WINDOW_S)
    with _daemon(folder / "few", 1) as few:
        alone_kib = _spent(few).resident_kib
    shares: list[float] = []
    with _daemon(folder / "many", count) as many:
        time.sleep(settle_s)
        for _ in range(effort.rounds_or(1)):
            before, began = _spent(many), time.monotonic()
            time.sleep(window_s)
            after, took_s = _spent(many), time.monotonic() - began
            shares.append((after.cpu_s - before.cpu_s) / took_s)
        grown_kib = (_spent(many).resident_kib - alone_kib) / (count - 1)
    share = sorted(shares)[len(shares) // 2]
    said = f"{share * window_s:.2f} s of a core in {window_s:g} s, {count} providers"
    return [
        Measured(SHARE_ROW, share, len(shares), said),
        Measured(MEMORY_ROW, grown_kib, count, f"above {alone_kib:,} KiB with one provider"),
    ]


def _spent(daemon: subprocess.Popen[bytes]) -> Spent:
    """By the kernel's figures: the daemon's threads, without its children."""
    figures = Path(f"/proc/{daemon.pid}/schedstat").read_text()
    threads = Path(f"/proc/{daemon.pid}/task").glob("*/schedstat")
    cpu_ns = sum(int(thread.read_text().split()[0]) for thread in threads) or int(figures.split()[0])
    resident = int(Path(f"/proc/{daemon.pid}/statm").read_text().split()[1])
    return Spent(cpu_ns / 1e9, resident * os.sysconf("SC_PAGE_SIZE") // 1024)


@contextmanager
def _daemon(folder: Path, count: int) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon with its defaults whose providers are all ready; ended in order."""
    folder.mkdir(parents=True)
    # A socket's path must be short, whatever the folder's is.
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as short:
        socket = Path(short) / "api.sock"
        config = folder / "p.yaml"
        config.write_text(json.dumps(_settings(folder, socket, count)))
        with (folder / "daemon.log").open("wb") as log:
            command = [sys.executable, "-m", "provisioner", "run", "-c", str(config)]
            daemon = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
            try:
                _wait_ready(daemon, socket, folder / "daemon.log")
                yield daemon
            finally:
                _end(daemon)


def _settings(folder: Path, socket: Path, count: int) -> dict[str, object]:
    command = ["perl", str(PROGRAM)]
    return {
        "version": 1,
        "cluster": "bench",
        "controller": {"sqlite": str(folder / "facts.db")},
        "listen": {"socket": str(socket)},
        "money": {"currency": "USD"},
        "budgets": "none",
        "providers": {f"idle-{number}": {"command": command} for number in range(count)},
    }


def _wait_ready(daemon: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    client, give_up_at = Client(Where(socket=str(socket))), time.monotonic() + READY_WITHIN_S
    while time.monotonic() < give_up_at:
        if daemon.poll() is not None:
            raise NotReady(f"the daemon ended: {log.read_text()[-2000:]}")
        try:
            providers = client.get("/v1/providers")["providers"]
        except (CommandEnds, OSError, HTTPException):  # it is not there yet
            providers = []
        if providers and all(provider["ready"] for provider in providers):
            return
        time.sleep(0.1 if len(providers) < 100 else 2.0)
    raise NotReady(f"not all providers were ready within {READY_WITHIN_S:g} s: {log.read_text()[-2000:]}")


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.send_signal(signal.SIGTERM)
    try:
        daemon.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


BENCH = Bench((SHARE_ROW, MEMORY_ROW), _measure)
