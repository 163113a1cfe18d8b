"""Where a history happens: one agenda of moments, the clocks, the daemon that lives and dies, and what has struck.

It knows when things happen and to whom; it must not know what a provider answers nor what a violation is.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable

import trio
from attrs import define, field

from provisioner.core.events import Event, Moment
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.runtime.engine import Engine
from provisioner.sim.chaos.history import FAULTS_S, Fault, History, Strike

STARTED_AT = 1_900_000_000.0
FAULTS_OF_OUR_OWN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What an engine may die of that is a bug and not a strike."""


class Crashed(Exception):
    """The daemon ends here, as by kill -9; raised only where a strike says so."""


@define(eq=False)
class WallClock:
    """The wall clock as it jumps, and the boot clock that never does; seeds are counted, hence repeatable."""

    seed: int
    offset_s: float = 0.0
    count: int = 0

    def moment(self) -> Moment:
        """Now, with the next seed."""
        self.count += 1
        return self.glance(f"{self.seed}-{self.count}")

    def glance(self, seed: str = "") -> Moment:
        """Now, without using up a seed."""
        passed_s = trio.current_time()
        return Moment(STARTED_AT + passed_s + self.offset_s, passed_s, seed)


class Silence:
    """A log nobody reads."""

    def info(self, event: str, **fields: object) -> None:
        """Says nothing."""

    def warning(self, event: str, **fields: object) -> None:
        """Says nothing."""


@define(eq=False)
class Daemon:
    """One incarnation: its engine and how it is ended."""

    number: int
    engine: Engine
    scope: trio.CancelScope
    is_alive: bool = True
    has_taken_over: bool = False
    outcomes_waiting: int = 0


@define(eq=False)
class Stage:
    """The course of one history."""

    history: History
    clock: WallClock
    settings: Settings
    hits: Counter[Fault] = field(factory=Counter)
    lines: list[str] = field(factory=list)
    bugs: list[str] = field(factory=list)
    daemon: Daemon | None = None
    is_over: bool = False
    last_world: World | None = None
    on_death: Callable[[Daemon, float], None] = field(default=lambda _daemon, _pause_s: None)
    before_each: Callable[[], None] = field(default=lambda: None)
    _agenda: list[tuple[float, int, Callable[[], None]]] = field(factory=list)
    _outbox: list[tuple[Daemon, Event]] = field(factory=list)
    _news: trio.Event = field(factory=trio.Event)
    _count: int = 0
    _passed: Counter[str] = field(factory=Counter)
    _used: set[int] = field(factory=set)

    # --- time

    def now_s(self) -> float:
        """Seconds since the history began."""
        return trio.current_time()

    def after(self, delay_s: float, act: Callable[[], None]) -> None:
        """Lets something happen later; a delay of nothing is none: every moment has its own place in time."""
        self._count += 1
        heapq.heappush(self._agenda, (self.now_s() + delay_s, self._count, act))
        self._news.set()

    def rng(self, *name: object) -> random.Random:
        """Chance of its own for everything that has a name, so that leaving one thing out moves no other."""
        return random.Random("/".join(map(str, (self.history.seed, *name))))

    def say(self, line: str) -> None:
        """Adds a line to what is told of this history."""
        self.lines.append(f"{self.now_s():8.2f}  {line}")

    async def play(self) -> None:
        """Lets everything on the agenda happen in its order until somebody says that it is over."""
        while not self.is_over:
            at_s, _, act = self._agenda[0]
            if at_s > self.now_s():
                self._news = trio.Event()
                with trio.move_on_at(at_s):
                    await self._news.wait()
                continue
            heapq.heappop(self._agenda)
            self.before_each()
            act()
            await self._deliver()

    async def _deliver(self) -> None:
        while self._outbox:
            daemon, event = self._outbox.pop(0)
            if daemon.is_alive:
                await daemon.engine.tell(event)

    # --- strikes

    def strikes(self, on: str, nth: int, among: tuple[Fault, ...] = ()) -> Strike | None:
        """The strike due on this call, commit or passing, if any; each strikes once, and only before the calm."""
        if self.now_s() >= FAULTS_S:
            return None
        for n, strike in enumerate(self.history.strikes):
            fits = strike.on == on and strike.nth == nth and (not among or strike.fault in among)
            if fits and n not in self._used:
                self._used.add(n)
                return strike
        return None

    def nth(self, name: str) -> int:
        """Counts one more of something and says how many that makes."""
        self._passed[name] += 1
        return self._passed[name]

    def hit(self, fault: Fault, what: str = "") -> None:
        """A fault has struck."""
        self.hits[fault] += 1
        self.say(f"** {fault.value} {what}".rstrip())

    def passes(self, point: Fault) -> Strike | None:
        """The strike that ends the daemon at this passing of a crash point, if any."""
        strike = self.strikes("point", self.nth(f"point/{point}"), (point,))
        if strike is not None:
            self.hit(point)
        return strike

    # --- the daemon

    def tell(self, daemon: Daemon, event: Event, *, is_outcome: bool = True) -> None:
        """An event on its way to a daemon; a dead one hears nothing."""
        if daemon.is_alive:
            daemon.outcomes_waiting += is_outcome
            self._outbox.append((daemon, event))

    def world(self) -> World | None:
        """What the living daemon has committed."""
        return self.daemon.engine.world() if self.daemon is not None and self.daemon.is_alive else None

    def kill_daemon(self, pause_s: float) -> None:
        """Ends the daemon without a word; the next one starts after the pause."""
        daemon = self.daemon
        if daemon is not None and daemon.is_alive:
            daemon.is_alive = False
            daemon.scope.cancel()
            self.on_death(daemon, pause_s)

    async def live(self, daemon: Daemon) -> None:
        """The life of one incarnation; a bug of its own is written down and ends it like a crash."""
        with daemon.scope:
            try:
                await daemon.engine.run()
            except Crashed as crash:
                self._fell(daemon, float(str(crash)))
            except FAULTS_OF_OUR_OWN as bug:
                self.bugs.append(f"the engine died of {type(bug).__name__}: {bug}")
                self.say(f"!! {self.bugs[-1]}")
                self.is_over = True
                self.after(0.0, lambda: None)

    def _fell(self, daemon: Daemon, pause_s: float) -> None:
        daemon.is_alive = False
        self.on_death(daemon, pause_s)
