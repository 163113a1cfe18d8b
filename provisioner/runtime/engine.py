"""The engine: one loop that turns events into committed facts and committed facts into effects; it alone makes a new
world.

event → decide → commit → fold → owed effects. Deciding runs ahead within a batch; effects, answers and readers see
the committed world only.
An event is kept until its commit is acknowledged and is decided again after a refusal; outcomes of calls are never
dropped: a full queue
stops reading the pipe. It must not know what a provider or a store is: it is given both.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import trio
from attrs import define, evolve, field

from provisioner.core import decide
from provisioner.core.copying import copied
from provisioner.core.effects import Effect, SendRequest
from provisioner.core.events import CameDue, DaemonStarted, Event, HealthSeen, Moment, PlanningDue, SourceEvent
from provisioner.core.evolve import Reply, loaded, stamp
from provisioner.core.facts import Fact, FactKind, Key
from provisioner.core.instance import InstanceState
from provisioner.core.orders import OperatorEvent
from provisioner.core.owed import owed, owed_in_any_case, record_of
from provisioner.core.planner import planning_at
from provisioner.core.providers import is_old_news
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.fact_codec import decode_fact, encode_fact
from provisioner.runtime.beside import Beside, at_once
from provisioner.runtime.clock import Clock
from provisioner.runtime.collection import built_to_stay
from provisioner.runtime.how_much import how_much
from provisioner.runtime.links.link import Batch, Committed, Delete, Link, Put, Refused, Unknown
from provisioner.runtime.process_log import tell_of_processes
from provisioner.runtime.supervision import Log
from provisioner.runtime.wakes import Wakes

QUEUE_EVENTS = 1024
BATCH_EVENTS = 256
RETRY_S = 1.0

Push = SourceEvent | OperatorEvent


class FactsUnwritable(Exception):
    """The facts can't be written now; nothing was taken in. The sentence says why and what to do."""


class Begin(Protocol):
    """Begins an effect without waiting; its outcome comes back as an event, whatever happens."""

    def __call__(self, effect: Effect) -> None: ...


@define(eq=False)
class _Pending:
    """An event on its way to a commit; `done` is set once its outcome is known to who waits."""

    event: Event
    done: trio.Event | None = None
    replies: tuple[Reply, ...] = ()
    fault: str | None = None


@define
class _Batch:
    """What a batch of events comes to, decided ahead on `world`."""

    world: World
    changes: dict[Key, Fact | None] = field(factory=dict)
    touched: dict[Key, None] = field(factory=dict)
    providers: dict[str, None] = field(factory=dict)


