"""The conversation of a cluster with a provisioner: its pace, its patience, its end. Virtual time, no process."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import trio
from attrs import define, field
from trio.testing import MockClock

from provisioner.sim.cluster import Cluster
from provisioner.sim.door import Answer, Unanswered
from provisioner.sim.player import Pace, Player, Progress, Spoiled, decision_texts
from provisioner.sim.workload import Job

PACE = Pace(speed=10.0, tick_s=1.0, heartbeat_s=5.0, outage_s=20.0, settle_s=60.0)


@define(eq=False)
class Provisioner:
    """Answers as one that gives a host of four cores for whatever is lacking, and takes back what is drained."""

    takes_back: bool = True
    silent_s: tuple[float, float] = (0.0, 0.0)
    refuses: bool = False
    hosts: dict[str, dict[str, Any]] = field(factory=dict)
    pushes: list[tuple[float, dict[str, Any]]] = field(factory=list)

    async def call(self, method: str, target: str, body: object) -> Answer:
        await trio.lowlevel.checkpoint()
        if self.silent_s[0] <= trio.current_time() < self.silent_s[1]:
            raise Unanswered("nobody is there")
        if method == "PUT":
            assert isinstance(body, dict)
            return self._pushed(body)
        return Answer(200, self._answer(target))

    def _pushed(self, body: dict[str, Any]) -> Answer:
        if self.refuses:
            return Answer(409, {"error": {"code": "stale_revision", "message": "this revision is older"}})
        self.pushes.append((trio.current_time(), body))
        for line in body["demand"]["lines"]:
            for n in range(-(-line["count"] // 4)):
                self._host(f"in-{n}")
        for entry in body["supply"]["entries"]:
            if entry["state"] == "idle" and self.takes_back:
                self.hosts[entry["instance"]]["drain"] = {"id": f"d-{entry['instance']}"}
            elif entry["state"] == "drained":
                del self.hosts[entry["instance"]]
        return Answer(200, {})

    def _host(self, id: str) -> None:
        shown = {"id": id, "kind": "host", "state": "running", "provider": "east", "name": f"{id}.internal"}
        self.hosts.setdefault(id, {**shown, "attributes": {"cores": 4}, "drain": None, "notice": None})

    def _answer(self, target: str) -> dict[str, Any]:
        match target:
            case "/v1/instances?live=true":
                # Two pages, so that a listing is read to its end.
                return {"instances": list(self.hosts.values())[:1], "next": "/v1/instances?after=1"}
            case "/v1/instances?after=1":
                return {"instances": list(self.hosts.values())[1:], "next": None}
            case "/v1/requests?open=true":
                return {"requests": [], "next": None}
            case "/v1/costs":
                return {"total": "0.5", "currency": "USD"}
            case _:
                return {"decisions": []}


def played(
    provisioner: Provisioner, *jobs: Job, meanwhile: Callable[[Player], None] = lambda player: None
) -> tuple[Cluster, list[Progress]]:
    """The cluster after its whole play, and every moment that was shown."""
    cluster, shown = Cluster(jobs, join_delay_s=10.0), list[Progress]()

    async def play() -> None:
        player = Player(cluster, len(jobs), provisioner.call, PACE, lambda: 1_900_000_000.0)

        def show(progress: Progress) -> None:
            shown.append(progress)
            meanwhile(player)

        await player.run(show)

    trio.run(play, clock=MockClock(autojump_threshold=0))
    return cluster, shown


JOBS = (Job("1", 0.0, 100.0, 6), Job("2", 50.0, 100.0, 3))


def test_a_play_ends_when_every_job_is_done_and_every_host_given_back() -> None:
    provisioner = Provisioner()
    cluster, shown = played(provisioner, *JOBS)
    assert (cluster.done, cluster.is_over, provisioner.hosts) == (2, True, {})
    assert (shown[-1].done, shown[-1].cost, shown[-1].hosts) == (2, "0.5", {})
    assert max(moment.hosts.get("east", {}).get("running", 0) for moment in shown) == 2


def test_revisions_grow_with_every_push_and_are_higher_than_those_of_an_earlier_play() -> None:
    provisioner = Provisioner()
    played(provisioner, *JOBS)
    revisions = [body["supply"]["revision"] for _, body in provisioner.pushes]
    assert revisions == list(range(revisions[0], revisions[0] + len(revisions)))
    assert revisions[0] > 1_900_000_000_000
    assert all(body["demand"]["supply_revision"] == body["supply"]["revision"] for _, body in provisioner.pushes)


def test_what_does_not_change_is_said_again_as_a_heartbeat_only() -> None:
    provisioner = Provisioner(takes_back=False)
    with pytest.raises(Spoiled):
        played(provisioner, Job("1", 0.0, 10.0, 1))
    times = [at for at, _ in provisioner.pushes][-8:]
    assert [late - early for early, late in pairwise(times)] == [5.0] * 7


def test_an_outage_shorter_than_the_bound_is_borne_and_counted_once() -> None:
    provisioner = Provisioner(silent_s=(5.0, 20.0))
    outages: list[int] = []
    cluster, _ = played(provisioner, *JOBS, meanwhile=lambda player: outages.append(player.outages))
    assert (cluster.done, outages[-1]) == (2, 1)


def test_an_outage_longer_than_the_bound_spoils_the_play() -> None:
    with pytest.raises(Spoiled, match="did not answer for 20 s: nobody is there"):
        played(Provisioner(silent_s=(5.0, 30.0)), *JOBS)


def test_a_refused_push_spoils_the_play_with_the_refusals_own_words() -> None:
    with pytest.raises(Spoiled, match="refused with status 409: this revision is older"):
        played(Provisioner(refuses=True), *JOBS)


def test_what_is_not_given_back_in_time_spoils_the_play_and_is_named() -> None:
    with pytest.raises(Spoiled, match=r"60 s after the last job this was not given back: in-0\.internal"):
        played(Provisioner(takes_back=False), *JOBS)


def test_a_play_that_is_stopped_drops_its_jobs_and_waits_for_the_give_back() -> None:
    provisioner = Provisioner()

    def stop_once_busy(player: Player) -> None:
        if player.cluster.running and not player.cluster.dropped:
            player.stop()

    cluster, shown = played(provisioner, Job("1", 0.0, 1e6, 4), meanwhile=stop_once_busy)
    assert (cluster.dropped, cluster.done, provisioner.hosts, shown[-1].stopping) == (1, 0, {}, True)


def decision(what: str, units: int | None, template: str | None = "c6i.large") -> dict[str, Any]:
    reason = {"code": "cheapest", "sentence": "cheapest useful offer"}
    return {"what": what, "units": units, "template": template, "provider": "east", "reason": reason}


def test_decisions_of_one_kind_in_a_row_are_told_as_one_with_their_units_added_up() -> None:
    told = decision_texts([decision("buy", 2), decision("buy", 3), decision("drain", None), decision("buy", 1)])
    assert told == (
        "buy 5 c6i.large at east: cheapest useful offer",
        "drain 1 c6i.large at east: cheapest useful offer",
        "buy 1 c6i.large at east: cheapest useful offer",
    )
