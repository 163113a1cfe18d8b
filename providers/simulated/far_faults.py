"""Makes ordered faults of the far side happen: counts calls over restarts, picks the rules that strike, and waits.

Knows threads and one small file; must not know what a purchase is or how frames travel.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from attrs import field, frozen

from providers.simulated.faults import FaultPlan, Rule, strikes

_SLICE_S = 0.05
_LONGEST_WAIT_S = 86_400.0


class CallCounter:
    """Counts calls by name in a file, so that "the second purchase" stays the second after a restart.

    Written with a rename for each count: whole after kill -9. It is no record of anything bought, so it is not fsynced.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        if file is not None and file.exists():
            self._counts = {str(name): int(count) for name, count in json.loads(file.read_text()).items()}

    def next(self, name: str) -> int:
        """Return the number of this call, counted from 1."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1
            if self._file is not None:
                # The wire counts before the state folder is there: its own first frame is what makes it.
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                beside = self._file.with_suffix(".new")
                beside.write_text(json.dumps(self._counts))
                os.replace(beside, self._file)
            return self._counts[name]


@frozen
class FarFaults:
    """Says which ordered faults strike a call at the far side."""

    plan: FaultPlan
    seed: int
    counter: CallCounter
    closing: threading.Event = field(factory=threading.Event)

    def strike(self, method: str, token: str | None = None, template: str | None = None) -> tuple[Rule, ...]:
        """Count this call and return the rules that strike it, in the order of the configuration."""
        rules = self.plan.far(method)
        if not rules:
            return ()
        number = self.counter.next(method)
        return tuple(
            rule
            for order, rule in enumerate(rules)
            if strikes(rule, number, self.seed, order, token=token, template=template)
        )

    def wait(self, struck: tuple[Rule, ...], given_up: Callable[[], bool] = lambda: False) -> bool:
        """Wait as long as the struck delays say; False if the wait was given up or the process is closing."""
        left = min(_LONGEST_WAIT_S, sum(rule.for_ms for rule in struck if rule.do == "delay") / 1000)
        ends = time.monotonic() + left
        while (left := ends - time.monotonic()) > 0:
            if given_up() or self.closing.wait(min(left, _SLICE_S)):
                return False
        return True
