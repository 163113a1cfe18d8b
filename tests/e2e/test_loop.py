"""The whole loop: demand in, hosts bought where they are cheapest, used, drained, given back, paid for exactly."""

from decimal import Decimal

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import cheaper, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import Scheduler, jobs


def test_demand_is_bought_cheapest_first_used_drained_given_back_and_accounted_for(daemon: Daemon) -> None:
    small = cheaper(cloud(capacity={"machines": 2}, seed=2))
    daemon.configure(settings({"east": cloud(), "west": small}))
    daemon.start()
    # Ten cores at once are five hosts: the two that the cheaper cloud has, and three of the other.
    play = Scheduler(daemon, jobs((0, 2, 4), (0, 1.5, 2), (0, 1, 4), (2.5, 1, 2)))
    play.until("everything is done and given back", lambda: play.is_over)

    cluster = play.cluster
    assert (cluster.done, cluster.broken, cluster.taken) == (4, [], [])
    # Both were decided in one pass, at one time.
    bought = [(d["provider"], d["units"], d["reason"]["code"]) for d in daemon.decisions("buy")[:2]]
    assert sorted(bought) == [("east", 3, "cheapest"), ("west", 2, "cheapest")]
    assert {"busy", "draining"} <= play.seen_states

    check_accounts(daemon, "east", "west")
    costs, instances = daemon.rest.get("/v1/costs"), daemon.instances()
    assert len(instances) >= 5
    assert Decimal(costs["total"]) == sum(Decimal(i["cost"]) for i in instances) > 0
    assert (costs["burn_per_hour"], costs["reserved"], costs["unpriced"]) == ("0", "0", 0)
    assert {i["state"] for i in instances} == {"gone"}
    assert {p["state"] for p in daemon.purchases()} == {"fulfilled"}
    assert {g["state"] for g in daemon.give_backs()} == {"returned"}
    for instance in instances:
        told = [d["what"] for d in daemon.rest.every(f"/v1/decisions?subject={instance['id']}")[::-1]]
        assert told[-1] == "drain", f"{instance['id']} was given back without being asked about: {told}"
