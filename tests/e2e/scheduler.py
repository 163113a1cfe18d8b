"""A small scheduler beside a real daemon: it runs jobs on the hosts it sees, tells what is true, and bears outages."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from attrs import define, field

from provisioner.sim.cluster import Cluster
from provisioner.sim.wire import cluster_body, hosts_of
from provisioner.sim.workload import Job
from tests.e2e.clouds import SOURCE
from tests.e2e.daemon import Daemon
from tests.e2e.rest import Json, Unanswered
from tests.e2e.waiting import LOOK_EVERY_S, PATIENCE_S, wait_until

JOIN_DELAY_S = 0.3
OPEN = frozenset({"running", "joined", "idle", "busy", "draining"})


def jobs(*rows: tuple[float, float, int]) -> list[Job]:
    """Jobs from (submitted, run time, cores), in seconds."""
    return [Job(str(n), submit_s, run_s, cores) for n, (submit_s, run_s, cores) in enumerate(rows)]


@define(eq=False)
class Scheduler:
    """Plays `work` in real time against one daemon, which may be gone and come back at any moment."""

    daemon: Daemon
    work: Iterable[Job]
    cluster: Cluster = field(init=False)
    live: list[dict[str, Any]] = field(factory=list, init=False)
    open: list[dict[str, Any]] = field(factory=list, init=False)
    seen_states: set[str] = field(factory=set, init=False)
    """Every state in which an instance was ever shown."""
    is_heard: bool = field(default=False, init=False)
    _began_s: float = field(factory=time.monotonic, init=False)
    _began_at: float = field(factory=time.time, init=False)
    _revision: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.cluster = Cluster(list(self.work), JOIN_DELAY_S)

    def step(self) -> None:
        """One look and one push, or none where the daemon does not answer."""
        self.is_heard = False
        try:
            self.live = self.daemon.live()
            self.open = self.daemon.open_requests()
            self._act()
        except Unanswered:
            return
        self.is_heard = True

    def until(self, what: str, holds: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        """Goes on until something holds after an answered step; AssertionError when the time is over."""
        over_s = time.monotonic() + within_s
        while True:
            self.step()
            if self.is_heard and holds():
                return
            assert time.monotonic() < over_s, (
                f"after {within_s:g} s it was still awaited that {what}; {self._standing()}"
            )
            time.sleep(LOOK_EVERY_S)

    @property
    def is_over(self) -> bool:
        """Whether all work is done, everything given back and nothing open."""
        return self.is_heard and self.cluster.is_over and not self.live and not self.open

    def _act(self) -> None:
        now_s = time.monotonic() - self._began_s
        self.seen_states |= {instance["state"] for instance in self.live}
        self.cluster.see(hosts_of(self.live), now_s)
        self.cluster.advance(now_s)
        self._revision += 1
        body = cluster_body(self._revision, self.cluster.entries(), self.cluster.lack, lambda s: self._began_at + s)
        self.daemon.rest.put(f"/v1/cluster/{SOURCE}", body)

    def _standing(self) -> str:
        cluster = self.cluster
        hosts = [(i["provider"], i["state"], i["drain"]) for i in self.live]
        return (
            f"{cluster.queued} queued, {cluster.running} running, {cluster.done} done; hosts {hosts}; "
            f"open {[(r['kind'], r['state'], r['reason']) for r in self.open]}"
        )


def give_back(daemon: Daemon, revision: int = 1000, also: Callable[[], object] = lambda: None) -> None:
    """As a source that lacks nothing and runs nothing on what it has, until all is gone; `also` is done meanwhile."""

    def none_left() -> bool:
        nonlocal revision
        revision += 1
        also()
        live = daemon.live()
        entries = [entry(host, "drained" if host["drain"] else "idle") for host in live if host["state"] in OPEN]
        supply, demand = {"revision": revision, "entries": entries}, {"revision": revision, "lines": []}
        daemon.rest.put(f"/v1/cluster/{SOURCE}", {"supply": supply, "demand": demand})
        return not live and not daemon.open_requests()

    wait_until("everything is given back", none_left)


def entry(host: Json, state: str) -> dict[str, Any]:
    """What a source says of a host; it answers the drain there is."""
    answers = {"drain": host["drain"]["id"]} if host["drain"] else {}
    return {"instance": host["id"], "name": host["name"], "state": state, **answers}
