"""Errors of the contract (§6): class and code both ways, what each says of a purchase, and the wire object.

Alone responsible for reading and writing the `error` member of an answer. Knows no transport.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve

from provider_sdk.contract.codec import decode, encode
from provider_sdk.contract.shape import BadShape
from provider_sdk.contract.types import ErrorData, LimitFact, ParamFault, Scope
from provider_sdk.contract.words import ErrorClass, Outcome

CODES: Final[Mapping[ErrorClass, int]] = MappingProxyType(
    {
        ErrorClass.BAD_MESSAGE: -32600,
        ErrorClass.UNKNOWN_METHOD: -32601,
        ErrorClass.BAD_PARAMS: -32602,
        ErrorClass.INTERNAL: -32603,
        ErrorClass.SHUTTING_DOWN: -32001,
        ErrorClass.NOT_INITIALIZED: -32002,
        ErrorClass.TOO_LARGE: -32003,
        ErrorClass.VERSION: -32010,
        ErrorClass.CONFIG: -32011,
        ErrorClass.FENCED: -32012,
        ErrorClass.STATE_LOCKED: -32013,
        ErrorClass.CANCELLED: -32800,
        ErrorClass.NO_CAPACITY: 1001,
        ErrorClass.THROTTLED: 1002,
        ErrorClass.QUOTA: 1003,
        ErrorClass.AUTH: 1004,
        ErrorClass.BAD_REQUEST: 1005,
        ErrorClass.UNKNOWN_TEMPLATE: 1006,
        ErrorClass.NOT_FOUND: 1007,
        ErrorClass.TRANSIENT: 1008,
        ErrorClass.PRICE: 1009,
        ErrorClass.QUOTE_GONE: 1010,
        ErrorClass.TOKEN_CONFLICT: 1011,
        ErrorClass.HELD: 1012,
        ErrorClass.CURSOR_GONE: 1013,
        ErrorClass.UNSUPPORTED: 1014,
    }
)

CLASSES: Final[Mapping[int, ErrorClass]] = MappingProxyType({code: name for name, code in CODES.items()})

# The classes marked ∅: they are decided before anything is begun, so nothing was made (RQ-5).
IMPLY_NOT_MADE: Final = frozenset(
    {
        ErrorClass.BAD_MESSAGE,
        ErrorClass.UNKNOWN_METHOD,
        ErrorClass.BAD_PARAMS,
        ErrorClass.SHUTTING_DOWN,
        ErrorClass.NOT_INITIALIZED,
        ErrorClass.VERSION,
        ErrorClass.CONFIG,
        ErrorClass.FENCED,
        ErrorClass.STATE_LOCKED,
    }
)


FAULTS_SENT: Final = 100
FAULT_PATH_CHARS: Final = 2000


class ContractError(Exception):
    """A refusal that goes over the wire as an error; raised by providers and the SDK, never for a part of a result."""

    def __init__(
        self,
        error_class: ErrorClass,
        detail: str | None = None,
        *,
        outcome: Outcome | None = None,
        scope: Scope | None = None,
        retry_after_s: int | None = None,
        reason: str | None = None,
        ref: str | None = None,
        limit: LimitFact | None = None,
        faults: tuple[ParamFault, ...] = (),
        supported: tuple[str, ...] = (),
    ) -> None:
        """Hold what the wire object will say; `detail` is a text for people, never a foreign exception's text."""
        super().__init__(error_class.value, detail)
        self.data = ErrorData(error_class, outcome, scope, retry_after_s, reason, detail, ref, limit, faults, supported)

    @property
    def error_class(self) -> ErrorClass:
        """Return the class, which decides."""
        return self.data.error_class


def outcome_of(data: ErrorData) -> Outcome:
    """Return what an error says of a purchase: its own word, else what its class implies, else UNKNOWN."""
    if data.outcome is not None:
        return data.outcome
    return Outcome.NOT_MADE if data.error_class in IMPLY_NOT_MADE else Outcome.UNKNOWN


def bad_params(bad: BadShape) -> ContractError:
    """Return the refusal of params of a bad shape, with as many of its faults as an error may carry."""
    faults = tuple(ParamFault(each.path[:FAULT_PATH_CHARS], each.detail) for each in bad.faults[:FAULTS_SENT])
    return ContractError(ErrorClass.BAD_PARAMS, "the params do not have the shape of the contract", faults=faults)


def write_error(error: ContractError) -> dict[str, object]:
    """Return the wire's error object."""
    data = encode(error.data)
    return {"code": CODES[error.error_class], "message": error.error_class.value, "data": data}


def read_error(error: Mapping[str, object]) -> ErrorData:
    """Return what a wire error object says, whatever is wrong with it; unreadable parts count as not stated.

    The class in `data` decides, else the class of the code, else TRANSIENT. The returned data always states what the
    error says of a purchase, so that a class which came from the code alone, or contradicts it, implies nothing.
    """
    raw = error.get("data")
    stated = dict(raw) if isinstance(raw, dict) else {}
    code = error.get("code")
    by_code = CLASSES.get(code) if isinstance(code, int) and not isinstance(code, bool) else None
    word = stated.get("error_class")
    by_word = ErrorClass(word) if isinstance(word, str) and word in set(ErrorClass) else None
    stated["error_class"] = by_word or by_code or ErrorClass.TRANSIENT
    data = _readable(stated)
    if data.outcome is None:
        agree = by_code is None or by_word is None or by_code is by_word
        foreign = (word is not None and by_word is None) or stated.get("outcome") is not None
        implied = outcome_of(data) if agree and not foreign else Outcome.UNKNOWN
        data = evolve(data, outcome=implied)
    return data


def _readable(stated: dict[str, object]) -> ErrorData:
    """Return the data without the parts that have faults."""
    try:
        return decode(ErrorData, stated)
    except BadShape as bad:
        faulty = {fault.path.split("/")[1] for fault in bad.faults}
        return decode(ErrorData, {name: part for name, part in stated.items() if name not in faulty})
