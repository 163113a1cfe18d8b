"""The words of supervision: what a process is started with, how a call came out, what is reported of a process.

Values only. It must not know streams, tasks or signals.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Protocol, TypeAlias

from attrs import field, frozen

from provider_sdk.contract import ErrorData
from provider_sdk.contract.framing import PROVIDER_FRAME_BYTES
from provisioner.edge.peer import LateAnswer, Notified
from provisioner.runtime.spawn import ExitStatus
from provisioner.runtime.subreaper import Escapees

__all__ = [
    "TAIL_BYTES",
    "Answered",
    "BeforeWrite",
    "EndCause",
    "EndKind",
    "Ended",
    "Failed",
    "Graces",
    "HeardAgain",
    "Log",
    "Lost",
    "Outcome",
    "PingAnswered",
    "Pings",
    "ProcessIdentity",
    "ProcessSpec",
    "Quiet",
    "Report",
    "Reporter",
    "Unwritten",
    "kind_of_end",
]

_EXIT_FAULTY_CONFIGURATION = 78
TAIL_BYTES = 1 << 20
"""How much of a provider's stderr is kept where nobody says."""


@frozen
class Graces:
    """How long each step of the stop ladder may take, in seconds; the ladder never takes longer than their sum."""

    shutdown_s: float = 10.0
    """From "no new calls" to the answer of `shutdown`; running calls may finish meanwhile (HS-8)."""
    exit_s: float = 5.0
    """From closing stdin to the exit, after `shutdown` was answered (HS-8)."""
    stdin_end_s: float = 10.0
    """The same without an answered `shutdown` (HS-9)."""
    term_s: float = 2.0
    """From SIGTERM to SIGKILL."""
    kill_s: float = 5.0
    """From SIGKILL to the exit; over only for a process that hangs inside the kernel."""
    last_output_s: float = 0.5
    """After the exit: reading what is left in the pipes, which an escaped process may hold open for ever."""


@frozen
class Pings:
    """When a process that says nothing is asked (CC-7), in seconds."""

    quiet_s: float = 30.0
    degraded_s: float = 30.0
    end_s: float = 90.0


@frozen
class ProcessSpec:
    """Everything one incarnation of a provider's process is started with.

    `marker` must be unique to the incarnation and fit for an environment variable; `env_names` are passed through by
    name; folders are absolute. `calls` is the operator's bound on open calls, `cancel_grace_s` that of CC-5.
    """

    provider: str
    argv: tuple[str, ...]
    marker: str
    run_dir: str
    state_dir: str
    credentials_dir: str | None = None
    credential_files: tuple[str, ...] = ()
    """Names of the daemon's credential files that are linked into `credentials_dir`."""
    env_names: tuple[str, ...] = ()
    program_dir: str | None = None
    calls: int = 8
    frame_bytes: int = PROVIDER_FRAME_BYTES
    tail_bytes: int = TAIL_BYTES
    stderr_rate: int = 100
    """Lines of stderr a second that reach the log."""
    number: int = 0
    """Which start of this provider it is."""
    config_secrets: tuple[str, ...] = field(default=(), repr=False)
    """What its configuration holds of secrets although it must not: hidden in all that is shown or kept."""
    blackbox_dir: str | None = None
    blackbox_bytes: int | None = None
    """How much of what is said over its pipes is kept there; None: nothing."""
    memory_bytes: int | None = None
    groups_dir: str | None = None
    """The control group below which the process gets its own, None where there may be none."""
    cancel_grace_s: float = 10.0
    graces: Graces = Graces()
    pings: Pings = Pings()


@frozen
class ProcessIdentity:
    """By this a later start of the daemon knows the process again (stale_group.end_stale_group)."""

    pid: int
    start_ticks: int
    boot_id: str
    marker: str


@frozen
class Answered:
    """The provider answered; `result` is the object as sent, not yet checked against the method."""

    result: Mapping[str, object]


@frozen
class Failed:
    """The provider answered with an error."""

    error: ErrorData


@frozen
class Unwritten:
    """Not a single byte of the frame was written: the provider can't know of the call."""

    reason: str


@frozen
class Lost:
    """The frame, or a part of it, was written and no answer will be waited for any more: anything may have happened.

    `ordered`: because the daemon wanted the process to end, not because of anything the process did.
    """

    reason: str
    ordered: bool = False


Outcome: TypeAlias = Answered | Failed | Unwritten | Lost

BeforeWrite: TypeAlias = Callable[[], "str | Awaitable[str | None] | None"]
"""Asked right before the first byte, again after each wait for room: None = go on, else the reason not to write."""


class EndKind(StrEnum):
    """What an end means for the next start (contract section 2)."""

    ORDERLY = "orderly"
    FAULTY_CONFIGURATION = "faulty_configuration"
    FORCED = "forced"
    CRASH = "crash"


class EndCause(StrEnum):
    """Who wanted the end: nobody, the daemon, or the supervisor because the provider broke a limit or fell silent."""

    BY_ITSELF = "by_itself"
    ASKED = "asked"
    BROKEN_OFF = "broken_off"


def kind_of_end(status: ExitStatus | None, cause: EndCause) -> EndKind:
    """What an end means; `status` None = it would not end. Whatever broke off on its own side counts as a crash."""
    if status is not None and status.code == _EXIT_FAULTY_CONFIGURATION:
        return EndKind.FAULTY_CONFIGURATION
    match cause:
        case EndCause.BROKEN_OFF:
            return EndKind.CRASH
        case EndCause.ASKED if status is None or status.signal is not None:
            return EndKind.FORCED
        case EndCause.ASKED | EndCause.BY_ITSELF:
            return EndKind.ORDERLY if status is not None and status.code == 0 else EndKind.CRASH


@frozen
class Ended:
    """The incarnation is over, all its calls are settled.

    `is_gone` is the proof that closes its frames: the leader is reaped, its group killed, no known escapee left.
    """

    identity: ProcessIdentity
    status: ExitStatus | None
    kind: EndKind
    reason: str
    stderr_tail: tuple[str, ...]
    escapees: Escapees

    @property
    def is_gone(self) -> bool:
        """True if nothing of this incarnation can act any more."""
        return self.status is not None and not self.escapees.left


@frozen
class Quiet:
    """A ping was not answered for `for_s` seconds: degraded (CC-7)."""

    for_s: float


@frozen
class HeardAgain:
    """The ping that was overdue was answered."""


@frozen
class PingAnswered:
    """What a ping of the supervisor's own brought: its result, or its error."""

    answer: Mapping[str, object] | ErrorData


Report: TypeAlias = Notified | LateAnswer | Quiet | HeardAgain | PingAnswered | Ended
Reporter: TypeAlias = Callable[[Report], Awaitable[None]]
"""Takes one report; while it waits, this provider's stdout is not read."""


class Log(Protocol):
    """What is needed of a structlog logger."""

    def info(self, event: str, **fields: object) -> object:
        """Logs in the course of things."""

    def warning(self, event: str, **fields: object) -> object:
        """Logs what an operator should know."""
