"""Decoding and encoding of the contract's types: what comes in is checked whole, what goes out is lean.

Alone responsible for the choice between the strict way, which names every fault, and the fast way, which only says
yes to the same values. Knows no transport.
"""

from typing import Final, Generic, TypeVar, cast

from attrs import frozen

from provider_sdk.contract.fast import decode_fast
from provider_sdk.contract.messages import InitializeParams, InitializeResult
from provider_sdk.contract.methods import METHODS
from provider_sdk.contract.shape import BadShape
from provider_sdk.contract.skips import without_unknown_kinds
from provider_sdk.contract.strict import strict_converter
from provider_sdk.contract.types import Instance, ParamFault

__all__ = ["BadShape", "Decoded", "decode", "decode_noting", "encode"]

T = TypeVar("T")

# All that is said in a call; the handshake has a field with another name than on the wire, and is read once.
FAST: Final[frozenset[type[object]]] = frozenset(
    {shape for method in METHODS.values() for shape in (method.params, method.result)}
    - {InitializeParams, InitializeResult}
    | {Instance}
)


@frozen
class Decoded(Generic[T]):
    """A value, and the items of kinds unknown to this version that were left out of it."""

    value: T
    skipped: tuple[ParamFault, ...] = ()


def decode(cls: type[T], raw: object) -> T:
    """Return `raw` (parsed JSON) as a `cls` of the contract; BadShape with all faults if it is none."""
    return decode_noting(cls, raw).value


def decode_noting(cls: type[T], raw: object) -> Decoded[T]:
    """Like `decode`, telling also which items of unknown kinds were skipped (GR-2)."""
    fast = decode_fast(cls, raw) if cls in FAST else None
    if fast is not None:
        return Decoded(fast)
    known, skipped = without_unknown_kinds(cls, raw)
    return Decoded(strict_converter().structure(known, cls), skipped)


def encode(value: object) -> dict[str, object]:
    """Return the JSON object of a contract type, without what is at its default; makes no checks."""
    return cast(dict[str, object], strict_converter().unstructure(value))
