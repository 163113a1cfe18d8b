"""A provider that states no price but quotes one: it is asked, and bought from at what it quoted."""

from tests.e2e.clouds import SOURCE, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import give_back
from tests.e2e.test_extending import heard
from tests.e2e.test_versions import plain
from tests.e2e.waiting import wait_until

TWO_HOSTS = {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 2, "each": {"cores": 2}}]}


def test_qt_2_an_unpriced_host_is_bought_at_the_price_that_was_quoted_for_it(daemon: Daemon) -> None:
    daemon.configure(settings({"east": plain(capabilities=["quote"])}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", TWO_HOSTS)
    wait_until("two are there", lambda: len(daemon.live()) == 2)
    assert heard(daemon, "quote") == [{"template": "small", "units": 2}]
    [sent] = heard(daemon, "request")
    assert (sent["quote"], sent["price_cap"]["amount"], sent["units"]) == ("q-0", "0.7", 2)
    [purchase] = daemon.purchases()
    assert purchase["quote"] == "q-0"
    assert {i["price"]["amount"] for i in daemon.live()} == {"0.7"}
    give_back(daemon)
