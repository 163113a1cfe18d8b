"""One daemon with a good provider, hostile ones beside it, live demand for all, and a prober of its health.

It alone puts them together and says what came of it. It must not know what the hostile ones do.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from tests.e2e.clouds import SOURCE, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.hostile.demand import Demand
from tests.e2e.hostile.kinds import Kind
from tests.e2e.hostile.prober import Prober, Seen
from tests.e2e.hostile.subjects.plain import ARCH
from tests.e2e.waiting import wait_until

GOOD = "good"
BAIT = "bait"
KIB = 1024


@frozen
class Outcome:
    """What came of one run; sizes in bytes, times in seconds."""

    seen: Seen
    rss_first: int
    rss_last: int
    rounds: int
    longest_round_s: float
    longest_step_s: float | None
    """Processor time of the longest step of the daemon's loop; None where it was not watched."""
    long_steps: tuple[dict[str, Any], ...] = ()
    faults: tuple[str, ...] = ()


@define(eq=False)
class Stage:
    """A running daemon; `good` is the demand that must be met whatever the others do."""

    daemon: Daemon
    kinds: Sequence[Kind]
    steps: Path | None = None
    good: Demand = field(init=False)
    bait: Demand = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.good = Demand(self.daemon, frozenset({GOOD}), SOURCE, "x86_64")
        self.bait = Demand(self.daemon, frozenset(kind.name for kind in self.kinds), BAIT, ARCH)

    def configure(self) -> None:
        """One good cloud, and every hostile provider; both sources are answered within a second."""
        providers = {GOOD: cloud(), **{kind.name: kind.entry() for kind in self.kinds}}
        source = {"fresh_for": "60s", "netting_window": "2s"}
        self.daemon.configure(settings(providers, sources={SOURCE: source, BAIT: source}))
        if self.steps is not None:
            self.daemon.program = ("-m", "tests.e2e.hostile.watched", str(self.steps))

    def start(self) -> None:
        """Starts the daemon and waits for the good provider alone."""
        self.configure()
        self.daemon.start(providers_too=False)
        wait_until("the good provider is ready", lambda: self.daemon.provider(GOOD)["ready"])
        self.good.begin()
        if self.kinds:
            self.bait.begin()

    def end(self) -> None:
        """Ends the demand; AssertionError if a push was refused."""
        self.good.end()
        self.bait.end()

    # --- what an operator is told

    def told_of(self, kind: Kind) -> bool:
        """Whether all that is to be told of a hostile provider is told now."""
        record = self.daemon.provider(kind.name)
        return (not kind.works or record["ready"]) and kind.says in json.dumps(record) and self.logged(kind)

    def logged(self, kind: Kind) -> bool:
        """Whether the daemon's log holds the event that is to tell of it."""
        event, text = kind.logs
        return not event or any(
            line.get("provider") == kind.name and line["event"] == event and text in json.dumps(line)
            for line in self.log_lines()
        )

    def log_lines(self) -> Iterator[dict[str, Any]]:
        """Every whole line of the daemon's log."""
        for line in (self.daemon.folder / "daemon.log").read_text(errors="replace").splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def rss(self) -> int:
        """The daemon's resident memory."""
        child = self.daemon.child
        assert child is not None
        status = Path(f"/proc/{child.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * KIB


@contextmanager
def staged(daemon: Daemon, kinds: Sequence[Kind], steps: Path | None = None) -> Iterator[Stage]:
    """A stage whose daemon runs; afterwards nothing of it does."""
    stage = Stage(daemon, kinds, steps)
    try:
        stage.start()
        yield stage
    finally:
        stage.good.end()
        stage.bait.end()
        daemon.clean_up()


def play(daemon: Daemon, kinds: Sequence[Kind], seconds: float, steps: Path) -> Outcome:
    """Runs for so many seconds, and longer until what is to be told of the hostile ones is told."""
    faults: list[str] = []
    with staged(daemon, kinds, steps) as stage:
        prober = Prober(daemon.folder / "api.sock")
        prober.begin()
        try:
            time.sleep(seconds / 4)
            rss_first = stage.rss()
            time.sleep(seconds * 3 / 4)
            for kind in kinds:
                _noted(faults, f"{kind.name} is told of", partial(stage.told_of, kind))
            rounds, longest_s = stage.good.rounds, stage.good.longest_s
            _noted(faults, "a round of demand is met beside it", lambda: stage.good.rounds > 0)
            rss_last = stage.rss()
        finally:
            seen = prober.end()
        stage.end()
        if daemon.stop() != 0:
            faults.append("the daemon did not end in order")
        _noted(faults, "nothing is left running", lambda: not daemon.processes)
        watched = json.loads(steps.read_text())
    return Outcome(
        seen, rss_first, rss_last, rounds, longest_s, watched["longest_s"], tuple(watched["long"]), tuple(faults)
    )


def _noted(faults: list[str], what: str, look: Callable[[], object]) -> None:
    try:
        wait_until(what, look)
    except AssertionError as over:
        faults.append(str(over)[:300])
