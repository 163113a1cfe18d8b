"""Live demand for hosts of one kind: hosts are wanted, come, are let go, and are wanted again.

It alone plays the source. It must not know who supplies them, nor what stands beside.
"""

import threading
import time
from typing import Any

from attrs import define, field

from tests.e2e.daemon import Daemon
from tests.e2e.rest import Unanswered
from tests.e2e.scheduler import OPEN, entry
from tests.e2e.waiting import LOOK_EVERY_S

HOSTS = 2


@define(eq=False)
class Demand:
    """Turns rounds of demand until stopped; `rounds` counts those that were met and given back whole."""

    daemon: Daemon
    providers: frozenset[str]
    source: str
    arch: str
    rounds: int = field(default=0, init=False)
    longest_s: float = field(default=0.0, init=False)
    met: int = field(default=0, init=False)
    fault: str | None = field(default=None, init=False)
    _revision: int = field(default=0, init=False)
    _wants: bool = field(default=True, init=False)
    _stop: threading.Event = field(factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def begin(self) -> None:
        """Starts to want."""
        self._thread = threading.Thread(target=self._turn, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops to want; AssertionError if a push was refused."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        assert self.fault is None, self.fault

    def step(self) -> bool:
        """One look and one push; whether a round has just ended."""
        there = [i for i in self.daemon.live() if i["provider"] in self.providers]
        ready = [i for i in there if i["state"] in OPEN]
        if self._wants and len([i for i in ready if not i["drain"]]) >= HOSTS:
            self._wants = False
            self.met += 1
        elif not self._wants and not there:
            self._wants = True
            return True
        self._push(ready)
        return False

    def _push(self, ready: list[dict[str, Any]]) -> None:
        self._revision += 1
        lines = [{"id": "a", "kind": "host", "count": HOSTS, "each": {"cores": 2}, "where": {"arch": self.arch}}]
        lacking = lines if self._wants and not ready else []
        entries = [entry(host, "drained" if host["drain"] else ("busy" if self._wants else "idle")) for host in ready]
        self.daemon.rest.put(
            f"/v1/cluster/{self.source}",
            {
                "supply": {"revision": self._revision, "entries": entries},
                "demand": {"revision": self._revision, "lines": lacking},
            },
        )

    def _turn(self) -> None:
        began_s = time.monotonic()
        while not self._stop.wait(LOOK_EVERY_S):
            try:
                if self.step():
                    self.rounds += 1
                    self.longest_s = max(self.longest_s, time.monotonic() - began_s)
                    began_s = time.monotonic()
            except Unanswered:
                continue
            except AssertionError as refused:
                self.fault = str(refused)
                return
