"""One history from its first push to its last verdict: parts are built, strikes at times are laid out, calm is awaited.

The engine is the real one. It must not know what a fault means beyond carrying it out.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import trio
from attrs import define, field, frozen
from trio.testing import MockClock

from provisioner.core.effects import Effect
from provisioner.core.events import DemandPushed, HealthSeen, ProviderHinted
from provisioner.core.invariants import Violation, violations
from provisioner.core.settings import (
    Drain,
    Join,
    PolicySettings,
    ProviderSettings,
    Reclaim,
    ReturnRetry,
    Settings,
    SourceSettings,
    SqliteController,
)
from provisioner.runtime.engine import Engine, FactsUnwritable, Push
from provisioner.sim.chaos import judge, post
from provisioner.sim.chaos.far_side import FarSide
from provisioner.sim.chaos.frames import Frames
from provisioner.sim.chaos.history import FAULTS_S, Fault, History, Strike
from provisioner.sim.chaos.provider import Behaviour
from provisioner.sim.chaos.source import NAME, Source
from provisioner.sim.chaos.stage import STARTED_AT, Crashed, Daemon, Silence, Stage, WallClock
from provisioner.sim.chaos.store import CLUSTER, StruckLink

GIVE_UP_S: Final = FAULTS_S + 60.0
"""From here on nothing is wanted any more."""

MOST_S: Final = 2400.0
"""How long calm is awaited; a jump of the wall clock may put things off."""

LOOK_S: Final = 20.0
JUMP_MOST_S: Final = 900.0


@frozen
class Verdict:
    """What came of one history: violations with their ids, what struck, how long it took, and its story."""

    history: History
    violations: tuple[Violation, ...]
    hits: Counter[Fault]
    lines: tuple[str, ...]
    ended_s: float
    done: int
    bought: int


def settings_of(history: History) -> Settings:
    """Settings under which a history is short: everything that waits, waits seconds."""
    policy = PolicySettings(
        tick_s=30.0,
        min_interval_s=1.0,
        shrink_delay_s=20.0,
        cover_s=60.0,
        reclaim=Reclaim(idle_time_s=20.0),
        drain=Drain(answer_within_s=25.0, retry_s=30.0),
        join=Join(first_s=60.0),
    )
    return Settings(
        cluster=CLUSTER,
        controller=SqliteController(path="/nowhere/facts.db"),
        policy=policy,
        sources={NAME: SourceSettings(fresh_for_s=90.0, netting_window_s=30.0)},
        return_retry=ReturnRetry(first_s=5.0, most_s=60.0),
        list_every_s=25.0,
        providers={s.name: ProviderSettings(name=s.name, command=("provider",)) for s in history.suppliers},
    )


def run(history: History) -> Verdict:
    """Plays one history in virtual time; equal histories have equal verdicts."""
    return trio.run(partial(_run, history), clock=MockClock(autojump_threshold=0))


async def _run(history: History) -> Verdict:
    course = _Course(history)
    async with trio.open_nursery() as nursery:
        course.nursery = nursery
        course.begin()
        await course.stage.play()
        nursery.cancel_scope.cancel()
    return course.verdict()


@define(eq=False)
class _Course:
    history: History
    stage: Stage = field(init=False)
    link: StruckLink = field(init=False)
    clouds: dict[str, FarSide] = field(init=False)
    ways: dict[str, Frames] = field(init=False)
    source: Source = field(init=False)
    nursery: trio.Nursery = field(init=False)
    found: dict[tuple[str, str], Violation] = field(factory=dict)
    silent_until_s: float = 0.0
    blank_pushes: int = 0
    daemons: int = 0

    def __attrs_post_init__(self) -> None:
        history = self.history
        self.stage = Stage(history, WallClock(history.seed), settings_of(history))
        self.stage.on_death, self.stage.before_each = self._on_death, self._look
        self.link = StruckLink(self.stage)
        self.clouds = {s.name: FarSide(s) for s in history.suppliers}
        self.ways = {name: Frames(self.stage, Behaviour(cloud)) for name, cloud in self.clouds.items()}
        self.source = Source(sorted(history.work, key=lambda w: w.at_s), STARTED_AT)

    # --- the daemon

    def begin(self) -> None:
        """The first daemon, the first push, and every strike that has a time."""
        self._start_daemon()
        self.stage.after(1.5, self._push)
        for strike in self.history.strikes:
            if strike.on == "time":
                self.stage.after(strike.at_s, partial(self._strike, strike))
        self.stage.after(GIVE_UP_S, self.source.give_up)
        self.stage.after(GIVE_UP_S + LOOK_S, self._is_it_over)

    def _start_daemon(self) -> None:
        self.daemons += 1
        holder: list[Daemon] = []
        engine = Engine(
            self.link, self.stage.settings, self.stage.clock, partial(self._begin_effect, holder), Silence(), "chaos"
        )
        daemon = Daemon(self.daemons, engine, trio.CancelScope())
        holder.append(daemon)
        self.stage.daemon = daemon
        self.stage.say(f"daemon {daemon.number} starts")
        self.nursery.start_soon(self.stage.live, daemon)

    def _begin_effect(self, holder: list[Daemon], effect: Effect) -> None:
        strike = self.stage.passes(Fault.CRASH_DURING_FOLD)
        if strike is not None:
            raise Crashed(str(0.5 + strike.size * 20))
        post.begin(self.ways[effect.provider], holder[0], effect)

    def _on_death(self, daemon: Daemon, pause_s: float) -> None:
        self.stage.say(f"daemon {daemon.number} is dead")
        for frames in self.ways.values():
            frames.daemon_died(daemon)
        self.stage.after(pause_s, self._start_daemon)

    # --- the source

    def _push(self) -> None:
        now_s = self.stage.now_s()
        self.stage.after(
            self.stage.rng("push", self.stage.nth("push")).uniform(0.9, 1.1) * self.history.push_every_s, self._push
        )
        for cloud in self.clouds.values():
            cloud.collect(now_s)
        world = self.stage.world()
        shown = world.live.values() if world is not None else ()
        alive = frozenset(t.id for c in self.clouds.values() for t in c.living(now_s) if now_s >= t.runs_s)
        self.source.advance(shown, alive, now_s)
        if now_s < self.silent_until_s or world is None or self.stage.daemon is None:
            return
        blank = self.blank_pushes > 0
        self.blank_pushes = max(0, self.blank_pushes - 1)
        self._send(self.source.push(now_s, blank=blank))

    def _send(self, push: Push) -> None:
        daemon = self.stage.daemon
        if daemon is not None and daemon.is_alive:
            self.nursery.start_soon(_pushed, daemon, push)

    # --- strikes at times

    def _strike(self, strike: Strike) -> None:
        if self.stage.now_s() < FAULTS_S and _ACTS[strike.fault](self, strike):
            self.stage.hit(strike.fault)

    def _any_way(self, strike: Strike) -> Frames:
        ways = list(self.ways.values())
        return ways[int(strike.size * 1000) % len(ways)]

    def crash_provider(self, strike: Strike) -> bool:
        """A provider's process is killed."""
        frames = self._any_way(strike)
        if frames.process is None or not frames.process.is_there:
            return False
        daemon = self.stage.daemon
        frames.end_process("killed", daemon if daemon is not None and daemon.is_alive else None)
        return True

    def quiet(self, strike: Strike) -> bool:
        """A provider does not answer ping, and does again later."""
        frames = self._any_way(strike)
        process, daemon = frames.process, self.stage.daemon
        if process is None or daemon is None or not process.is_there or not process.has_input:
            return False
        self.stage.tell(daemon, HealthSeen(frames.name, process.number, "quiet"), is_outcome=False)
        heard = HealthSeen(frames.name, process.number, "ok")
        self.stage.after(5 + strike.size * 20, lambda: self.stage.tell(daemon, heard, is_outcome=False))
        return True

    def reclaim(self, strike: Strike) -> bool:
        """The far side takes something back."""
        now_s = self.stage.now_s()
        living = [(c, t) for c in self.clouds.values() for t in c.living(now_s) if t.visible_s <= now_s and t.named]
        if not living:
            return False
        cloud, thing = living[int(strike.size * 1000) % len(living)]
        thing.reclaimed = True
        cloud.leave(thing, now_s)
        return True

    def hint(self, strike: Strike) -> bool:
        """A provider says that something has changed."""
        frames, daemon = self._any_way(strike), self.stage.daemon
        if frames.process is None or daemon is None or not frames.process.is_there or not frames.process.has_input:
            return False
        what = ("instances",) if strike.size < 0.5 else ("description",)
        self.stage.tell(daemon, ProviderHinted(frames.name, frames.process.number, what), is_outcome=False)
        return True

    def jump(self, strike: Strike) -> bool:
        """The wall clock jumps by up to a quarter of an hour."""
        by_s = JUMP_MOST_S * (0.05 + 0.95 * strike.size)
        self.stage.clock.offset_s += by_s if strike.fault is Fault.CLOCK_FORWARD else -by_s
        return True

    def silence(self, strike: Strike) -> bool:
        """The source is not heard for a while."""
        self.silent_until_s = self.stage.now_s() + 20 + strike.size * 180
        return True

    def stale(self, strike: Strike) -> bool:
        """An older snapshot comes again, and the present one twice."""
        if self.source.revision < 4 or self.stage.world() is None:
            return False
        old = self.source.revision - 2
        self._send(DemandPushed(NAME, self.source.incarnation, old, old, ()))
        self.stage.after(0.5, lambda: self._send(self.source.push(self.stage.now_s())))
        return True

    def shrink(self, strike: Strike) -> bool:
        """The source shows no host once or twice."""
        self.blank_pushes = 1 + int(strike.size * 2)
        return bool(self.source.hosts)

    def withdraw(self, _strike: Strike) -> bool:
        """Who waits goes away, while things are being bought for them."""
        return self.source.withdraw()

    def reset(self, _strike: Strike) -> bool:
        """The source lost its counter and takes a higher incarnation."""
        self.source.lose_counter()
        return True

    def kill(self, strike: Strike) -> bool:
        """The daemon is killed."""
        if self.stage.daemon is None or not self.stage.daemon.is_alive:
            return False
        self.stage.kill_daemon(0.5 + strike.size * 25)
        return True

    # --- looking

    def _look(self) -> None:
        world = self.stage.world()
        if world is None or world is self.stage.last_world:
            return
        now = self.stage.clock.glance()
        self._keep(violations(world, now, self.stage.settings, self.stage.last_world))
        self._keep(judge.as_it_runs(world, self.clouds, now.boot_s))
        self.stage.last_world = world

    def _keep(self, found: object) -> None:
        for violation in found:  # type: ignore[attr-defined]
            key = (violation.id, violation.sentence)
            if key not in self.found:
                self.found[key] = violation
                self.stage.say(f"!! {violation.id}: {violation.sentence}")

    def _is_it_over(self) -> None:
        world, now_s = self.stage.world(), self.stage.now_s()
        over = world is not None and not self._is_under_way() and judge.settled(world, self.clouds, now_s)
        if over or now_s > MOST_S:
            self.stage.is_over = True
            if world is not None:
                self._keep(judge.at_the_end(world, self.clouds, now_s))
            else:
                self._keep([Violation("end.dead", "no daemon has taken over by the end")])
        else:
            self.stage.after(LOOK_S, self._is_it_over)

    def _is_under_way(self) -> bool:
        return any(c.under_way for c in self.clouds.values())

    def verdict(self) -> Verdict:
        """What came of it."""
        bugs = [Violation("bug", sentence) for sentence in self.stage.bugs]
        world = self.stage.last_world
        return Verdict(
            history=self.history,
            violations=(*bugs, *self.found.values()),
            hits=self.stage.hits,
            lines=tuple(self.stage.lines),
            ended_s=self.stage.now_s(),
            done=self.source.done,
            bought=len(world.requests) if world is not None else 0,
        )


async def _pushed(daemon: Daemon, push: Push) -> None:
    try:
        with trio.move_on_after(60.0):
            await daemon.engine.push(push)
    except FactsUnwritable:
        return


_ACTS: dict[Fault, Callable[[_Course, Strike], bool]] = {
    Fault.PROVIDER_CRASH: _Course.crash_provider,
    Fault.PROVIDER_QUIET: _Course.quiet,
    Fault.RECLAIMED: _Course.reclaim,
    Fault.HINT: _Course.hint,
    Fault.CLOCK_FORWARD: _Course.jump,
    Fault.CLOCK_BACK: _Course.jump,
    Fault.SOURCE_SILENT: _Course.silence,
    Fault.SOURCE_STALE: _Course.stale,
    Fault.SOURCE_SHRUNK: _Course.shrink,
    Fault.SOURCE_RESET: _Course.reset,
    Fault.WORK_WITHDRAWN: _Course.withdraw,
    Fault.DAEMON_KILLED: _Course.kill,
}
