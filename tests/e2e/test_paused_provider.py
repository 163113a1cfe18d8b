"""A provider that stands still and goes on later: what was asked of it is made once or not at all, and known."""

import os
import signal
import time

import pytest

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import give_back
from tests.e2e.waiting import wait_until

TWO_HOSTS = {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 2, "each": {"cores": 2}}]}
CALL_S = 1


def hurried(**changes: object) -> dict[str, object]:
    """A cloud that is given a second for each call."""
    return {**cloud(**changes), "limits": {"stop": "500ms", "call": f"{CALL_S}s"}}


def sent_at(daemon: Daemon) -> float:
    """When the frame of the only purchase was bound to its process, by our clock."""
    wait_until("the purchase is being sent", lambda: any(p["sent_at"] for p in daemon.purchases()))
    return time.monotonic()


@pytest.mark.parametrize("stands_still_s", [CALL_S + 0.5, CALL_S + 3.0])
def test_a_provider_paused_before_it_reads_a_purchase_and_resumed_after_the_deadline_makes_nothing_twice(
    daemon: Daemon, stands_still_s: float
) -> None:
    daemon.configure(settings({"east": hurried()}))
    daemon.start()
    pid = daemon.signal_provider("east", signal.SIGSTOP)
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    over_s = sent_at(daemon) + stands_still_s
    assert daemon.books("east") == []
    # The deadline is a time and no event: it has to pass.
    time.sleep(max(0.0, over_s - time.monotonic()))
    os.kill(pid, signal.SIGCONT)
    check_two_hosts_are_there_once(daemon)


def test_a_provider_paused_in_the_middle_of_a_purchase_makes_nothing_twice(daemon: Daemon) -> None:
    # The far side begins a second after the frame came; the pause begins in between and ends after the deadline.
    daemon.configure(settings({"east": hurried(faults={"calls": [{"on": "request", "do": "delay", "for": "600ms"}]})}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    over_s = sent_at(daemon) + CALL_S + 1
    pid = daemon.signal_provider("east", signal.SIGSTOP)
    time.sleep(max(0.0, over_s - time.monotonic()))
    os.kill(pid, signal.SIGCONT)
    check_two_hosts_are_there_once(daemon)


def test_a_provider_paused_and_then_killed_after_the_deadline_has_a_successor_that_makes_nothing_twice(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": hurried()}))
    daemon.start()
    pid = daemon.signal_provider("east", signal.SIGSTOP)
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    over_s = sent_at(daemon) + CALL_S + 0.5
    time.sleep(max(0.0, over_s - time.monotonic()))
    os.kill(pid, signal.SIGKILL)
    wait_until("another process serves", lambda: daemon.provider("east")["pid"] not in (None, pid))
    check_two_hosts_are_there_once(daemon)


def check_two_hosts_are_there_once(daemon: Daemon) -> None:
    """What was wanted is there and nothing more, nothing is open, and books and facts are one to the end."""
    wait_until("what was wanted is there", lambda: len(daemon.live()) == 2 and not daemon.open_requests())
    [line] = daemon.rest.get(f"/v1/demand/{SOURCE}")["lines"]
    assert (line["met"] + line["in_flight"], line["open"]) == (2, 0)
    assert len(daemon.books("east")) == 2
    assert {p["state"] for p in daemon.purchases()} <= {"fulfilled", "refused", "not_made"}
    assert [p["made"] for p in daemon.purchases() if p["made"]] == [2]
    give_back(daemon)
    check_accounts(daemon, "east")
