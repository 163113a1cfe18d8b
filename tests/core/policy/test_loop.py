"""The whole loop in pure steps: demand in, hosts bought, hosts given back, nothing lost."""

import random

import pytest

from provisioner.core.settings import Drain, Join, PolicySettings, Reclaim
from tests.core.policy import builders as b
from tests.core.policy.played_cluster import Job, PlayedCluster

QUICK = PolicySettings(
    shrink_delay_s=5.0,
    reclaim=Reclaim(idle_time_s=20.0),
    drain=Drain(answer_within_s=10.0, retry_s=30.0),
    join=Join(first_s=60.0),
)


def cluster(jobs: list[Job], *, answers_drains: bool = True) -> PlayedCluster:
    offers = {b.EAST: b.described(b.template("big", 4.0, cores=16), b.template("small", 1.2, cores=4))}
    return PlayedCluster(b.settings(policy=QUICK), b.world(offers=offers), jobs, answers_drains=answers_drains)


def play(played: PlayedCluster, most_s: int = 2000) -> None:
    while not played.is_over:
        played.step()
        assert played.t < most_s, "everything is finished and given back in time"


def test_one_job_is_served_by_as_much_as_it_needs_and_all_is_given_back() -> None:
    played = cluster([(1, 30, 18)])
    play(played)
    assert played.finished == 1
    assert played.peak == 2, "one big and one small host"
    assert not played.broken


@pytest.mark.parametrize("seed", range(6))
def test_random_jobs_are_all_finished_and_no_busy_host_is_ever_given_back(seed: int) -> None:
    draw = random.Random(seed)
    jobs = [(draw.randrange(300), draw.randrange(1, 90), draw.choice([1, 1, 2, 4, 8, 16, 40])) for _ in range(40)]
    played = cluster(list(jobs))
    play(played)
    assert played.finished == len(jobs)
    assert not played.broken
    assert played.peak * 4 <= sum(job[2] for job in jobs) + 4 * 16


@pytest.mark.parametrize("seed", range(4))
def test_restarts_at_any_moment_buy_nothing_twice_and_lose_nothing(seed: int) -> None:
    draw = random.Random(100 + seed)
    jobs = [(draw.randrange(200), draw.randrange(20, 90), draw.choice([1, 4, 16, 40])) for _ in range(25)]
    calm, shaken = cluster(list(jobs)), cluster(list(jobs))
    play(calm)
    while not shaken.is_over:
        if draw.random() < 0.1:
            shaken.restart()
        shaken.step()
        assert shaken.t < 3000
    assert shaken.finished == len(jobs)
    assert not shaken.broken
    assert shaken.bought_units <= calm.bought_units


def test_a_steady_demand_is_not_bought_for_twice_while_hosts_start_and_join() -> None:
    played = cluster([(0, 200, 16)] * 4)
    play(played)
    assert played.bought_units == 4
    assert played.finished == 4


def test_hosts_are_kept_and_used_again_while_work_comes_within_idle_time() -> None:
    played = cluster([(n * 25, 15, 16) for n in range(12)])
    play(played)
    assert played.bought_units == 1


def test_a_source_that_never_answers_a_drain_loses_no_host_to_silence() -> None:
    played = cluster([(0, 10, 16)], answers_drains=False)
    for _ in range(300):
        played.step()
    assert len(played.world.live) == 1
    assert not played.world.returns


def test_demand_that_is_gone_before_the_host_joined_costs_no_second_purchase() -> None:
    played = cluster([(0, 10, 16)])
    for _ in range(3):
        played.step()
    played.queue.clear()
    play(played)
    assert played.bought_units == 1
