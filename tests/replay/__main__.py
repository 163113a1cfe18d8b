"""Runs the daemon on docs/examples/two-clouds.yaml beside a cluster driver, kills what it is told to, and compares
the books.

The driver and the job log are not part of the project: their paths are given. Exit 0 only if the driver ended well,
costs equal the sum over
instances, and the simulated clouds' own books show no instance that our facts do not know, none twice and none left.

    python -m tests.replay --driver DRIVER.py --log LOG.swf.gz --start-hour 2076 --hours 2 --speed 60 [--kill]
    [--timeout 540]
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.replay.rest import get

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "two-clouds.yaml"
DAEMON_KILLS_S = (15.0, 45.0, 75.0)
PROVIDER_KILLS_S = {"east": 30.0, "west": 60.0}
READY_WITHIN_S = 30.0


class Daemon:
    """The daemon as a child, on a copy of the example whose files lie in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "api.sock"
        self.config = folder / "two-clouds.yaml"
        text = EXAMPLE.read_text().replace("../../build/two-clouds", str(folder))
        self.config.write_text(text)
        self.log = (folder / "daemon.log").open("ab")
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers."""
        command = [sys.executable, "-m", "provisioner", "run", "-c", str(self.config)]
        self.child = subprocess.Popen(command, stderr=self.log, stdout=self.log, cwd=self.folder)
        begun = time.monotonic()
        while time.monotonic() - begun < READY_WITHIN_S:
            if get(self.socket, "/v1/health") is not None:
                return
            if self.child.poll() is not None:
                raise SystemExit(f"the daemon ended with {self.child.returncode}; see {self.log.name}")
            time.sleep(0.1)
        raise SystemExit("the daemon did not get ready")

    def kill(self) -> None:
        """kill -9, then a new start."""
        assert self.child is not None
        self.child.kill()
        self.child.wait()
        self.start()

    def stop(self) -> int:
        """Ends it in order; returns its exit status."""
        assert self.child is not None
        self.child.terminate()
        return self.child.wait(timeout=60)

    def kill_provider(self, name: str) -> None:
        """kill -9 of one provider's process, by the pid the daemon tells."""
        answer = get(self.socket, "/v1/providers")
        for entry in (answer or {}).get("providers", []):
            if entry.get("provider") == name and entry.get("pid"):
                os.kill(entry["pid"], signal.SIGKILL)
                return
        print(f"{name} had no process to kill")


def main() -> int:
    """Runs one replay; see the module's text."""
    args = _arguments()
    for needed in (args.driver, args.log):
        if not Path(needed).exists():
            print(f"not run: {needed} is absent (this check uses material that is not part of the project)")
            return 0
    folder = Path(tempfile.mkdtemp(prefix="replay-"))
    daemon = Daemon(folder)
    daemon.start()
    try:
        driver = _drive(daemon, args)
        faults = _faults(daemon, driver)
    finally:
        daemon.stop()
    faults += _book_faults(daemon)
    print(json.dumps({"driver": driver, "faults": faults}, indent=1))
    if faults:
        print(f"everything is kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.replay")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--kill", action="store_true", help="kill the daemon three times and each provider once")
    parser.add_argument("--start-hour", default="2076")
    parser.add_argument("--hours", default="2")
    parser.add_argument("--speed", default="60")
    parser.add_argument("--timeout", default="540")
    return parser.parse_args()


def _drive(daemon: Daemon, args: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, args.driver, args.log, "--socket", str(daemon.socket), "--start-hour", args.start_hour]
    command += ["--hours", args.hours, "--speed", args.speed, "--timeout", args.timeout]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    begun = time.monotonic()
    kills = sorted([(t, "daemon") for t in DAEMON_KILLS_S] + [(t, p) for p, t in PROVIDER_KILLS_S.items()])
    for at, what in kills if args.kill else []:
        while time.monotonic() - begun < at and child.poll() is None:
            time.sleep(0.1)
        if child.poll() is not None:
            break
        print(f"{time.monotonic() - begun:.0f} s: kill -9 of {what}")
        if what == "daemon":
            daemon.kill()
        else:
            daemon.kill_provider(what)
    out, _ = child.communicate()
    return {**json.loads(out), "exit": child.returncode}


def _faults(daemon: Daemon, driver: dict[str, Any]) -> list[str]:
    faults = [] if driver["exit"] == 0 else [f"the driver ended with {driver['exit']}"]
    costs = get(daemon.socket, "/v1/costs") or {}
    instances = all_instances(daemon.socket)
    total = sum((Decimal(i["cost"]) for i in instances if i["cost"] is not None), Decimal(0))
    if Decimal(costs.get("total", "-1")) != total:
        faults.append(f"costs say {costs.get('total')}, the instances' own records sum up to {total}")
    (daemon.folder / "instances.json").write_text(json.dumps(instances))
    return faults


def all_instances(socket: Path) -> list[dict[str, Any]]:
    """Every instance the daemon ever knew, page by page."""
    found: list[dict[str, Any]] = []
    path: str | None = "/v1/instances"
    while path is not None:
        page = get(socket, path)
        if page is None:
            raise SystemExit("the daemon does not answer")
        found += page["instances"]
        path = page["next"]
    return found


def _book_faults(daemon: Daemon) -> list[str]:
    """What the clouds' own books say against our facts."""
    ours = json.loads((daemon.folder / "instances.json").read_text())
    known = {(i["provider"], i["provider_id"]): i for i in ours}
    faults = []
    for state in sorted((daemon.folder / "providers").glob("*/state")):
        provider = state.parent.name
        command = [sys.executable, "-m", "providers.simulated", "books", str(state)]
        books = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        made = books if isinstance(books, list) else books["instances"]
        print(f"{provider}: {len(made)} instances in the cloud's own books")
        for thing in made:
            mine = known.get((provider, thing["instance"]))
            if mine is None:
                faults.append(f"{provider}/{thing['instance']} is in the cloud's books and not in our facts")
            if thing["gone_at"] is None:
                faults.append(f"{provider}/{thing['instance']} was never given back")
            if mine is not None and Decimal(thing["charged"]) != Decimal(mine["cost"]):
                faults.append(f"{provider}/{thing['instance']} cost {mine['cost']}, the cloud says {thing['charged']}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
