"""A small cluster in memory: work that waits, hosts that join, drains that are answered, snapshots of both sides.

It sees what a daemon shows of its instances and what the clouds really run. It must not know how it is pushed.
"""

from collections.abc import Iterable

from attrs import define, field, frozen

from provisioner.core.events import ClusterPushed, DemandPushed, PushedEntry, SupplyPushed
from provisioner.core.facts import InstanceFact
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Kind, Line
from provisioner.sim.chaos.history import Work
from provisioner.sim.chaos.provider import HOST_CORES

NAME = "lsf"
JOINS_AFTER_S = 4.0
_SHAPES = (1, 2, 4)


@define(eq=False)
class Host:
    """One host as the cluster knows it."""

    instance: str
    thing: str
    joins_s: float
    since_s: float
    ends_s: list[tuple[float, Work]] = field(factory=list)
    drain: str | None = None
    is_closed: bool = False

    def used(self) -> int:
        """Cores in use."""
        return sum(work.cores for _, work in self.ends_s)


@frozen
class _Snapshot:
    entries: tuple[PushedEntry, ...]
    lines: tuple[Line, ...]


@define(eq=False)
class Source:
    """The cluster; seconds are the history's own, `started_at` makes wall times of them."""

    work: list[Work]
    started_at: float
    hosts: dict[str, Host] = field(factory=dict)
    waiting: list[Work] = field(factory=list)
    done: int = 0
    incarnation: int = 0
    revision: int = 0
    last: _Snapshot | None = None

    def advance(self, shown: Iterable[InstanceFact], alive: frozenset[str], now_s: float) -> None:
        """Work arrives, ends and starts; hosts join as they are shown and leave when their machine is gone."""
        while self.work and self.work[0].at_s <= now_s:
            self.waiting.append(self.work.pop(0))
        self._look(shown, alive, now_s)
        for host in self.hosts.values():
            over = [e for e in host.ends_s if e[0] <= now_s]
            self.done += len(over)
            host.ends_s = [e for e in host.ends_s if e[0] > now_s]
            if over and not host.ends_s:
                host.since_s = now_s
        self._start(now_s)

    def _look(self, shown: Iterable[InstanceFact], alive: frozenset[str], now_s: float) -> None:
        for instance in shown:
            host = self.hosts.get(instance.id)
            if host is None and instance.state is InstanceState.RUNNING and instance.provider_id in alive:
                host = Host(instance.id, instance.provider_id, now_s + JOINS_AFTER_S, now_s + JOINS_AFTER_S)
                self.hosts[instance.id] = host
            if host is not None:
                host.drain = instance.drain.id if instance.drain is not None else None
                serves = instance.state in (InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN)
                host.is_closed = instance.drain is not None or instance.notice is not None or not serves
        for id in [id for id, host in self.hosts.items() if host.thing not in alive]:
            self.waiting = [work for _, work in self.hosts.pop(id).ends_s] + self.waiting

    def _start(self, now_s: float) -> None:
        still = []
        for work in self.waiting:
            host = self._room_for(work, now_s)
            if host is None:
                still.append(work)
            else:
                host.ends_s.append((now_s + work.runs_s, work))
                host.since_s = now_s
        self.waiting = still

    def _room_for(self, work: Work, now_s: float) -> Host | None:
        for id in sorted(self.hosts):
            host = self.hosts[id]
            if host.joins_s <= now_s and not host.is_closed and host.used() + work.cores <= HOST_CORES:
                return host
        return None

    def give_up(self) -> None:
        """All work is dropped: nothing is wanted any more."""
        self.work, self.waiting = [], []
        for host in self.hosts.values():
            host.ends_s = []

    def withdraw(self) -> bool:
        """Who waits goes away; whether anybody did."""
        was, self.waiting = self.waiting, []
        return bool(was)

    def wants_nothing(self) -> bool:
        """Whether nothing waits, runs or will come."""
        return not self.work and not self.waiting and not any(h.ends_s for h in self.hosts.values())

    def push(self, now_s: float, *, blank: bool = False) -> ClusterPushed:
        """Both snapshots as they are now; `blank` shows no host at all. The same again is a heartbeat."""
        entries = () if blank else tuple(self._entry(h) for h in self.hosts.values() if h.joins_s <= now_s)
        snapshot = _Snapshot(entries, tuple(self._lines()))
        if snapshot != self.last:
            self.revision += 2
            self.last = snapshot
        supply = SupplyPushed(NAME, self.incarnation, self.revision, snapshot.entries)
        demand = DemandPushed(NAME, self.incarnation, self.revision, self.revision, snapshot.lines)
        return ClusterPushed(supply, demand)

    def lose_counter(self) -> None:
        """The next snapshot begins to count anew, under a higher incarnation."""
        self.incarnation, self.revision, self.last = self.incarnation + 1, 0, None

    def _entry(self, host: Host) -> PushedEntry:
        if host.ends_s:
            state = EntryState.DRAINING if host.is_closed else EntryState.BUSY
        else:
            state = EntryState.DRAINED if host.drain is not None else EntryState.IDLE
        return PushedEntry(
            state=state,
            instance=host.instance,
            name=f"h-{host.thing}",
            since=self.started_at + host.since_s,
            drain=host.drain,
        )

    def _lines(self) -> Iterable[Line]:
        for cores in _SHAPES:
            count = sum(work.cores == cores for work in self.waiting)
            if count:
                yield Line(id=f"c{cores}", kind=Kind.HOST, count=count, each=(("cores", cores * 1000),))
