"""In which stage of a conversation which request may come (clauses HS-2, HS-7, HS-8). Pure.

Knows the names of methods; must not know calls, streams or time.
"""

from enum import Enum

from provider_sdk.contract.words import ErrorClass
from provider_sdk.errors import ContractError

CHECK_METHODS = frozenset({"describe", "list", "ping", "shutdown"})


class Stage(Enum):
    """How far a conversation is."""

    NEW = "new"
    GREETING = "greeting"
    SERVING = "serving"
    CHECKING = "checking"
    STOPPING = "stopping"


class Ending(Enum):
    """Why a conversation ends."""

    INPUT_ENDED = "input ended"
    TERMINATED = "terminated"
    SUPERSEDED = "superseded"
    TOLD_TO_EXIT = "told to exit"
    NOT_GREETED = "handshake refused"

    @property
    def lets_calls_finish(self) -> bool:
        """Whether running calls may still finish; else the daemon has said that it waits for nothing."""
        return self not in (Ending.TOLD_TO_EXIT, Ending.NOT_GREETED)


def refusal(stage: Stage, method: str) -> ContractError | None:
    """Why a request may not come now, None if it may; nothing is begun by a refused one."""
    is_greeting = method == "initialize"
    match stage:
        case Stage.NEW:
            return None if is_greeting else ContractError(ErrorClass.NOT_INITIALIZED)
        case Stage.GREETING:
            return _second_greeting() if is_greeting else ContractError(ErrorClass.NOT_INITIALIZED)
        case Stage.SERVING:
            return _second_greeting() if is_greeting else None
        case Stage.CHECKING:
            if is_greeting:
                return _second_greeting()
            is_allowed = method in CHECK_METHODS
            return None if is_allowed else ContractError(ErrorClass.BAD_MESSAGE, "started to check only")
        case Stage.STOPPING:
            return ContractError(ErrorClass.SHUTTING_DOWN)


def _second_greeting() -> ContractError:
    return ContractError(ErrorClass.BAD_MESSAGE, "initialize came a second time")
