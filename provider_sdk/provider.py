"""What an author writes: a class with one typed method for each word of the contract.

Knows the words and promises of the contract; must not know descriptors, frames, threads or queues.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

from attrs import Factory, frozen

from provider_sdk.call import Call
from provider_sdk.config_check import Schema
from provider_sdk.contract.messages import (
    CancelParams,
    DescribeParams,
    DescribeResult,
    ExtendParams,
    ExtendResult,
    ForgetParams,
    ForgetResult,
    ListParams,
    ListResult,
    PingResult,
    Program,
    QuoteParams,
    QuoteResult,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnParams,
    ReturnResult,
    ReturnStatusParams,
    ReturnStatusResult,
    ShutdownParams,
    ShutdownResult,
)
from provider_sdk.contract.promises import Promises
from provider_sdk.contract.types import Report
from provider_sdk.contract.versions import VERSIONS
from provider_sdk.contract.words import Capability, Health, Kind, Mode
from provider_sdk.credentials import Credentials
from provider_sdk.errors import ConfigFault, ContractError, ErrorClass, NothingMade
from provider_sdk.lifespan import Lifespan
from provider_sdk.log import Log
from provider_sdk.notify import Notifier
from provider_sdk.state import StateFolder
from provider_sdk.stdio import write_log

__all__ = [
    "Answer",
    "Call",
    "ConfigFault",
    "ContractError",
    "Credentials",
    "ErrorClass",
    "Lifespan",
    "Log",
    "NothingMade",
    "Notifier",
    "Opened",
    "Promises",
    "Provider",
    "ProviderInfo",
    "Start",
    "StateFolder",
]

ProviderInfo: TypeAlias = Program
T = TypeVar("T")
Answer: TypeAlias = T | Awaitable[T]
"""A method may be plain (it runs in a worker thread) or `async` (it runs on trio and must never block)."""


@frozen
class Start:
    """What the daemon said in `initialize`, and what the SDK lends: state folder, notifier, credentials and log.

    `mode` is `serve` or `check`; `config` is the provider's own section, credentials by name only; `credentials_dir`
    holds the credential files, if there are any: `credentials` reads them, and variables, by name.
    """

    cluster: str
    lineage: str
    provider: str
    owner: str
    epoch: int
    mode: Mode
    config: Mapping[str, object]
    state: StateFolder
    credentials_dir: Path | None
    notify: Notifier
    frame_bytes: int
    answer_s_max: int
    credentials: Credentials = Factory(lambda: Credentials(None, {}))
    log: Log = Factory(lambda: Log(write_log))


@frozen
class Opened:
    """What this provider is able to do and what it vouches for; a promise left out has its weakest value."""

    capabilities: tuple[Capability, ...] = ()
    promises: Promises = Factory(Promises)


class Provider(ABC):
    """One thing that can be supplied, spoken to by one daemon process at a time.

    Calls come side by side, up to the promise `calls.in_flight`, but never two at once for one token or one instance,
    unless `serialises_itself` says that the provider looks after that. Raise ContractError for a typed refusal; any
    other exception becomes `internal`, with its text in the log only.
    """

    info: ClassVar[ProviderInfo]
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.HOST,)
    versions: ClassVar[tuple[str, ...]] = VERSIONS
    serialises_itself: ClassVar[bool] = False
    checks_fence: ClassVar[bool] = False
    """True is the vow that `call.check_fence()` stands right before *every* far-side change: then a failure before the
    first check is answered with `not_made` instead of `unknown`."""
    config_schema: ClassVar[Schema | None] = None
    """A JSON Schema of the provider's own section, or its file: then faults are told before `open` is called."""

    def open(self, start: Start) -> Answer[Opened]:
        """Read configuration and records, change nothing at the far side (HS-5); raises ConfigFault with all faults."""
        return Opened()

    def lifespan(self, start: Start) -> Lifespan:
        """What is held open while calls are served: a context manager, `async` or plain, entered after `open`.

        Sessions and background tasks live here. It is left after the last call of an orderly end, within a second; a
        background task that fails ends the process as a crash. A far side that is down must not keep it from being
        entered (HS-4), which may take 45 s.
        """
        return nullcontext()

    @abstractmethod
    def describe(self, params: DescribeParams) -> Answer[DescribeResult]:
        """Say which templates there are (clauses DS-1 to DS-6)."""

    @abstractmethod
    def request(self, params: RequestParams, call: Call) -> Answer[Report]:
        """Buy once for one token, or give the present report of a token already known (clauses RQ-1 to RQ-6)."""

    @abstractmethod
    def request_status(self, params: RequestStatusParams) -> Answer[RequestStatusResult]:
        """Report on purchases; what this process has queued or is executing is made `pending` by the SDK."""

    @abstractmethod
    def return_(self, params: ReturnParams, call: Call) -> Answer[ReturnResult]:
        """Give instances back, each item on its own (clauses RT-1 to RT-7)."""

    @abstractmethod
    def return_status(self, params: ReturnStatusParams) -> Answer[ReturnStatusResult]:
        """Report on give-backs; one without items is not known."""

    @abstractmethod
    def list_(self, params: ListParams) -> Answer[ListResult]:
        """List what is ours at the far side (clauses LS-1 to LS-10)."""

    def ping(self) -> Answer[PingResult]:
        """Say how the far side was last seen; the SDK fills in `in_flight` and `queued`."""
        return PingResult(health=Health.OK)

    def shutdown(self, params: ShutdownParams) -> Answer[ShutdownResult]:
        """Say what stays open at the far side; running calls have ended or their grace is over."""
        return ShutdownResult()

    def close(self) -> Answer[None]:
        """Let go of sessions and files; called once at an orderly end, with a bound, and skipped by a crash."""
        return None

    # By capability: served only if `Opened.capabilities` names them.

    def quote(self, params: QuoteParams) -> Answer[QuoteResult]:
        """Quote a price; costs nothing and obliges nobody (QT-1, QT-2)."""
        raise not_written("quote")

    def cancel(self, params: CancelParams, call: Call) -> Answer[Report]:
        """Ask that no further unit be made under a token (CN-1 to CN-3)."""
        raise not_written("cancel")

    def extend(self, params: ExtendParams, call: Call) -> Answer[ExtendResult]:
        """Move the end of instances, never to an earlier time."""
        raise not_written("extend")

    def forget(self, params: ForgetParams) -> Answer[ForgetResult]:
        """Drop records of final answers; a token is still never bought again."""
        raise not_written("forget")


def not_written(method: str) -> ContractError:
    """The refusal of a method that this provider does not have."""
    return ContractError(ErrorClass.UNKNOWN_METHOD, detail=f"this provider does not serve {method}")
