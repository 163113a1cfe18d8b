"""What is decided about real hosts: work stops a give-back, what can't be had costs nothing, the next is asked."""

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cheaper, cloud, quick_policy, settings
from tests.e2e.daemon import Daemon
from tests.e2e.rest import Json
from tests.e2e.scheduler import Scheduler, entry, give_back, jobs
from tests.e2e.waiting import wait_until


def test_a_host_that_becomes_busy_after_it_was_asked_to_drain_is_not_given_back(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud()}))
    daemon.start()
    Scheduler(daemon, jobs((0, 60, 2), (0, 60, 2))).until("two hosts run", lambda: len(daemon.live()) == 2)
    wait_until("both are up", lambda: {host["state"] for host in daemon.live()} == {"running"})
    taken, spare = sorted(host["id"] for host in daemon.live())
    revision = 100

    def tell(states: Json) -> dict[str, Json]:
        """Pushes what the source says of each host, and gives what the daemon shows then."""
        nonlocal revision
        revision += 1
        live = {host["id"]: host for host in daemon.live()}
        entries = [entry(live[id], state) for id, state in states.items() if id in live]
        supply, demand = {"revision": revision, "entries": entries}, {"revision": revision, "lines": []}
        daemon.rest.put(f"/v1/cluster/{SOURCE}", {"supply": supply, "demand": demand})
        return {host["id"]: host for host in daemon.live()}

    idle = {taken: "idle", spare: "idle"}
    wait_until("both are asked to drain", lambda: all(host["drain"] for host in tell(idle).values()))
    assert {host["state"] for host in daemon.live()} == {"draining"}

    # The one has begun to work meanwhile, the other keeps the promise: that its life ends shows that time has passed.
    at_work = {taken: "busy", spare: "drained"}
    wait_until("the other is gone", lambda: spare not in tell(at_work))
    after = tell(at_work)[taken]
    assert (after["state"], after["drain"], after["return"]) == ("busy", None, None)
    assert [back["instances"] for back in daemon.give_backs()] == [[spare]]
    states = {thing["instance"]: thing["state"] for thing in daemon.books("east")}
    assert states[after["provider_id"]] == "running"

    # Its work done, it is asked anew and goes.
    wait_until("it is asked again", lambda: tell({taken: "idle"})[taken]["drain"])
    drains = [d["id"] for d in daemon.decisions("drain") if d["subject"] == taken]
    assert len(drains) == 2
    give_back(daemon)
    check_accounts(daemon, "east")


IMPOSSIBLE: dict[str, tuple[Json, str, str]] = {
    "attribute": ({"where": {"gpu_model": "H100"}}, "constraint", "gpu_model"),
    "bundle": ({"each": {"cores": 500}}, "too_small", "cores"),
    "price": ({"max_price": "0.01 USD/h"}, "over_max_price", "0.36 > 0.01"),
}


def test_demand_that_nothing_can_satisfy_stays_open_with_the_constraint_and_costs_nothing(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud(), "west": cheaper(cloud())}))
    daemon.start()
    plain = {"kind": "host", "count": 3, "each": {"cores": 1}}
    lines = [{"id": id, **plain, **asked} for id, (asked, _, _) in IMPOSSIBLE.items()]
    daemon.rest.put("/v1/demand/wishes", {"revision": 1, "lines": lines})
    # What others want is bought, used and given back meanwhile: the wishes had every chance.
    play = Scheduler(daemon, jobs((0, 0.5, 2)))
    play.until("a whole life of another host has passed", lambda: play.is_over)

    for line in daemon.rest.get("/v1/demand/wishes")["lines"]:
        _, code, named = IMPOSSIBLE[line["id"]]
        assert (line["met"], line["in_flight"], line["open"]) == (0, 0, 3)
        assert named in line["reason"]["sentence"], line
        assert {(r["provider"], r["code"]) for r in line["rejected"]} == {("east", code), ("west", code)}
    # Said once each, not at every pass.
    assert sorted(d["subject"] for d in daemon.decisions("nothing")) == [f"wishes/{id}" for id in sorted(IMPOSSIBLE)]
    assert {share["source"] for p in daemon.purchases() for share in p["for"]} == {SOURCE}
    assert [thing["state"] for thing in daemon.books("west")] == ["gone"]
    assert daemon.books("east") == []
    check_accounts(daemon, "east", "west")


def test_what_the_cheapest_cloud_refuses_is_asked_of_the_next_at_once(daemon: Daemon) -> None:
    """No timer can be what asks the second: the next pass by the clock is an hour away, and nothing is pushed again."""
    sold_out = cheaper(cloud(capacity={"machines": 1, "stated": False}))
    hourly = quick_policy(tick="1h", back_off={"first": "1h", "most": "2h"})
    daemon.configure(settings({"east": cloud(), "west": sold_out}, policy=hourly))
    daemon.start()
    line = {"id": "a", "kind": "host", "count": 3, "each": {"cores": 2}}
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [line]})
    wait_until("all three are there", lambda: len(daemon.live()) == 3)

    # The whole story in three entries: the cheapest for all, what it had, the rest of the next; no idle pass between.
    told = [(d["what"], d["provider"], d["units"]) for d in daemon.decisions()]
    assert told == [("buy", "west", 3), ("buy", "east", 2)]
    purchases = {p["provider"]: p for p in daemon.purchases()}
    assert (purchases["west"]["state"], purchases["west"]["made"]) == ("short", 1)
    assert [problem["error_class"] for problem in purchases["west"]["problems"]] == ["no_capacity"]
    assert (purchases["east"]["state"], purchases["east"]["made"]) == ("fulfilled", 2)
    [blocked] = daemon.provider("west")["blocked"]
    assert (blocked["template"], blocked["error_class"], blocked["failures"]) == ("*", "no_capacity", 1)


def test_a_definite_refusal_of_everything_is_asked_of_the_next_at_once(daemon: Daemon) -> None:
    refusing = cheaper(cloud(failures={"no_capacity": 1}))
    daemon.configure(settings({"east": cloud(), "west": refusing}, policy=quick_policy(tick="1h")))
    daemon.start()
    line = {"id": "a", "kind": "host", "count": 2, "each": {"cores": 2}}
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [line]})
    wait_until("both are there", lambda: len(daemon.live()) == 2)
    assert [(d["what"], d["provider"], d["units"]) for d in daemon.decisions()] == [
        ("buy", "west", 2),
        ("buy", "east", 2),
    ]
    [refused] = [p for p in daemon.purchases() if p["provider"] == "west"]
    assert (refused["state"], refused["reserve"]) == ("refused", "0")
    assert daemon.rest.get("/v1/costs")["reserved"] == "0"
    [second] = [d for d in daemon.decisions() if d["provider"] == "east"]
    assert ("west", "small", "backed_off") in {(r["provider"], r["template"], r["code"]) for r in second["rejected"]}
    assert daemon.books("west") == []
