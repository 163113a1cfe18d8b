"""Plays a cluster against a provisioner: looks, lets time pass, tells what is true, until work and hosts are gone.

It alone knows the pace of that conversation and when it is over; what the cluster does is cluster.py's knowledge. It
must not know how progress is shown.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final

import trio
from attrs import define, field, frozen

from provisioner.sim.cluster import Cluster, SeenHost
from provisioner.sim.door import Answer, Unanswered
from provisioner.sim.wire import Json, cluster_body, hosts_of

__all__ = ["Pace", "Player", "Progress", "Spoiled"]

_UNAVAILABLE: Final = 503
_GOOD: Final = 300
_DECISIONS: Final = 6
_DECISIONS_READ: Final = 50


Call = Callable[[str, str, object], Awaitable[Answer]]
"""Makes one call (method, target, body) to the provisioner; raises Unanswered."""


class Spoiled(Exception):
    """The play can't go on; the text is a sentence that says why."""


@frozen
class Pace:
    """How fast the log is played (`speed`: log seconds a real second) and how long is waited, in real seconds.

    `outage_s` is the longest time without an answer; `settle_s` after the last job everything must be given back.
    """

    speed: float = 75.0
    tick_s: float = 0.2
    heartbeat_s: float = 5.0
    outage_s: float = 20.0
    settle_s: float = 120.0
    decisions_every_s: float = 1.0


@frozen
class Progress:
    """One moment: jobs, hosts by provider and state, cores in use and there, what it cost, what was decided last."""

    real_s: float
    log_s: float
    jobs: int
    queued: int
    running: int
    done: int
    lack: int
    cores_used: int
    cores: int
    hosts: Mapping[str, Mapping[str, int]]
    cost: str
    currency: str
    decisions: tuple[str, ...]
    stopping: bool


