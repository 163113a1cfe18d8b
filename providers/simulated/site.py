"""What one served provider entry works with: configuration, cloud, account, clock and ordered faults.

Alone responsible for building these from what `initialize` said, with every fault of the configuration; must not know
what any later call asks for.
"""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, field, frozen

from provider_sdk.contract.promises import (
    CallsPromise,
    LimitsPromise,
    ListPromise,
    MarkPromise,
    MemoryPromise,
    Promises,
    ReturnPromise,
    TokenPromise,
)
from provider_sdk.contract.words import (
    Honoured,
    ListCovers,
    MarkKept,
    MemoryWhere,
    MinUnitsPromise,
    PriceCapPromise,
    Replay,
)
from provider_sdk.notify import Notifier
from provider_sdk.provider import ConfigFault, Start
from providers.simulated.cloud import Cloud
from providers.simulated.config import Config, read_config
from providers.simulated.far_faults import CallCounter, FarFaults
from providers.simulated.quotes import Quotes
from providers.simulated.records import Account
from providers.simulated.tables import find_file, open_books, open_scratch

CONFIG_DIR = "PROVISIONER_CONFIG_DIR"
"""Environment variable: the folder against which a relative `catalog` is looked up before the shipped tables."""

_ANSWERED = ("describe", "quote", "request", "request_status", "cancel", "return", "return_status", "list", "extend")
_SHIPPED = Path(__file__).parent


@define
class Clock:
    """Wall time in milliseconds that never runs backwards within one process."""

    _last_ms: int = 0
    _lock: threading.Lock = field(factory=threading.Lock)

    def now_ms(self) -> int:
        """Return the present time."""
        with self._lock:
            self._last_ms = max(self._last_ms, time.time_ns() // 1_000_000)
            return self._last_ms


class RunningTokens:
    """The tokens whose purchase is being worked on in this process, so that nobody closes them meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: set[str] = set()

    def begin(self, token: str) -> None:
        """The purchase has come in."""
        with self._lock:
            self._tokens.add(token)

    def end(self, token: str) -> None:
        """The purchase is in the books, or never will be."""
        with self._lock:
            self._tokens.discard(token)

    def has(self, token: str) -> bool:
        """Is this purchase being worked on?"""
        with self._lock:
            return token in self._tokens


@frozen
class Site:
    """Everything a call needs; shared by all calls of one process."""

    config: Config
    cloud: Cloud
    account: Account
    faults: FarFaults
    notify: Notifier
    frame_bytes: int
    now_ms: Callable[[], int]
    running: RunningTokens = field(factory=RunningTokens)
    quotes: Quotes = field(factory=Quotes)

    @property
    def instances_per_answer(self) -> int:
        """How many described instances fit one frame with room to spare."""
        return max(1, self.frame_bytes // 1500)


def open_site(start: Start, now_ms: Callable[[], int]) -> Site:
    """Build the site, which tells the time by `now_ms`; raises ConfigFault with all faults. Sells and buys nothing."""
    config, faults = read_config(start.config, load_table)
    if faults:
        raise ConfigFault((fault.path, fault.detail) for fault in faults)
    folder = Path(config.cloud_dir) if config.cloud_dir else start.state.path / "cloud"
    serving = start.mode == "serve"
    # A check leaves no trace: without a cloud to look at it looks at an empty one.
    connection = open_books(folder) if serving or find_file(folder) else open_scratch()
    counter = CallCounter(start.state.path / "far-calls.json" if serving else None)
    return Site(
        config=config,
        cloud=Cloud(connection, config.domain or f"{start.provider}.internal"),
        account=Account(start.cluster, start.provider),
        faults=FarFaults(config.faults, config.seed, counter),
        notify=start.notify,
        frame_bytes=start.frame_bytes,
        now_ms=now_ms,
    )


def load_table(name: str) -> str | None:
    """Return the text of a price table: by absolute path, relative to the configuration's folder, or a shipped one."""
    folders = [Path(os.environ[CONFIG_DIR])] if os.environ.get(CONFIG_DIR) else []
    for folder in (*folders, _SHIPPED):
        try:
            return (folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
    return None


def promises_of(config: Config) -> Promises:
    """Return what this cloud keeps; faults that were ordered break it on purpose."""
    delay_s = -(-config.list_delay_ms // 1000)
    return Promises(
        token=TokenPromise(Replay.EXACT, config.token_lifetime_s),
        mark=MarkPromise(MarkKept.FAR_SIDE),
        list=ListPromise(
            covers=ListCovers.FAR_SIDE,
            delay_s=delay_s,
            gone_visible_s=config.gone_visible_s,
            # The books never drop an instance, so what is not found after the delay does not exist.
            not_found_gone_after_s=2 * delay_s + 60,
        ),
        # A cloud inside the state folder is lost with it; only a folder of its own is a far side.
        memory=MemoryPromise(
            MemoryWhere.FAR_SIDE if config.cloud_dir else MemoryWhere.STATE_DIR, config.token_lifetime_s
        ),
        limits=LimitsPromise(PriceCapPromise.LIFE, MinUnitsPromise.ATOMIC, Honoured.HONOURED),
        return_=ReturnPromise(
            partial=any(offer.terms.kind == "grant" for offer in config.offers.values()),
            observed=True,
            typical_s=config.return_time.typical_s,
        ),
        calls=CallsPromise(
            in_flight=config.in_flight,
            answer_s={method: max(1, config.answer_s) for method in _ANSWERED},
            not_after=Honoured.HONOURED,
            late_effect_s=0,
        ),
    )
