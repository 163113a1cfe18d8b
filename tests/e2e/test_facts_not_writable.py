"""While facts can't be written nothing is bought and pushes are told so; afterwards it goes on by itself."""

import resource
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.rest import Heard
from tests.e2e.scheduler import Scheduler, give_back, jobs
from tests.e2e.waiting import wait_until


def demand(revision: int, count: int) -> dict[str, object]:
    """Lacks so many two-core hosts."""
    line = {"id": "a", "kind": "host", "count": count, "each": {"cores": 2}}
    return {"revision": revision, "lines": [line] if count else []}


@contextmanager
def locked(daemon: Daemon) -> Iterator[None]:
    """Another program holds the right to write, as a careless backup does."""
    with closing(sqlite3.connect(daemon.facts, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(daemon: Daemon) -> Iterator[None]:
    """No file of the daemon's may grow over what its biggest has, as on a disk that is full; root is held to it too."""
    assert daemon.child is not None
    biggest = max(path.stat().st_size for path in daemon.folder.iterdir() if path.is_file())
    _, most = resource.prlimit(daemon.child.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.child.pid, resource.RLIMIT_FSIZE, (biggest, most))
    yield
    resource.prlimit(daemon.child.pid, resource.RLIMIT_FSIZE, (most, most))


def test_a_push_that_can_not_be_committed_is_refused_and_buys_nothing_until_facts_can_be_written(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": cloud()}))
    daemon.start()
    with locked(daemon):
        refused = daemon.rest.ask("PUT", f"/v1/demand/{SOURCE}", demand(1, 2))
        assert (refused.status, refused.code) == (503, "facts_not_writable"), refused
        again = daemon.rest.ask("PUT", f"/v1/demand/{SOURCE}", demand(2, 2))
        assert (again.status, again.code) == (503, "facts_not_writable"), again
        health = daemon.rest.get("/v1/health")
        assert (health["status"], health["facts"]["writable"]) == ("degraded", False)
        assert "can't be written" in health["reasons"][0]
        # What is known can still be read; what was refused is not part of it.
        assert daemon.rest.get("/v1/demand") == {"sources": []}
        assert (daemon.purchases(), daemon.books("east")) == ([], [])

    wait_until("it is writable again by itself", lambda: daemon.rest.get("/v1/health")["status"] == "ok")
    assert daemon.rest.get("/v1/demand") == {"sources": []}
    assert daemon.books("east") == []
    daemon.rest.put(f"/v1/demand/{SOURCE}", demand(2, 2))
    wait_until("both are bought", lambda: len(daemon.live()) == 2)
    give_back(daemon)
    check_accounts(daemon, "east")


def test_facts_that_can_not_be_written_for_a_while_in_the_middle_of_the_loop_lose_and_double_nothing(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": cloud(fulfil_time="500ms")}))
    daemon.start()
    play = Scheduler(daemon, jobs((0, 1, 4), (0, 1, 2)))
    play.until("a purchase is under way", lambda: bool(play.open))
    before = len(daemon.purchases())
    with locked(daemon):
        wait_until("a commit has failed", lambda: not daemon.rest.get("/v1/health")["facts"]["writable"])
        held_s = time.monotonic() + 1.0
        while time.monotonic() < held_s:
            play.step()
        assert len(daemon.purchases()) == before
    play.until("everything is done and given back", lambda: play.is_over)
    assert (play.cluster.done, play.cluster.broken) == (2, [])
    check_accounts(daemon, "east")


def test_a_disk_that_is_full_stops_buying_and_not_the_daemon(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud()}))
    daemon.start()
    assert daemon.child is not None
    revision = 0

    def push() -> Heard:
        nonlocal revision
        revision += 1
        return daemon.rest.ask("PUT", f"/v1/demand/{SOURCE}", demand(revision, 0))

    with full(daemon):
        refused = wait_until("the disk is full", lambda: (heard := push()).status != 200 and heard)
        assert refused is not False
        assert (refused.status, refused.code) == (503, "facts_not_writable"), refused
        wanted = daemon.rest.ask("PUT", f"/v1/demand/{SOURCE}", demand(revision + 1, 2))
        assert wanted.status == 503, wanted
        assert (daemon.purchases(), daemon.books("east"), daemon.child.poll()) == ([], [], None)
    wait_until("it is writable again by itself", lambda: daemon.rest.get("/v1/health")["status"] == "ok")
    daemon.rest.put(f"/v1/demand/{SOURCE}", demand(revision + 1, 2))
    wait_until("both are bought", lambda: len(daemon.live()) == 2)
    give_back(daemon)
    check_accounts(daemon, "east")
    assert daemon.stop() == 0
    with closing(sqlite3.connect(f"file:{daemon.facts}?mode=ro", uri=True)) as facts:
        assert facts.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
