"""The small cluster: who runs where, what is lacking, how drains are answered, what is lost."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from provisioner.sim.cluster import Cluster, Entry, SeenHost
from provisioner.sim.workload import Job


def job(id: str, submit_s: float = 0.0, run_s: float = 100.0, cores: int = 1) -> Job:
    return Job(id, submit_s, run_s, cores)


def host(id: str, cores: int = 4, state: str = "running") -> SeenHost:
    return SeenHost(id, f"{id}.internal", "east", state, cores)


def cluster(*jobs: Job, hosts: tuple[SeenHost, ...] = (), now_s: float = 0.0) -> Cluster:
    """A cluster whose hosts have joined."""
    made = Cluster(jobs, join_delay_s=0.0)
    made.see(hosts, now_s)
    made.advance(now_s)
    return made


def states(of: Cluster) -> dict[str, str]:
    return {entry.instance: entry.state for entry in of.entries()}


def test_what_waits_is_lacking_until_it_can_start() -> None:
    played = cluster(job("1", cores=3), job("2", cores=4))
    assert (played.queued, played.lack) == (2, 7)
    played.see([host("a")], 1.0)
    played.advance(1.0)
    assert (played.queued, played.running, played.lack) == (1, 1, 3)


def test_hosts_that_have_not_joined_are_not_subtracted() -> None:
    played = Cluster([job("1", cores=4)], join_delay_s=30.0)
    played.see([host("a", state="booting"), host("b")], 0.0)
    played.advance(0.0)
    assert (played.lack, played.entries()) == (4, ())
    played.advance(29.0)
    assert played.lack == 4
    played.advance(30.0)
    assert played.lack == 0
    assert states(played) == {"b": "busy"}


def test_jobs_that_arrive_later_are_not_lacking_yet() -> None:
    played = cluster(job("1", submit_s=50.0, cores=8))
    assert played.lack == 0
    played.advance(50.0)
    assert played.lack == 8


def test_a_job_wider_than_any_host_spreads_over_several() -> None:
    played = cluster(job("1", cores=6), hosts=(host("a"), host("b")))
    assert played.running == 1
    assert states(played) == {"a": "busy", "b": "busy"}
    assert played.cores == (6, 8)


def test_a_narrow_job_passes_a_wide_one_that_does_not_fit() -> None:
    played = cluster(job("wide", cores=9), job("narrow", cores=1), hosts=(host("a"),))
    assert (played.running, played.lack) == (1, 9 - 3)


def test_the_fullest_host_that_fits_is_filled_first_so_that_others_stay_idle() -> None:
    played = cluster(job("1", cores=3), job("2", cores=1), hosts=(host("a"), host("b")))
    assert states(played) == {"a": "busy", "b": "idle"}


def test_a_host_is_idle_since_its_last_job_ended_and_busy_since_its_first_began() -> None:
    played = cluster(job("1", run_s=10), job("2", submit_s=5, run_s=20), hosts=(host("a"),))
    played.advance(5.0)
    assert played.entries() == (Entry("a", "a.internal", "busy", 0.0, None),)
    played.advance(25.0)
    assert played.entries() == (Entry("a", "a.internal", "idle", 25.0, None),)
    assert (played.done, played.is_over) == (2, True)


def test_an_idle_host_under_a_drain_is_drained_and_names_the_drain() -> None:
    played = cluster(hosts=(host("a"),))
    played.see([evolve(host("a", state="draining"), drain="d-1")], 1.0)
    played.advance(1.0)
    assert played.entries() == (Entry("a", "a.internal", "drained", 0.0, "d-1"),)
    assert played.refused_drains == 0


def test_a_drained_host_gets_no_work_until_it_is_seen_open_again() -> None:
    played = cluster(job("1", submit_s=2.0, cores=4), hosts=(host("a"),))
    played.see([evolve(host("a", state="draining"), drain="d-1")], 1.0)
    played.advance(2.0)
    assert (played.running, played.lack) == (0, 4)
    played.see([host("a", state="idle")], 3.0)
    played.advance(3.0)
    assert (played.running, played.lack) == (1, 0)


def test_a_drain_that_meets_work_is_refused_once_and_the_work_goes_on() -> None:
    played = cluster(job("1", cores=1), hosts=(host("a"),))
    for now_s in (1.0, 2.0, 3.0):
        played.see([evolve(host("a", state="draining"), drain="d-1")], now_s)
        played.advance(now_s)
        assert played.entries() == (Entry("a", "a.internal", "busy", 0.0, "d-1"),)
    assert (played.refused_drains, played.running) == (1, 1)
    played.see([evolve(host("a", state="draining"), drain="d-2")], 4.0)
    played.entries()
    assert played.refused_drains == 2


def test_a_busy_host_under_a_firm_drain_is_drained_when_its_work_is_done() -> None:
    played = cluster(job("1", run_s=10), job("2", submit_s=5), hosts=(host("a"),))
    played.see([evolve(host("a", state="draining"), drain="d-1")], 1.0)
    played.advance(10.0)
    assert played.entries() == (Entry("a", "a.internal", "drained", 10.0, "d-1"),)
    assert played.lack == 1


def test_a_host_asked_to_go_before_it_joined_does_not_join() -> None:
    played = Cluster([job("1", submit_s=50.0)], join_delay_s=5.0)
    played.see([host("a")], 0.0)
    played.see([evolve(host("a", state="draining"), drain="d-1")], 10.0)
    played.advance(10.0)
    assert played.entries() == ()


def test_a_host_under_the_far_sides_notice_takes_no_work() -> None:
    played = cluster(job("1", submit_s=1.0), hosts=(evolve(host("a"), noticed=True),))
    played.advance(1.0)
    assert played.running == 0


def test_jobs_of_a_host_that_disappears_wait_again_at_the_head_and_that_is_a_broken_promise() -> None:
    played = cluster(job("1", cores=4), job("2", cores=4), hosts=(host("a"),))
    played.see([], 5.0)
    played.advance(5.0)
    assert (played.queued, played.running, played.broken, played.taken) == (2, 0, ["a.internal"], [])
    played.see([host("b")], 6.0)
    played.advance(6.0)
    played.advance(106.0)
    assert (played.done, played.waits_s) == (1, (6.0, 106.0))


def test_a_host_the_far_side_took_after_a_warning_is_no_broken_promise() -> None:
    played = cluster(job("1", cores=4), hosts=(host("a"),))
    played.see([evolve(host("a"), noticed=True)], 1.0)
    played.see([], 2.0)
    assert (played.broken, played.taken, played.queued) == ([], ["a.internal"], 1)


def test_the_cores_of_a_job_that_spread_are_free_again_on_the_hosts_that_remain() -> None:
    played = cluster(job("1", cores=6), hosts=(host("a"), host("b")))
    played.see([host("b")], 1.0)
    assert played.cores == (0, 4)


def test_stopping_ends_all_work_and_leaves_the_hosts_idle() -> None:
    played = cluster(job("1", cores=4), job("2", cores=4), job("3", submit_s=9.0), hosts=(host("a"),))
    played.stop(3.0)
    assert (played.is_over, played.dropped, played.lack) == (True, 3, 0)
    assert played.entries() == (Entry("a", "a.internal", "idle", 3.0, None),)


JOBS = st.lists(
    st.builds(Job, st.uuids().map(str), st.floats(0, 100), st.floats(1, 50), st.integers(1, 12)), max_size=12
)
VIEWS = st.lists(
    st.dictionaries(
        st.sampled_from("abcdef"), st.sampled_from(["booting", "running", "idle", "draining", "returning"])
    ),
    max_size=30,
)


@given(JOBS, VIEWS)
def test_no_job_is_lost_and_no_core_used_twice_whatever_is_seen(jobs: list[Job], views: list[dict[str, str]]) -> None:
    played = Cluster(jobs, join_delay_s=3.0)
    for step, view in enumerate(views):
        now_s = step * 5.0
        played.see([host(id, 4, state) for id, state in view.items()], now_s)
        played.advance(now_s)
        arrived = sum(1 for each in jobs if each.submit_s <= now_s)
        assert played.queued + played.running + played.done == arrived
        used, cores = played.cores
        assert 0 <= used <= cores <= 4 * len(view)
        assert played.lack >= 0
        assert {entry.instance for entry in played.entries()} <= set(view)


@given(JOBS)
def test_enough_hosts_finish_every_job(jobs: list[Job]) -> None:
    played = Cluster(jobs, join_delay_s=0.0)
    hosts = [host(id, 16) for id in "abc"]
    for step in range(400):
        played.see(hosts, step * 5.0)
        played.advance(step * 5.0)
    assert (played.is_over, played.done, played.lack) == (True, len(jobs), 0)
    assert len(played.waits_s) == len(jobs)
