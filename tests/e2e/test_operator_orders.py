"""What operators type at 3 am, against a real daemon: one provider that serves, and one that ends at every start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cheaper, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.processes import MARK
from tests.e2e.scheduler import give_back
from tests.e2e.waiting import wait_until
from tests.house.sources import ROOT

ONE_HOST = {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1, "each": {"cores": 2}}]}
MENDED = 'test -e "$TMPDIR/../mended" || { echo "no licence server" >&2; exit 3; }; exec "$0" "$@"'


def typed(daemon: Daemon, *words: str) -> dict[str, Any]:
    """One command with --json, which is to end well; what it printed."""
    command = [sys.executable, "-m", "provisioner", *words, "--json", "--socket", str(daemon.folder / "api.sock")]
    env = {**os.environ, MARK: str(daemon.folder), "SUDO_USER": "alice"}
    ran = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def broken(**changes: object) -> dict[str, Any]:
    """A cloud whose program ends at every start until a file says that it was mended."""
    serving = cheaper(cloud(**changes))
    return {**serving, "command": ["/bin/sh", "-c", MENDED, *serving["command"]]}


def test_pause_restart_logs_and_call_of_a_provider_that_serves(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cheaper(cloud()), "west": cloud()}))
    daemon.start()
    paused = typed(daemon, "provider", "pause", "east", "--for", "10m", "--why", "wrong prices")
    assert paused["paused"]["by"].startswith("alice (uid ")
    daemon.rest.put(f"/v1/demand/{SOURCE}", ONE_HOST)
    [bought] = wait_until("a host is there", daemon.live)
    assert bought["provider"] == "west"

    answer = typed(daemon, "provider", "call", "west", "list")
    assert [i["instance"] for i in answer["result"]["instances"]] == [bought["provider_id"]]

    pid, number = daemon.pid_of("west"), daemon.provider("west")["number"]
    typed(daemon, "provider", "restart", "west", "--why", "new certificate")
    wait_until("another process serves", lambda: daemon.provider("west")["ready"] and daemon.pid_of("west") != pid)
    assert daemon.provider("west")["number"] == number + 1
    old, new = typed(daemon, "provider", "logs", "west")["processes"]
    assert (old["process"], new["process"]) == (number, number + 1)
    assert old["ended"].startswith("restarted by alice")
    assert "new certificate" in daemon.provider("west")["last_end"]

    assert "the pause is over" in typed(daemon, "provider", "resume", "east")["did"]
    give_back(daemon)
    check_accounts(daemon, "east", "west")


def test_a_provider_that_ends_at_every_start_shows_why_and_serves_at_once_when_mended_and_restarted(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": broken()}))
    daemon.start(providers_too=False)
    wait_until("it has been tried three times", lambda: (daemon.provider("east")["number"] or 0) >= 3)
    wait_until("it backs off", lambda: daemon.provider("east")["state"] == "backing_off")
    words = typed(daemon, "provider", "logs", "east")["processes"][-1]
    assert words["lines"] == ["no licence server"]
    assert "exit status 3" in words["ended"]
    end = daemon.provider("east")["ends"][-1]
    assert (end["last_words"], end["open"]) == ("no licence server", [])
    mended(daemon.folder)
    assert typed(daemon, "provider", "resume", "east")["did"]
    wait_until("it can be bought from", lambda: daemon.provider("east")["ready"], within_s=30)
    assert daemon.stop() == 0


def test_a_give_back_that_ends_its_process_twice_is_parked_told_in_the_verdict_and_done_in_the_end(
    daemon: Daemon,
) -> None:
    poison = [{"on": "return", "do": "exit", "when": "before", "calls": "1-3"}]
    daemon.configure(settings({"east": cloud(faults={"calls": poison})}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", ONE_HOST)
    wait_until("a host is there", lambda: [i for i in daemon.live() if i["state"] == "running"])
    parked: list[str] = []
    verdict: list[str] = []

    def look() -> bool:
        parked.extend(daemon.provider("east")["parked"])
        verdict.extend(r for r in daemon.rest.get("/v1/health")["reasons"] if "does not take back" in r)
        return bool(parked and verdict)

    give_back(daemon, also=look)
    [giveback] = [g for g in daemon.give_backs() if g["id"] in parked]
    assert "1 thing (1 give-back): costing 0.36 USD/h since" in verdict[0]
    assert giveback["state"] == "returned"
    assert not daemon.provider("east")["parked"]
    assert [f"return {giveback['id']}" in end["open"] for end in daemon.provider("east")["ends"]] == [True] * 3
    check_accounts(daemon, "east")


def mended(folder: Path) -> None:
    """What the provider's program waits for."""
    (folder / "providers" / "east" / "run" / "mended").touch()
