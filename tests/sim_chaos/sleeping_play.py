"""A play in which nothing is looked at but what was touched or has come due, as a daemon does it; `Play` looks at all.

So a record that nobody would ever look at again stays asleep here too.
"""

from provisioner.core.facts import Key
from provisioner.core.owed import owed
from provisioner.core.planner import planning_at
from provisioner.core.settings import Settings
from provisioner.core.world import World
from tests.core.play import Play


class SleepingPlay(Play):
    """One daemon's decisions; time wakes only what asked to be woken."""

    def __init__(self, settings: Settings, world: World | None = None) -> None:
        self.wakes: dict[Key, float] = {}
        super().__init__(settings, world)

    def _begin(self, key: Key) -> None:
        super()._begin(key)
        at = owed(self.world, key, self.moment(), self.settings).wake_boot_s
        if at is None:
            self.wakes.pop(key, None)
        else:
            self.wakes[key] = at

    def pass_s(self, seconds: float) -> None:
        """Lets time pass, from one wake to the next."""
        end_s = self.now_s + seconds
        for _ in range(10_000):
            soonest = min([*self.wakes.values(), planning_at(self.world, self.settings)])
            if soonest > end_s:
                break
            self.now_s = max(self.now_s + 0.02, soonest)
            due = [key for key, at in self.wakes.items() if at <= self.now_s]
            for key in due:
                del self.wakes[key]
            self.settle(due)
        self.now_s = max(self.now_s, end_s)
