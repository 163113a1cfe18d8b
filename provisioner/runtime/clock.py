"""The only place where clocks are read and random text is drawn for the core."""

import secrets
import time
from typing import Protocol

import trio

from provisioner.core.events import Moment


class Clock(Protocol):
    """Gives moments; `boot_s` runs on while the machine sleeps and never jumps."""

    def moment(self) -> Moment:
        """Now, with fresh random text for ids."""
        ...


class SystemClock:
    """Wall time, CLOCK_BOOTTIME and the system's randomness."""

    def moment(self) -> Moment:
        """Now, with fresh random text for ids."""
        return Moment(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), secrets.token_hex(10))


class VirtualClock:
    """The trio clock of the present run, so that a test's clock is the engine's; seeds are counted, hence
    repeatable."""

    def __init__(self, started_at: float = 1_900_000_000.0) -> None:
        self._started_at = started_at
        self._count = 0

    def moment(self) -> Moment:
        """Now by the trio clock, with the next seed."""
        self._count += 1
        passed = trio.current_time()
        return Moment(self._started_at + passed, passed, f"seed-{self._count}")