@define(eq=False)
class Player:
    """One play of `cluster` as `source`, at `pace`, by `call`; `wall_s` tells the time of day in epoch seconds."""

    cluster: Cluster
    jobs: int
    call: Call
    pace: Pace
    wall_s: Callable[[], float]
    source: str = "demo"
    hosts: tuple[SeenHost, ...] = field(default=(), init=False)
    outages: int = field(default=0, init=False)
    _began_s: float = field(default=0.0, init=False)
    _began_wall_s: float = field(default=0.0, init=False)
    _revision: int = field(default=0, init=False)
    _told: Json = field(factory=dict, init=False)
    _told_s: float = field(default=float("-inf"), init=False)
    _answered_s: float = field(default=0.0, init=False)
    _down: bool = field(default=False, init=False)
    _over_s: float | None = field(default=None, init=False)
    _stopping: bool = field(default=False, init=False)
    _decisions: tuple[str, ...] = field(default=(), init=False)
    _decided_s: float = field(default=float("-inf"), init=False)

    async def run(self, show: Callable[[Progress], None]) -> None:
        """Play to the end: every job done, every host given back, nothing open. Raises Spoiled."""
        self._began_s = self._answered_s = trio.current_time()
        self._began_wall_s = self.wall_s()
        # Higher than that of an earlier play against the same facts, which its source's revisions must be.
        self._revision = int(self._began_wall_s * 1000)
        while True:
            began_s = trio.current_time()
            try:
                over = await self._step(show)
            except Unanswered as silence:
                self._bear(silence)
                over = False
            if over:
                return
            await trio.sleep_until(began_s + self.pace.tick_s)

    def stop(self) -> None:
        """End all work now; the play goes on until everything is given back."""
        self._stopping = True
        self.cluster.stop(self._log_s())

    async def _step(self, show: Callable[[Progress], None]) -> bool:
        instances = await self.every("/v1/instances?live=true", "instances")
        self.hosts = hosts_of(instances)
        now_s = self._log_s()
        self.cluster.see(self.hosts, now_s)
        self.cluster.advance(now_s)
        await self._tell()
        show(await self._progress(instances))
        return await self._is_over(bool(instances))

    async def _tell(self) -> None:
        """Push both snapshots if they changed, and as a heartbeat if they did not."""
        entries, lack = self.cluster.entries(), self.cluster.lack
        body = cluster_body(0, entries, lack, self._epoch_of)
        now_s = trio.current_time()
        if body == self._told and now_s < self._told_s + self.pace.heartbeat_s:
            return
        self._revision += 1
        push = cluster_body(self._revision, entries, lack, self._epoch_of)
        self._good("the push", await self._call("PUT", f"/v1/cluster/{self.source}", push))
        self._told, self._told_s = body, now_s

    async def _is_over(self, lives: bool) -> bool:
        if not self.cluster.is_over:
            return False
        now_s = trio.current_time()
        self._over_s = now_s if self._over_s is None else self._over_s
        if not lives and not await self.every("/v1/requests?open=true", "requests"):
            return True
        if now_s > self._over_s + self.pace.settle_s:
            left = ", ".join(f"{host.name} ({host.state})" for host in self.hosts) or "an open request"
            raise Spoiled(f"{self.pace.settle_s:.0f} s after the last job this was not given back: {left}")
        return False

    async def every(self, target: str, key: str) -> list[Any]:
        """All pages of a listing; half a list is no list, so that one failed page raises Unanswered."""
        found: list[Any] = []
        while target:
            page = self._good(target, await self._call("GET", target))
            found += page[key]
            target = page.get("next") or ""
        return found

    async def get(self, target: str) -> Any:
        """What one question is answered with; raises Unanswered, Spoiled."""
        return self._good(target, await self._call("GET", target))

    async def _call(self, method: str, target: str, body: object = None) -> Answer:
        answer = await self.call(method, target, body)
        if answer.status == _UNAVAILABLE:
            raise Unanswered(f"{method} {target}: {_message(answer)}")
        self._answered_s, self._down = trio.current_time(), False
        return answer

    def _good(self, what: str, answer: Answer) -> Any:
        if answer.status >= _GOOD:
            raise Spoiled(f"{what} was refused with status {answer.status}: {_message(answer)}")
        return answer.body

    def _bear(self, silence: Unanswered) -> None:
        """An outage is judged by its length: a daemon may be started again at any time."""
        self.outages += not self._down
        self._down = True
        if trio.current_time() > self._answered_s + self.pace.outage_s:
            raise Spoiled(f"the provisioner did not answer for {self.pace.outage_s:.0f} s: {silence}")

    async def _progress(self, instances: list[Any]) -> Progress:
        costs = await self.get("/v1/costs")
        await self._read_decisions()
        hosts: dict[str, Counter[str]] = {}
        for instance in instances:
            hosts.setdefault(instance["provider"], Counter())[instance["state"]] += 1
        used, cores = self.cluster.cores
        return Progress(
            real_s=trio.current_time() - self._began_s,
            log_s=self._log_s(),
            jobs=self.jobs,
            queued=self.cluster.queued,
            running=self.cluster.running,
            done=self.cluster.done,
            lack=self.cluster.lack,
            cores_used=used,
            cores=cores,
            hosts=hosts,
            cost=costs["total"],
            currency=costs["currency"],
            decisions=self._decisions,
            stopping=self._stopping,
        )

    async def _read_decisions(self) -> None:
        now_s = trio.current_time()
        if now_s < self._decided_s + self.pace.decisions_every_s:
            return
        page = await self.get(f"/v1/decisions?limit={_DECISIONS_READ}")
        self._decisions, self._decided_s = decision_texts(page["decisions"])[:_DECISIONS], now_s

    def _log_s(self) -> float:
        return (trio.current_time() - self._began_s) * self.pace.speed

    def _epoch_of(self, log_s: float) -> float:
        return self._began_wall_s + log_s / self.pace.speed


def _message(answer: Answer) -> str:
    match answer.body:
        case {"error": {"message": str(message)}}:
            return message
        case _:
            return f"status {answer.status}"


def decision_texts(decisions: Iterable[Json]) -> tuple[str, ...]:
    """One sentence for each run of decisions of one kind on one template, newest first, their units added up."""
    texts = []
    for (what, provider, template, _), run in groupby(decisions, key=_kind):
        same = list(run)
        units = sum(decision["units"] or 0 for decision in same) or len(same)
        place = f" at {provider}" if provider else ""
        texts.append(f"{what} {units} {template or _hosts(units)}{place}: {same[0]['reason']['sentence']}")
    return tuple(texts)


def _kind(decision: Json) -> tuple[str, str | None, str | None, str]:
    return (decision["what"], decision["provider"], decision["template"], decision["reason"]["code"])


def _hosts(count: object) -> str:
    return "host" if count == 1 else "hosts"
