"""A small cluster: a queue, hosts that join, jobs that start where cores are free, drains that are answered.

Pure: time comes in as an argument (seconds of the job log, never going back). It alone knows what a scheduler does; it
must not know what is pushed over which wire, nor who supplies its hosts.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from attrs import define, field, frozen

from provisioner.sim.workload import Job

__all__ = ["Cluster", "Entry", "SeenHost"]

EntryWord = Literal["idle", "busy", "drained"]

_JOINABLE: Final = frozenset({"running", "joined", "idle", "busy"})
_CLOSED: Final = frozenset({"draining", "returning", "stuck", "vanished", "failed", "gone"})
"""States in which a host takes no work; what runs on it goes on."""


@frozen
class SeenHost:
    """One living host as the provisioner lists it; `drain` is its drain's id, `noticed` that the far side warned."""

    id: str
    name: str
    provider: str
    state: str
    cores: int
    drain: str | None = None
    noticed: bool = False

    @property
    def is_closed(self) -> bool:
        """Whether new work must stay off it."""
        return self.state in _CLOSED or self.drain is not None or self.noticed


@frozen
class Entry:
    """What the cluster says of one joined host; `since_s` in its own time, `drain` the id of the drain it answers."""

    instance: str
    name: str
    state: EntryWord
    since_s: float
    drain: str | None


@define(eq=False)
class _Host:
    seen: SeenHost
    joins_s: float
    joined: bool = False
    used: int = 0
    since_s: float = 0.0

    @property
    def free(self) -> int:
        return self.seen.cores - self.used if self.joined and not self.seen.is_closed else 0


@define(eq=False)
class _Running:
    job: Job
    ends_s: float
    shares: dict[str, int]