class Engine:
    """Holds the committed world and moves it on; made with an open link, run once."""

    def __init__(
        self,
        link: Link,
        settings: Settings,
        clock: Clock,
        begin: Begin,
        log: Log,
        holder: str,
        *,
        beside: Beside = at_once,
    ) -> None:
        self.settings = settings
        self._beside = beside
        self._link, self._clock, self._begin, self._log, self._holder = link, clock, begin, log, holder
        self._world: World | None = None
        self._unwritable: str | None = None
        self._send, self._receive = trio.open_memory_channel[_Pending](QUEUE_EVENTS)
        self._kept: list[_Pending] = []
        self._due: dict[Key, None] = {}
        self._wakes = Wakes()
        self._take_most = BATCH_EVENTS
        self._needs_load = False
        self._is_at_rest = False
        """Whether the committed world is the whole of what was told: no event waits or is being decided."""

    # --- for others

    def world(self) -> World | None:
        """The committed world; None before the facts are loaded and taken over."""
        return self._world

    def writable(self) -> str | None:
        """None while facts can be written; else a sentence why not."""
        return self._unwritable

    def moment(self) -> Moment:
        """Now."""
        return self._clock.moment()

    async def tell(self, event: Event) -> None:
        """Hands in an event; waits while the queue is full. A ping's answer that says nothing new is left out while
        there is nothing else to decide."""
        if isinstance(event, HealthSeen) and self._is_at_rest and self._is_old_news(event):
            await trio.lowlevel.checkpoint()
            return
        self._is_at_rest = False
        await self._send.send(_Pending(event))

    def _is_old_news(self, event: HealthSeen) -> bool:
        return self._world is not None and is_old_news(self._world, event)

    async def push(self, event: Push) -> tuple[Reply, ...]:
        """Hands in a snapshot or an order and returns what came of it once that is committed; FactsUnwritable if it
        can't be."""
        pending = _Pending(event, trio.Event())
        self._is_at_rest = False
        await self._send.send(pending)
        assert pending.done is not None  # noqa: S101  made above
        await pending.done.wait()
        if pending.fault is not None:
            raise FactsUnwritable(pending.fault)
        return pending.replies

    def is_owed(self, effect: Effect) -> bool:
        """Whether the committed state still owes this effect; asked right before its frame is written."""
        if self._world is None or self._unwritable is not None:
            return False
        found = owed_in_any_case(self._world, record_of(effect), self._clock.moment(), self.settings)
        return any(e.key == effect.key for e in found.effects)

    # --- the loop

    async def run(
        self,
        admit: Callable[[World], None] | None = None,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Loads the facts, takes over, and goes on until cancelled. Start, takeover and restart are this one path.

        `admit` looks at the loaded facts before anything is taken over, and raises if this daemon must not act on them.
        """
        world = await self._load()
        if admit is not None:
            admit(world)
        self._kept.append(_Pending(DaemonStarted(self._holder)))
        self._world, starting = None, True
        while True:
            if not starting:
                await self._collect()
            now = self._clock.moment()
            committed = await self._turn(world, now, plan=not starting)
            if committed is None:
                world = await self._recovered(world)
                continue
            world = committed
            if starting:
                starting = False
                self._touch(_everything(world))
                task_status.started()

    async def _turn(self, world: World, now: Moment, *, plan: bool) -> World | None:
        """One batch decided, committed and acted on; None if the commit did not succeed and everything is kept."""
        due = tuple(self._due)
        taken = self._kept[: self._take_most]
        batch = await self._beside(
            how_much(world, [pending.event for pending in taken], due),
            partial(self._decide, world, taken, now, due, plan=plan),
        )
        if self._unwritable is not None and not batch.changes:
            _probe(batch)
        if not await self._commit(batch):
            self._take_most = 1
            return None
        self._take_most = BATCH_EVENTS
        for key in due:
            self._due.pop(key, None)
        self._kept = self._kept[len(taken) :]
        tell_of_processes(self._log, self.settings.providers, world, batch.world, now)
        self._world = self._act(batch, due, now)
        for pending in taken:
            if pending.done is not None:
                pending.done.set()
        return self._world

    def _decide(self, world: World, taken: list[_Pending], now: Moment, due: tuple[Key, ...], *, plan: bool) -> _Batch:
        batch = _Batch(world)
        for n, pending in enumerate(taken):
            pending.replies = self._decide_one(batch, pending.event, Moment(now.at, now.boot_s, f"{now.seed}-{n}"))
        if due:
            self._decide_one(batch, CameDue(due), evolve(now, seed=f"{now.seed}-due"))
        if plan and self._unwritable is None and planning_at(batch.world, self.settings) <= now.boot_s:
            self._decide_one(batch, PlanningDue(), evolve(now, seed=f"{now.seed}-plan"))
        return batch

    def _decide_one(self, batch: _Batch, event: Event, now: Moment) -> tuple[Reply, ...]:
        draft = decide.decided(batch.world, event, now, self.settings)
        batch.world = draft.world
        for change in draft.changes:
            batch.changes[change.key] = change.value
        batch.touched.update(dict.fromkeys(draft.touched))
        batch.providers.update(dict.fromkeys(draft.providers))
        return draft.replies

    async def _commit(self, batch: _Batch) -> bool:
        if not batch.changes:
            return True
        versions = batch.world.versions
        operations = tuple(
            Put(key.kind.value, key.id, encode_fact(value), versions.get(key, 0))
            if value is not None
            else Delete(key.kind.value, key.id, versions.get(key, 0))
            for key, value in batch.changes.items()
            if value is not None or key in versions
        )
        outcome = await self._link.commit(Batch(operations)) if operations else None
        match outcome:
            case Committed(revision):
                batch.world = stamp(batch.world, batch.changes, revision)
                self._note_writable()
                return True
            case Refused(reason, _, detail):
                self._note_unwritable(f"{reason}: {detail}", needs_load=reason == "conflict")
                return False
            case Unknown(detail):
                self._note_unwritable(f"outcome of a commit unknown: {detail}", needs_load=True)
                return False
            case None:
                return True

    def _note_writable(self) -> None:
        if self._unwritable is not None:
            self._log.info("facts_writable_again")
        self._unwritable = None

    def _note_unwritable(self, why: str, *, needs_load: bool) -> None:
        if self._unwritable is None:
            self._log.warning("facts_not_writable", why=why, then="nothing is bought; tried again by itself")
        self._unwritable = why
        self._needs_load = needs_load

    async def _recovered(self, world: World) -> World:
        """After a commit that did not succeed: pushes are refused with the reason, outcomes are kept, and it is tried
        again."""
        kept = []
        for pending in self._kept:
            if pending.done is None:
                kept.append(pending)
                continue
            pending.fault = self._unwritable
            pending.done.set()
        self._kept = kept
        await trio.sleep(RETRY_S)
        if not self._needs_load:
            return world
        fresh = evolve(await self._load(), seen=world.seen)
        # What has landed after all was never acted on: nobody else would look at it again.
        self._touch([*_everything(fresh), *(Key(FactKind.PROCESS, p) for p in self.settings.providers)])
        return fresh

    # --- effects

    def _act(self, batch: _Batch, due: tuple[Key, ...], now: Moment) -> World:
        """Starts what is owed by what was touched and returns the world in which that is in flight."""
        # Thousands may be due at once: looked up, never searched.
        looked_at = frozenset(due)
        touched = dict.fromkeys(batch.changes) | batch.touched | dict.fromkeys(due)
        for provider in batch.providers:
            touched.update(dict.fromkeys(_of_provider(batch.world, provider)))
        world = batch.world
        begun: list[Effect] = []
        for key in touched:
            found = owed(world, key, now, self.settings)
            for effect in found.effects:
                world = _in_flight(world, effect, now)
                begun.append(effect)
            self._wakes.set(key, found.wake_boot_s, now, again=key in looked_at)
        self._touch(k for k in (*batch.changes, *batch.touched) if k.kind in _ADVANCED and k not in looked_at)
        self._touch(k for provider in batch.providers for k in _of_provider(world, provider))
        self._world = world
        for effect in begun:
            self._begin(effect)
        return world

    def _touch(self, keys: Iterable[Key]) -> None:
        self._due.update(dict.fromkeys(keys))

    async def _collect(self) -> None:
        """Waits for events or for the next wake, then takes what waits, up to a batch."""
        self._take_waiting()
        wait_s = self._wait_s()
        if wait_s > 0:
            self._is_at_rest = True
            with trio.move_on_after(wait_s):
                self._kept.append(await self._receive.receive())
            self._is_at_rest = False
        else:
            await trio.lowlevel.checkpoint()
        self._take_waiting()
        self._touch(self._wakes.due(self._clock.moment().boot_s))

    def _take_waiting(self) -> None:
        while len(self._kept) < BATCH_EVENTS:
            try:
                self._kept.append(self._receive.receive_nowait())
            except trio.WouldBlock:
                break

    def _wait_s(self) -> float:
        if self._due or self._kept:
            return 0.0
        if self._unwritable is not None:
            return RETRY_S
        soonest = self._wakes.soonest()
        if self._world is not None:
            soonest = min(soonest, planning_at(self._world, self.settings))
        return max(0.0, soonest - self._clock.moment().boot_s)

    async def _load(self) -> World:
        found = await self._link.load()
        empty = World(self._link.cluster, self._link.lineage)
        records = ((decode_fact(r.kind, r.id, r.value), r.version) for r in found.records)
        with built_to_stay():
            return loaded(empty, ((key, version, fact) for (key, fact), version in records))


_ADVANCED = frozenset({FactKind.REQUEST, FactKind.RETURN, FactKind.INSTANCE, FactKind.WISH, FactKind.PROCESS})
"""Kinds of record that can take steps of their own once a change of theirs is committed."""


def _probe(batch: _Batch) -> None:
    """With nothing to commit, one record written as it is tells whether facts can be written again."""
    for lease, fact in batch.world.epochs.items():
        batch.changes[Key(FactKind.EPOCH, lease)] = fact
        return


def _in_flight(world: World, effect: Effect, now: Moment) -> World:
    seen = copied(world.seen, in_flight=world.seen.in_flight.set(effect.key, now.boot_s))
    if isinstance(effect, SendRequest):
        token = world.requests[effect.request].token
        seen = copied(seen, frames_open=seen.frames_open.set(token, effect.number))
    return copied(world, seen=seen)


def _of_provider(world: World, provider: str) -> list[Key]:
    """Every record of one provider that can owe something or take a step."""
    keys = [Key(FactKind.PROCESS, provider)]
    keys += [Key(FactKind.REQUEST, r.id) for r in world.open_requests.values() if r.provider == provider]
    keys += [Key(FactKind.RETURN, r.id) for r in world.open_returns.values() if r.provider == provider]
    return keys


def _everything(world: World) -> list[Key]:
    """What a start touches: all that is open, all that is not up yet, every wish."""
    unsettled = (InstanceState.BOOTING, InstanceState.UNKNOWN)
    keys = [Key(FactKind.REQUEST, r) for r in world.open_requests]
    keys += [Key(FactKind.RETURN, r) for r in world.open_returns]
    keys += [Key(FactKind.WISH, w) for w in world.wishes]
    keys += [Key(FactKind.INSTANCE, i.id) for i in world.live.values() if i.state in unsettled or i.drain is not None]
    return keys
