"""The failures an author raises or meets: a refusal, faulty configuration, an unusable state folder.

Knows the words of the contract; must not know how an error reaches the wire.
"""

from collections.abc import Iterable

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.words import ErrorClass, Outcome

__all__ = [
    "ConfigFault",
    "ContractError",
    "ErrorClass",
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


class StateError(Exception):
    """The state folder can't be used as it must be; the text is a sentence for the log, without secrets."""


class StateFull(StateError):
    """A record could not be made durable (no room, a refusing disk): begin nothing at the far side (ST-2)."""


class StateLocked(StateError):
    """Another living process serves this state folder (clause HS-6)."""


class StateUnreadable(StateError):
    """A record can't be read; it was set aside under another name and is never taken for an empty one (clause ST-2)."""