@define(eq=False)
class Cluster:
    """Plays `jobs` on whatever hosts it sees; a host joins `join_delay_s` after it was first seen running.

    A job may spread over hosts. In each step: `see` the hosts, `advance` the time, then read `entries` and `lack`.
    """

    _jobs: Sequence[Job]
    _join_delay_s: float
    _upcoming: deque[Job] = field(init=False)
    _queue: list[Job] = field(factory=list, init=False)
    _running: list[_Running] = field(factory=list, init=False)
    _hosts: dict[str, _Host] = field(factory=dict, init=False)
    _refused: set[str] = field(factory=set, init=False)
    _waited_s: dict[str, float] = field(factory=dict, init=False)
    done: int = field(default=0, init=False)
    dropped: int = field(default=0, init=False)
    peak_hosts: int = field(default=0, init=False)
    taken: list[str] = field(factory=list, init=False)
    """Hosts the far side took while jobs ran on them, after a warning or against the provisioner's will."""
    broken: list[str] = field(factory=list, init=False)
    """Hosts that disappeared under running jobs without a warning: broken promises of the provisioner."""

    def __attrs_post_init__(self) -> None:
        self._upcoming = deque(sorted(self._jobs, key=lambda job: job.submit_s))

    @property
    def queued(self) -> int:
        """Jobs that wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """Jobs that run."""
        return len(self._running)

    @property
    def waits_s(self) -> tuple[float, ...]:
        """How long each job that started had waited; of one that had to start again, until its last start."""
        return tuple(self._waited_s.values())

    @property
    def refused_drains(self) -> int:
        """Drains that came too late: the host had work."""
        return len(self._refused)

    @property
    def cores(self) -> tuple[int, int]:
        """Cores in use, and cores of all hosts that have joined."""
        joined = [host for host in self._hosts.values() if host.joined]
        return sum(host.used for host in joined), sum(host.seen.cores for host in joined)

    @property
    def is_over(self) -> bool:
        """Whether no job is left to come, to start or to end."""
        return not (self._upcoming or self._queue or self._running)

    @property
    def lack(self) -> int:
        """Cores that must be added for all that waits to start; free ones are subtracted, hosts yet to join are not."""
        return max(0, sum(job.cores for job in self._queue) - self._free())

    def see(self, hosts: Iterable[SeenHost], now_s: float) -> None:
        """Take the whole list of living hosts; jobs on those that are missing go back to the head of the queue."""
        listed = {host.id: host for host in hosts}
        for lost in [host for id, host in self._hosts.items() if id not in listed]:
            self._lose(lost, now_s)
        for id, seen in listed.items():
            known = self._hosts.get(id)
            if known is not None:
                known.seen = seen
            elif seen.state in _JOINABLE:
                self._hosts[id] = _Host(seen, now_s + self._join_delay_s)
        self.peak_hosts = max(self.peak_hosts, len(self._hosts))

    def advance(self, now_s: float) -> None:
        """Let what is due by now happen: jobs arrive and end, hosts join, and what waits starts where there is room."""
        while self._upcoming and self._upcoming[0].submit_s <= now_s:
            self._queue.append(self._upcoming.popleft())
        for ended in [run for run in self._running if run.ends_s <= now_s]:
            self._leave(ended, now_s)
            self.done += 1
        for host in self._hosts.values():
            # One that is asked to go before it joined does not join: that is how it consents.
            if not host.joined and host.joins_s <= now_s and not host.seen.is_closed:
                host.joined, host.since_s = True, now_s
        self._start(now_s)

    def entries(self) -> tuple[Entry, ...]:
        """What is true now of every host that has joined, by instance."""
        return tuple(self._entry(host) for _, host in sorted(self._hosts.items()) if host.joined)

    def stop(self, now_s: float) -> None:
        """End all work: nothing runs, waits or arrives any more."""
        for run in list(self._running):
            self._leave(run, now_s)
            self.dropped += 1
        self.dropped += len(self._queue) + len(self._upcoming)
        self._queue.clear()
        self._upcoming.clear()

    def _free(self) -> int:
        return sum(host.free for host in self._hosts.values())

    def _entry(self, host: _Host) -> Entry:
        drain = host.seen.drain
        if host.used:
            if drain is not None:
                self._refused.add(drain)
            return Entry(host.seen.id, host.seen.name, "busy", host.since_s, drain)
        # Closed without a drain (already returning, or the far side's notice): it stays without work just the same.
        word: EntryWord = "drained" if host.seen.is_closed else "idle"
        return Entry(host.seen.id, host.seen.name, word, host.since_s, drain)

    def _start(self, now_s: float) -> None:
        """First fit in the order of the queue; a wide job that does not fit lets narrower ones pass."""
        free = self._free()
        waiting = []
        for job in self._queue:
            if job.cores > free:
                waiting.append(job)
                continue
            self._running.append(_Running(job, now_s + job.run_s, self._placed(job, now_s)))
            self._waited_s[job.id] = now_s - job.submit_s
            free -= job.cores
        self._queue = waiting

    def _placed(self, job: Job, now_s: float) -> dict[str, int]:
        """Cores by host, the fullest hosts first, so that idle ones stay idle and can go."""
        open_hosts = sorted((host for host in self._hosts.values() if host.free), key=lambda h: (h.free, h.seen.id))
        # A job that fits one host whole is not spread over the rests of several.
        whole = [host for host in open_hosts if host.free >= job.cores][:1]
        shares: dict[str, int] = {}
        missing = job.cores
        for host in whole or open_hosts:
            taken = min(missing, host.free)
            if taken:
                host.since_s = host.since_s if host.used else now_s
                host.used += taken
                shares[host.seen.id] = taken
                missing -= taken
        return shares

    def _leave(self, run: _Running, now_s: float) -> None:
        self._running.remove(run)
        for id, cores in run.shares.items():
            host = self._hosts.get(id)
            if host is not None:
                host.used -= cores
                host.since_s = host.since_s if host.used else now_s

    def _lose(self, host: _Host, now_s: float) -> None:
        del self._hosts[host.seen.id]
        hit = [run for run in self._running if host.seen.id in run.shares]
        for run in reversed(hit):
            self._leave(run, now_s)
            self._queue.insert(0, run.job)
        if hit:
            expected = host.seen.noticed or host.seen.state == "vanished"
            (self.taken if expected else self.broken).append(host.seen.name)
