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
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.e2e.accounts import disagreements
from tests.e2e.daemon import Daemon, short_folder

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "docs" / "examples" / "two-clouds.yaml"
DAEMON_KILLS_S = (15.0, 45.0, 75.0)
PROVIDER_KILLS_S = {"east": 30.0, "west": 60.0}
SETTLED_WITHIN_S = 25.0
"""Longer than the example's pause between two lists."""


def configured(folder: Path) -> Daemon:
    """The daemon on a copy of the example whose files lie in a folder of its own."""
    daemon = Daemon(folder)
    daemon.config.write_text(EXAMPLE.read_text().replace("../../build/two-clouds", str(folder)))
    return daemon


def main() -> int:
    """Runs one replay; see the module's text."""
    args = _arguments()
    for needed in (args.driver, args.log):
        if not Path(needed).exists():
            print(f"not run: {needed} is absent (this check uses material that is not part of the project)")
            return 0
    daemon = configured(short_folder())
    try:
        daemon.start()
        driver = _drive(daemon, args)
        faults = _faults(daemon, driver)
        if daemon.stop() != 0:
            faults.append("the daemon did not end in order")
    finally:
        daemon.clean_up()
    print(json.dumps({"driver": driver, "faults": faults}, indent=1))
    if faults:
        print(f"everything is kept in {daemon.folder}")
        return 1
    shutil.rmtree(daemon.folder)
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
    command = [
        sys.executable,
        args.driver,
        args.log,
        "--socket",
        str(daemon.rest.socket),
        "--start-hour",
        args.start_hour,
    ]
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
            daemon.start(providers_too=False)
        else:
            daemon.signal_provider(what, signal.SIGKILL)
    out, _ = child.communicate()
    return {**json.loads(out), "exit": child.returncode}


def _faults(daemon: Daemon, driver: dict[str, Any]) -> list[str]:
    """What is wrong at the end; a final sum may reach us only with the next list."""
    faults = [] if driver["exit"] == 0 else [f"the driver ended with {driver['exit']}"]
    providers = sorted(PROVIDER_KILLS_S)
    over_s = time.monotonic() + SETTLED_WITHIN_S
    while (found := disagreements(daemon, *providers)) and time.monotonic() < over_s:
        time.sleep(1.0)
    for name in providers:
        print(f"{name}: {len(daemon.books(name))} instances in the cloud's own books")
    return faults + found


if __name__ == "__main__":
    sys.exit(main())
