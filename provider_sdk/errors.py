"""The failures an author raises or meets: a refusal, faulty configuration, an unusable state folder.

Knows the words of the contract; must not know how an error reaches the wire.
"""

from collections.abc import Iterable

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.types import LimitFact, Scope
from provider_sdk.contract.words import ErrorClass, Outcome

__all__ = [
    "ConfigFault",
    "ContractError",
    "ErrorClass",
    "NothingMade",
    "Outcome",
    "StateError",
    "StateFull",
    "StateLocked",
    "StateUnreadable",
]


class ConfigFault(Exception):
    """The provider's own section of the configuration is wrong, said with every fault found (clause HS-4).

    `faults` are pairs of a JSON pointer into the section ("/region") and a sentence for the operator.
    """

    def __init__(self, faults: Iterable[tuple[str, str]]) -> None:
        self.faults: tuple[tuple[str, str], ...] = tuple(faults)
        super().__init__("; ".join(f"{path or '/'}: {detail}" for path, detail in self.faults))


class NothingMade(ContractError):
    """A purchase refused for good: nothing was made under its token, and nothing ever will be (clause RQ-5).

    Without these words an error leaves a purchase unknown, its money stays reserved, and it must be looked into. Never
    raise it after a lost or unclear answer of the far side.
    """

    def __init__(
        self,
        error_class: ErrorClass,
        detail: str | None = None,
        *,
        scope: Scope | None = None,
        retry_after_s: int | None = None,
        reason: str | None = None,
        limit: LimitFact | None = None,
    ) -> None:
        super().__init__(
            error_class,
            detail,
            outcome=Outcome.NOT_MADE,
            scope=scope,
            retry_after_s=retry_after_s,
            reason=reason,
            limit=limit,
        )


class StateError(Exception):
    """The state folder can't be used as it must be; the text is a sentence for the log, without secrets."""


class StateFull(StateError):
    """A record could not be made durable (no room, a refusing disk): begin nothing at the far side (ST-2)."""


class StateLocked(StateError):
    """Another living process serves this state folder (clause HS-6)."""


class StateUnreadable(StateError):
    """A record can't be read; it was set aside under another name and is never taken for an empty one (clause ST-2)."""
