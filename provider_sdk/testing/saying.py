"""The params the kit sends: what a daemon of one run says of itself and asks for.

Alone responsible for their contents. Sends nothing.
"""

import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from attrs import Factory, frozen

from provider_sdk.contract import PROVIDER_FRAME_BYTES

Params = dict[str, Any]
NOT_AFTER_S: Final = 300.0
ANSWER_S_MAX: Final = 600


@frozen
class Identity:
    """The names under which one run buys; `run` is random, so that no two runs share a token or a lineage."""

    run: str
    cluster: str = "conformance"
    provider: str = "subject"
    owner: str = "kit"
    numbers: "count[int]" = Factory(lambda: count(1))

    @property
    def lineage(self) -> str:
        """Return the id of the facts this run pretends to keep."""
        return f"l-{self.run}"

    def fresh(self, prefix: str) -> str:
        """Return a name never used before."""
        return f"{prefix}-{self.run}-{next(self.numbers)}"

    def mark(self, request_id: str, token: str, epoch: int) -> Params:
        """Return the mark of one purchase."""
        return {
            "cluster": self.cluster,
            "lineage": self.lineage,
            "provider": self.provider,
            "request_id": request_id,
            "token": token,
            "epoch": epoch,
        }

    def initialize(self, state_dir: Path, epoch: int, config: Mapping[str, object], **changes: object) -> Params:
        """Return the params of `initialize`."""
        return {
            "versions": ["2.0"],
            "mode": "serve",
            "cluster": self.cluster,
            "lineage": self.lineage,
            "provider": self.provider,
            "owner": self.owner,
            "epoch": epoch,
            "config": dict(config),
            "state_dir": str(state_dir),
            "frame_bytes": PROVIDER_FRAME_BYTES,
            "answer_s_max": ANSWER_S_MAX,
            "daemon": {"name": "conformance kit", "version": "1"},
            **changes,
        }


def not_after() -> float:
    """Return a time of CLOCK_BOOTTIME until which a call may begin."""
    return round(time.clock_gettime(time.CLOCK_BOOTTIME) + NOT_AFTER_S, 3)


def long_past() -> float:
    """Return a time of CLOCK_BOOTTIME that is over."""
    return round(max(0.001, time.clock_gettime(time.CLOCK_BOOTTIME) - 30.0), 3)
