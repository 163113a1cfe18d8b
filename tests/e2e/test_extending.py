"""Hosts on a lease: they stay as long as work runs on them, and that a provider grants no more is shown in time."""

import json
from typing import Any

from tests.e2e.clouds import SOURCE, quick_policy, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import entry, give_back
from tests.e2e.test_versions import plain
from tests.e2e.waiting import wait_until

LEASE_S = 6


def leased(daemon: Daemon, **config: object) -> dict[str, Any]:
    """A daemon with one busy host on a lease of this provider."""
    policy = quick_policy(extend={"ahead": "4s", "stay": "20s"})
    daemon.configure(settings({"east": plain(lease_s=LEASE_S, **config)}, policy=policy))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1}]})
    [host] = wait_until("a host is there", daemon.live)
    supply = {"revision": 2, "entries": [entry(host, "busy")]}
    daemon.rest.put(f"/v1/cluster/{SOURCE}", {"supply": supply, "demand": {"revision": 2, "lines": []}})
    return host


def heard(daemon: Daemon, method: str) -> list[dict[str, Any]]:
    """The params of each call of this method that the provider heard."""
    lines = (daemon.folder / "providers" / "east" / "state" / "heard.jsonl").read_text().splitlines()
    return [call["params"] for call in map(json.loads, lines) if call["method"] == method]


def test_a_busy_host_outlives_one_lease_after_the_other_and_goes_by_an_ordinary_return(daemon: Daemon) -> None:
    host = leased(daemon, capabilities=["extend"])
    ends: set[str] = {host["expires_at"]}

    def put_off_three_times() -> bool:
        [now] = daemon.live()
        assert now["id"] == host["id"]
        assert now["extension"] is None
        ends.add(now["expires_at"])
        return len(ends) > 3

    wait_until("its end was put off three times", put_off_three_times)
    said = heard(daemon, "extend")
    assert all(call["epoch"] == 1 and call["not_after"] > 0 for call in said)
    assert {item["instance"] for call in said for item in call["items"]} == {host["provider_id"]}
    give_back(daemon)
    assert len(heard(daemon, "return")) == 1


def test_a_refusal_to_put_the_end_off_is_shown_before_the_host_is_lost(daemon: Daemon) -> None:
    leased(daemon, capabilities=["extend"], extends_not="quota")
    told = wait_until("the refusal is shown", lambda: refusal(daemon))
    assert told["problem"] == {"error_class": "quota"}
    assert told["tries"] >= 1
    assert told["next_try_at"] is not None


def refusal(daemon: Daemon) -> dict[str, Any]:
    """Why the end of the only host could not be put off; empty if it was not refused."""
    return next((i["extension"] for i in daemon.live() if i["extension"]), {})


def test_gr_3_a_provider_that_did_not_declare_it_is_never_asked_for_a_later_end(daemon: Daemon) -> None:
    host = leased(daemon)
    lists = len(heard(daemon, "list"))
    # The lease ends unasked: as many lists have passed as would have shown a later end.
    wait_until("the lease is over", lambda: len(heard(daemon, "list")) > lists + 3 and ended(daemon, host))
    sent = {call for call in ("quote", "cancel", "extend", "forget") if heard(daemon, call)}
    assert not sent
    assert all("known" not in call for call in heard(daemon, "describe"))


def ended(daemon: Daemon, host: dict[str, Any]) -> bool:
    """Whether the provider lists the host no more, by its own clock."""
    [now] = [i for i in daemon.instances() if i["id"] == host["id"]]
    return bool(now["expires_at"] < daemon.provider("east")["listed_at"])
