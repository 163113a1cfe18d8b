"""A daemon with things in its hands: a rival, an end in order, a configuration that forgets what it still owns."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cheaper, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import Scheduler, give_back, jobs
from tests.e2e.waiting import wait_until
from tests.house.sources import ROOT

TWO_HOSTS = {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 2, "each": {"cores": 2}}]}


def refusal(config: Path) -> tuple[int, str]:
    """Exit status and standard error of a daemon that must not run."""
    command = [sys.executable, "-m", "provisioner", "run", "-c", str(config)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, "Traceback" in ended.stderr) == ("", False), ended
    return ended.returncode, ended.stderr


def place_of(text: str, word: str) -> tuple[int, int]:
    """Line and column of a word, counted from 1."""
    before = text[: text.index(word)]
    return before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1


def told(daemon: Daemon, level: str | None = None) -> list[str]:
    """The events of its log, or those of one level."""
    lines = [json.loads(line) for line in daemon.log.splitlines()]
    return [line["event"] for line in lines if level in (None, line["level"])]


def test_a_second_daemon_names_the_first_and_disturbs_neither_it_nor_its_providers(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud()}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    wait_until("two hosts are there", lambda: len(daemon.live()) == 2)
    before = (daemon.provider("east")["pid"], daemon.provider("east")["epoch"])
    # As a copy of the configuration would be: other door, same facts and so the same provider's folder.
    rival = daemon.folder / "rival.yaml"
    rival.write_text(json.dumps({**settings({"east": cloud()}), "listen": {"socket": "rival.sock"}}))
    status, said = refusal(rival)
    assert daemon.child is not None
    assert (status, said.count("\n")) == (75, 1)
    assert f"process {daemon.child.pid}" in said
    assert str(daemon.facts) in said or "These facts" in said
    assert not (daemon.folder / "rival.sock").exists()
    assert (daemon.provider("east")["pid"], daemon.provider("east")["epoch"]) == before
    give_back(daemon)
    check_accounts(daemon, "east")


def test_sigterm_ends_in_order_and_the_next_start_goes_on(daemon: Daemon) -> None:
    slow = cloud(fulfil_time="3s", lead_time="1s")
    daemon.configure(settings({"east": slow, "west": cheaper(cloud(capacity={"machines": 1}))}))
    daemon.start()
    play = Scheduler(daemon, jobs((0, 1, 4), (0, 1, 2)))
    # In the middle of everything: one host is up, a purchase at the other cloud is under way.
    play.until(
        "one host is there and a purchase is open",
        lambda: bool(play.live) and any(request["kind"] == "acquire" for request in play.open),
    )
    assert daemon.stop() == 0
    assert daemon.processes == []
    assert not (daemon.folder / "api.sock").exists()
    assert (daemon.folder / "facts.db.owner").read_text() == ""
    with closing(sqlite3.connect(f"file:{daemon.facts}?mode=ro", uri=True)) as facts:
        assert facts.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    log = daemon.log
    assert "Traceback" not in log
    assert '"event": "stopping"' in log

    daemon.start()
    known = {host["id"] for host in play.live}
    assert known <= {host["id"] for host in daemon.instances()}
    play.until("everything is done and given back", lambda: play.is_over)
    assert (play.cluster.done, play.cluster.broken) == (2, [])
    assert {p["state"] for p in daemon.purchases()} == {"fulfilled"}
    check_accounts(daemon, "east", "west")


def test_a_start_that_can_not_get_on_ends_when_asked(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud()}))
    daemon.start()
    assert daemon.stop() == 0
    # Facts that can be opened and read, and then take nothing in.
    with closing(sqlite3.connect(daemon.facts)) as facts, facts:
        facts.execute("CREATE TRIGGER t BEFORE INSERT ON facts BEGIN SELECT RAISE(ABORT, 'nothing is taken in'); END")
    for asked in (signal.SIGTERM, signal.SIGINT):
        (daemon.folder / "daemon.log").unlink()
        child = daemon.launch()
        wait_until("the start is stuck", lambda: "facts_not_writable" in daemon.log)
        child.send_signal(asked)
        assert child.wait(timeout=10) == 0
        assert told(daemon) == ["facts_not_writable", "stopping"]
        assert daemon.processes == []
    with closing(sqlite3.connect(daemon.facts)) as facts, facts:
        facts.execute("DROP TRIGGER t")
    daemon.start()


def test_a_faulty_or_forgetful_configuration_touches_nothing_and_the_right_one_goes_on(daemon: Daemon) -> None:
    east, west = cloud(), cheaper(cloud(capacity={"machines": 1}))
    daemon.configure(settings({"east": east, "west": west}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    wait_until("a host of each is there", lambda: {host["provider"] for host in daemon.live()} == {"east", "west"})
    assert daemon.stop() == 0

    # A fault is named with its place, down to the column.
    text = daemon.config.read_text()
    line, column = place_of(text, '"600ms"')
    daemon.config.write_text(text.replace('"600ms"', '"soon"'))
    status, said = refusal(daemon.config)
    assert status == 64
    assert said.startswith(f"{daemon.config}:{line}:{column} policy.reclaim.idle_time: "), said

    # A provider of which something still costs money can't be left out.
    daemon.configure(settings({"east": east}))
    status, said = refusal(daemon.config)
    assert (status, said.count("\n")) == (78, 1)
    assert "lacks west" in said
    assert "put the entry back" in said
    # One line is all it said: nothing was taken over or started, not even the provider that is still configured.
    assert daemon.processes == []
    assert [thing["state"] for thing in daemon.books("west")] == ["running"]

    daemon.configure(settings({"east": east, "west": west}))
    daemon.start()
    assert {host["provider"] for host in daemon.live()} == {"east", "west"}
    give_back(daemon, revision=2000)
    check_accounts(daemon, "east", "west")
    # Nothing is owed any more, so it may go.
    assert daemon.stop() == 0
    daemon.configure(settings({"east": east}))
    daemon.start()
    assert [p["provider"] for p in daemon.rest.get("/v1/providers")["providers"]] == ["east"]


def test_a_daemon_whose_log_nobody_reads_any_more_goes_on_and_ends_in_order(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud()}))
    reading, writing = os.pipe()
    daemon.launch(log=writing)
    os.close(writing)
    wait_until("it is ready", lambda: daemon.provider("east")["ready"])
    os.close(reading)
    # Each of these has its line in the log: the end of a provider, its new start, the end of the daemon.
    first = daemon.signal_provider("east", signal.SIGKILL)
    wait_until("another process serves", lambda: daemon.provider("east")["pid"] not in (None, first))
    wait_until("it is ready again", lambda: daemon.provider("east")["ready"])
    assert daemon.stop() == 0
    assert daemon.processes == []


def test_what_an_operator_should_see_is_a_warning_and_an_end_in_order_is_none(daemon: Daemon) -> None:
    faulty = cloud()
    faulty["config"]["lead_time"] = "soon"
    daemon.configure(settings({"east": cloud(), "west": faulty}))
    daemon.start(providers_too=False)
    wait_until("one is parked", lambda: daemon.provider("west")["state"] == "parked")
    wait_until("the other is ready", lambda: daemon.provider("east")["ready"])
    wait_until("the parked one has ended", lambda: "provider_ended" in daemon.log)
    assert {"handshake_failed", "provider_parked"} <= set(told(daemon, "warning"))
    first = daemon.signal_provider("east", signal.SIGKILL)
    wait_until("another process serves", lambda: daemon.provider("east")["pid"] not in (None, first))
    assert "provider_ended" in told(daemon, "warning")
    wait_until("it is ready again", lambda: daemon.provider("east")["ready"])
    before = len(told(daemon, "warning"))
    assert daemon.stop() == 0
    assert len(told(daemon, "warning")) == before
