"""The cluster's words as REST writes them: listed instances to hosts, entries and lacking cores to the body of a push.

Pure: it alone knows these shapes on the player's side; it must not know when something is sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from provisioner.sim.cluster import Entry, SeenHost

__all__ = ["Json", "cluster_body", "hosts_of"]

Json = Mapping[str, Any]

LINE_ID: Final = "queue"


def hosts_of(instances: Iterable[Json]) -> tuple[SeenHost, ...]:
    """The living hosts among listed instances; grants and what is gone are none."""
    return tuple(
        _host(instance)
        for instance in instances
        if instance.get("kind", "host") == "host" and instance["state"] != "gone"
    )


def _host(instance: Json) -> SeenHost:
    drain = instance.get("drain")
    return SeenHost(
        id=instance["id"],
        name=instance.get("name") or instance["id"],
        provider=instance["provider"],
        state=instance["state"],
        cores=max(1, int(instance.get("attributes", {}).get("cores", 1))),
        drain=drain["id"] if drain else None,
        noticed=instance.get("notice") is not None,
    )


def cluster_body(revision: int, entries: Sequence[Entry], lack: int, epoch_of: Callable[[float], float]) -> Json:
    """Both snapshots of one moment; `epoch_of` gives the epoch second of a moment of the cluster's time."""
    supply = {"revision": revision, "entries": [_entry(entry, epoch_of) for entry in entries]}
    lines = [{"id": LINE_ID, "kind": "host", "count": lack, "each": {"cores": 1}}] if lack else []
    return {"supply": supply, "demand": {"revision": revision, "supply_revision": revision, "lines": lines}}


def _entry(entry: Entry, epoch_of: Callable[[float], float]) -> Json:
    since = datetime.fromtimestamp(epoch_of(entry.since_s), UTC)
    said = {
        "instance": entry.instance,
        "name": entry.name,
        "state": entry.state,
        "since": since.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    return said if entry.drain is None else {**said, "drain": entry.drain}
