"""The cluster's words on the wire, held against the reading of the REST interface itself."""

from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provisioner.core.events import ClusterPushed
from provisioner.core.settings import ProviderSettings, Settings, SqliteController
from provisioner.edge.rest import read_cluster
from provisioner.sim.cluster import Entry, SeenHost
from provisioner.sim.wire import cluster_body, hosts_of

SETTINGS = Settings(
    cluster="demo",
    controller=SqliteController(path="facts.db"),
    providers=MappingProxyType({"east": ProviderSettings(name="east", command=("east",))}),
)
ENTRIES = st.lists(
    st.builds(
        Entry,
        instance=st.from_regex(r"in-[a-z0-9]{8}", fullmatch=True),
        name=st.from_regex(r"[a-z]{1,8}\.internal", fullmatch=True),
        state=st.sampled_from(["idle", "busy", "drained"]),
        since_s=st.floats(0, 1e6),
        drain=st.none() | st.from_regex(r"d-[a-z0-9]{8}", fullmatch=True),
    ),
    max_size=8,
    unique_by=lambda entry: entry.instance,
)


@given(ENTRIES, st.integers(0, 10_000), st.integers(0, 2**52))
def test_what_the_cluster_says_is_read_as_it_was_meant(entries: list[Entry], lack: int, revision: int) -> None:
    body = dict(cluster_body(revision, entries, lack, lambda log_s: 1_900_000_000 + log_s / 60))
    read = read_cluster("demo", body, SETTINGS)
    assert isinstance(read, ClusterPushed)
    assert (read.supply.revision, read.demand.revision, read.demand.supply_revision) == (revision, revision, revision)
    assert [line.count for line in read.demand.lines] == ([lack] if lack else [])
    assert [(e.instance, e.name, e.state.value, e.drain) for e in read.supply.entries] == [
        (e.instance, e.name, e.state, e.drain) for e in entries
    ]
    for said, meant in zip(read.supply.entries, entries, strict=True):
        assert said.since is not None
        assert abs(said.since - (1_900_000_000 + meant.since_s / 60)) < 0.01


def listed(**stated: Any) -> dict[str, Any]:
    return {"id": "in-1", "kind": "host", "state": "idle", "provider": "east", "name": "n1", "drain": None, **stated}


def test_listed_instances_become_hosts() -> None:
    assert hosts_of([listed(attributes={"cores": 8, "arch": "x86_64"}, notice=None)]) == (
        SeenHost("in-1", "n1", "east", "idle", 8),
    )


def test_a_drain_and_a_notice_close_a_host() -> None:
    drained, noticed = hosts_of([listed(drain={"id": "d-1", "kind": "ask"}), listed(notice={"kind": "reclaim"})])
    assert (drained.drain, drained.is_closed, noticed.noticed, noticed.is_closed) == ("d-1", True, True, True)


def test_grants_and_what_is_gone_are_no_hosts() -> None:
    assert hosts_of([listed(kind="grant"), listed(state="gone")]) == ()
