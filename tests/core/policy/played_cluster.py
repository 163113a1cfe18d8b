"""A small cluster that plays jobs against decide() in pure steps of a second: push, plan, fold, as the daemon would.

A pass that is due is made at once, also between the push of supply and that of demand. Providers are a delay: what is
planned runs after `lead_s`, what is given back is gone a second later.
"""

from attrs import define, evolve, field

from provisioner.core.decide import decided
from provisioner.core.events import (
    CameDue,
    DaemonStarted,
    DemandPushed,
    Event,
    Moment,
    PlanningDue,
    PushedEntry,
    SupplyPushed,
)
from provisioner.core.facts import FactKind, InstanceFact, Key
from provisioner.core.giveback import ReturnState
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Line
from provisioner.core.planner import planning_at
from provisioner.core.request import RequestState
from provisioner.core.settings import Settings
from provisioner.core.world import World
from tests.core.policy import builders as b

Job = tuple[int, int, int]
"""(submitted at, runs for, cores), in seconds."""


@define
class Host:
    """One joined or joining host, as its scheduler sees it."""

    cores: int
    joins: int
    used: int = 0
    idle_since: float = 0.0
    drained_by: str | None = None


@define
class PlayedCluster:
    """The cluster and the facts it is served by; `step` is one second."""

    settings: Settings
    world: World
    jobs: list[Job]
    lead_s: int = 5
    join_s: int = 3
    answers_drains: bool = True
    t: int = 0
    supply_revision: int = 0
    demand_revision: int = 0
    queue: list[Job] = field(factory=list)
    running: list[tuple[int, dict[str, int], Job]] = field(factory=list)
    hosts: dict[str, Host] = field(factory=dict)
    finished: int = 0
    bought_units: int = 0
    peak: int = 0
    broken: list[str] = field(factory=list)

    @property
    def now(self) -> Moment:
        return b.moment(float(self.t))

    @property
    def is_over(self) -> bool:
        busy = self.jobs or self.queue or self.running
        return not (busy or self.world.live or self.world.open_requests or self.world.open_returns)

    def step(self) -> None:
        self._cloud()
        self._scheduler()
        self._push()
        self.peak = max(self.peak, len(self.world.live))
        self.t += 1

    def restart(self) -> None:
        """The daemon starts anew: the facts stay, what was only observed is gone, providers are ready again."""
        ready = self.world.seen.processes
        self._decide(DaemonStarted(holder="again"))
        self.world = evolve(self.world, seen=evolve(self.world.seen, processes=ready))

    def _plan_if_due(self) -> None:
        if planning_at(self.world, self.settings) > self.now.boot_s:
            return
        before = self.world.requests
        self._decide(PlanningDue())
        self.bought_units += sum(r.units for r in self.world.requests.values() if r.id not in before)
        self._decide(CameDue(tuple(Key(FactKind.WISH, id) for id in self.world.wishes)))

    def _decide(self, event: Event) -> None:
        self.world = decided(self.world, event, self.now, self.settings).world

    def _cloud(self) -> None:
        for request in list(self.world.open_requests.values()):
            if self.now.at < request.planned_at + self.lead_s:
                continue
            ids = [f"in-{request.id}-{n}" for n in range(request.units)]
            made = [self._made(id, request.id) for id in ids]
            done = evolve(request, state=RequestState.FULFILLED, made_units=request.units, instances=tuple(ids))
            self.world = b.with_facts(self.world, *made, (FactKind.REQUEST, request.id, done))
        for giveback in list(self.world.open_returns.values()):
            for item in giveback.items:
                host = self.hosts.pop(item.instance, None)
                if host is not None and host.used:
                    self.broken.append(item.instance)
                gone = evolve(self.world.instances[item.instance], state=InstanceState.GONE)
                self.world = b.with_facts(self.world, (FactKind.INSTANCE, gone.id, gone))
            ended = evolve(giveback, state=ReturnState.RETURNED)
            self.world = b.with_facts(self.world, (FactKind.RETURN, giveback.id, ended))

    def _made(self, id: str, request: str) -> b.Record:
        of = self.world.requests[request]
        kind, _, fact = b.instance(id, shares=of.shares, after_s=self.t)
        assert isinstance(fact, InstanceFact)
        size = of.terms.size
        named = evolve(fact, template=of.template, provider=of.provider, request=request, terms=of.terms, size=size)
        return kind, id, named

    def _scheduler(self) -> None:
        for id, instance in self.world.live.items():
            if id not in self.hosts:
                self.hosts[id] = Host(dict(instance.size)["cores"] // 1000, joins=self.t + self.join_s)
        for end in [r for r in self.running if r[0] <= self.t]:
            self.running.remove(end)
            self.finished += 1
            self._release(end[1])
        self.queue += [job for job in self.jobs if job[0] <= self.t]
        self.jobs = [job for job in self.jobs if job[0] > self.t]
        for job in list(self.queue):
            if job[2] <= self._free():
                self._start(job)

    def _usable(self) -> dict[str, Host]:
        return {
            id: host
            for id, host in sorted(self.hosts.items())
            if self.t >= host.joins and self.world.live[id].drain is None and self.world.live[id].return_id is None
        }

    def _free(self) -> int:
        return sum(host.cores - host.used for host in self._usable().values())

    def _start(self, job: Job) -> None:
        need, share = job[2], dict[str, int]()
        for id, host in sorted(self._usable().items(), key=lambda pair: -pair[1].used):
            taken = min(need, host.cores - host.used)
            if taken:
                host.used += taken
                share[id], need = taken, need - taken
        self.queue.remove(job)
        self.running.append((self.t + job[1], share, job))

    def _release(self, share: dict[str, int]) -> None:
        for id, taken in share.items():
            self.hosts[id].used -= taken
            if not self.hosts[id].used:
                self.hosts[id].idle_since = self.now.at

    def _push(self) -> None:
        entries = tuple(self._entry(id, host) for id, host in sorted(self.hosts.items()) if self.t >= host.joins)
        self.supply_revision += 1
        self._decide(SupplyPushed(b.SOURCE, 0, self.supply_revision, entries))
        self._plan_if_due()
        lack = max(0, sum(job[2] for job in self.queue) - self._free())
        lines: tuple[Line, ...] = (b.line(count=lack),) if lack else ()
        self.demand_revision += 1
        self._decide(DemandPushed(b.SOURCE, 0, self.demand_revision, self.supply_revision, lines))
        self._plan_if_due()

    def _entry(self, id: str, host: Host) -> PushedEntry:
        drain = self.world.live[id].drain
        if host.used:
            state = EntryState.BUSY
        elif drain is not None and self.answers_drains:
            state = EntryState.DRAINED
        else:
            state = EntryState.IDLE
        answer = drain.id if drain is not None and state is EntryState.DRAINED else None
        since = host.idle_since or b.AT + host.joins
        return PushedEntry(state=state, instance=id, name=id, since=since, drain=answer)
