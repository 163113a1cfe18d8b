"""A purchase that takes its time and is not wanted any more is ended before it costs anything, also over a kill -9."""

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until

SLOW = "300s"


def wanted(daemon: Daemon, revision: int, *lines: dict[str, object]) -> None:
    """Both snapshots of the one source: no hosts, and these lines."""
    demand = {"revision": revision, "supply_revision": revision, "lines": list(lines)}
    daemon.rest.put(f"/v1/cluster/{SOURCE}", {"supply": {"revision": revision, "entries": []}, "demand": demand})


def taken(daemon: Daemon) -> bool:
    """Whether the provider works on the one purchase."""
    return [p["state"] for p in daemon.purchases()] == ["taken"]


def test_a_pending_purchase_is_ended_when_its_demand_goes_away(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud(fulfil_time=SLOW)}))
    daemon.start()
    wanted(daemon, 1, {"id": "q", "kind": "host", "count": 4, "each": {"cores": 1}})
    wait_until("the purchase is taken", lambda: taken(daemon))

    wanted(daemon, 2)
    wait_until("the purchase is over", lambda: [p["state"] for p in daemon.purchases()] == ["not_made"])

    (purchase,) = daemon.purchases()
    assert purchase["cancel_why"] == "no longer wanted; the provider is asked to make no more of it"
    assert [d["what"] for d in daemon.rest.every(f"/v1/decisions?subject={purchase['id']}")] == ["cancel", "buy"]
    costs = daemon.rest.get("/v1/costs")
    assert (costs["total"], costs["reserved"]) == ("0", "0")
    assert daemon.instances() == []
    check_accounts(daemon, "east")


def test_an_end_that_was_decided_is_carried_out_by_the_next_daemon(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud(fulfil_time=SLOW)}))
    daemon.start()
    wanted(daemon, 1, {"id": "q", "kind": "host", "count": 4, "each": {"cores": 1}})
    wait_until("the purchase is taken", lambda: taken(daemon))
    wanted(daemon, 2)
    wait_until("it is to be ended", lambda: daemon.purchases()[0]["cancel_at"] is not None)
    daemon.kill()
    daemon.start()
    wait_until("the purchase is over", lambda: [p["state"] for p in daemon.purchases()] == ["not_made"])
    check_accounts(daemon, "east")
