"""The simulated cloud without stated prices, with machines that end: bought by a quote, told while it is made, kept."""

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cloud, quick_policy, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import entry, give_back
from tests.e2e.waiting import wait_until

HOLD_S = 8


def test_a_machine_is_bought_by_a_quote_and_its_end_is_put_off_while_it_is_in_use(daemon: Daemon) -> None:
    east = cloud(faults={"prices": {"omit": ["*"]}}, hold={"max": f"{HOLD_S}s"}, fulfil_time="1500ms", answer_time="1s")
    policy = quick_policy(extend={"ahead": "5s", "stay": "20s"})
    daemon.configure(settings({"east": east}, policy=policy))
    daemon.start()
    assert daemon.provider("east")["contract"] == "2.1"
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1}]})
    wait_until("its progress is told", lambda: any(p["progress"] for p in daemon.purchases()))
    [host] = wait_until("it is there", daemon.live)
    [purchase] = daemon.purchases()
    assert purchase["quote"].startswith("q-")
    assert purchase["price"]["amount"] == "0.36"
    supply = {"revision": 2, "entries": [entry(host, "busy")]}
    daemon.rest.put(f"/v1/cluster/{SOURCE}", {"supply": supply, "demand": {"revision": 2, "lines": []}})
    wait_until("its end is put off", lambda: daemon.live()[0]["expires_at"] > host["expires_at"])
    assert daemon.live()[0]["extension"] is None
    give_back(daemon)
    check_accounts(daemon, "east")
