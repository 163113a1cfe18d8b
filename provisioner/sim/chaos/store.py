"""The keeper of facts of a history: in memory, refusing or leaving open what the strikes say, and the crash points
around a commit.

It must not know what a fact means.
"""

from provisioner.runtime.links.link import Batch, Committed, Outcome, Refused, Unknown
from provisioner.runtime.links.memory import MemoryLink
from provisioner.sim.chaos.history import ON_COMMIT, Fault, Strike
from provisioner.sim.chaos.stage import Crashed, Stage

CLUSTER, LINEAGE = "clu", "l-chaos"
PAUSE_MOST_S = 20.0


class StruckLink(MemoryLink):
    """Facts in memory; what befalls each commit is the stage's."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(CLUSTER, LINEAGE)
        self._stage = stage
        self._refusals_left = 0

    async def commit(self, batch: Batch) -> Outcome:
        """Commits, refuses, leaves open, or lets the daemon end right here."""
        self._before(batch)
        strike = self._stage.strikes("commit", self._stage.nth("commit"), ON_COMMIT)
        if strike is not None:
            self._stage.hit(strike.fault)
        if self._refusals_left or (strike is not None and strike.fault is Fault.DISK_FULL):
            self._refusals_left = max(0, self._refusals_left - 1) if strike is None else int(strike.size * 5)
            return Refused("disk_full", (), "no space left")
        if strike is not None and strike.fault is Fault.COMMIT_LOST:
            return Unknown("no word of the commit, it is lost")
        outcome = await super().commit(batch)
        self._after(outcome)
        if strike is not None and isinstance(outcome, Committed):
            return Unknown("no word of the commit, it has landed")
        return outcome

    def _before(self, batch: Batch) -> None:
        daemon = self._stage.daemon
        if daemon is not None and not daemon.has_taken_over:
            strike = self._stage.passes(Fault.CRASH_DURING_TAKEOVER)
            if strike is not None and strike.size < 0.5:
                raise _crash(strike)
        elif daemon is not None and daemon.outcomes_waiting:
            daemon.outcomes_waiting = 0
            self._end_at(Fault.CRASH_BEFORE_RECORD)
        self._end_at(Fault.CRASH_BEFORE_COMMIT)

    def _after(self, outcome: Outcome) -> None:
        daemon = self._stage.daemon
        if daemon is not None and isinstance(outcome, Committed):
            daemon.has_taken_over = True
        self._end_at(Fault.CRASH_AFTER_COMMIT)

    def _end_at(self, point: Fault) -> None:
        strike = self._stage.passes(point)
        if strike is not None:
            raise _crash(strike)


def _crash(strike: Strike) -> Crashed:
    return Crashed(str(0.5 + strike.size * PAUSE_MOST_S))
