"""One answer as the kit holds it: the frame, what was sent for it, and its decoded result or error.

Alone responsible for reading answers in the contract's types. Receives nothing.
"""

from typing import Any, TypeVar

import orjson
from attrs import frozen

from provider_sdk.contract import METHODS, BadShape, ErrorClass, ErrorData, Outcome, decode, outcome_of, read_error
from provider_sdk.testing.verdict import Broken, excerpt

T = TypeVar("T")


@frozen
class Reply:
    """The answer to one call; `seconds` from the end of sending to the whole answer."""

    method: str
    sent: str
    frame: dict[str, Any]
    seconds: float

    @property
    def text(self) -> str:
        """Return the frame for a report."""
        return shown(self.frame)

    @property
    def error(self) -> ErrorData | None:
        """Return what the error says, None for a result."""
        error = self.frame.get("error")
        return read_error(error) if isinstance(error, dict) else None

    @property
    def says_not_made(self) -> bool:
        """Return whether it is an error that says that nothing was made (RQ-5)."""
        error = self.error
        return error is not None and outcome_of(error) is Outcome.NOT_MADE

    def result(self, cls: type[T], clause: str | None = None) -> T:
        """Return the result as a `cls`; Broken under `clause` for an error, under SH-… for another shape."""
        if not isinstance(self.frame.get("result"), dict):
            raise self.broken(clause, "a result")
        try:
            return decode(cls, self.frame["result"])
        except BadShape as bad:
            raise self.broken(f"SH-{self.method}", f"a result of the contract's shape, but {bad}") from bad

    def refused(self, clause: str | None, *classes: ErrorClass) -> ErrorData:
        """Return the error, which must be of one of these classes; Broken under `clause` otherwise."""
        error = self.error
        if error is None or error.error_class not in classes:
            raise self.broken(clause, f"an error {' or '.join(classes)}")
        return error

    def broken(self, clause: str | None, expected: str) -> Broken:
        """Return the finding that this answer is not what was expected."""
        return Broken(clause, expected, self.text, self.sent)


def shape_faults(method: str, result: dict[str, Any]) -> str | None:
    """Return what is wrong with the shape of a result, None if nothing is."""
    entry = METHODS.get(method)
    if entry is None:
        return None
    try:
        decode(entry.result, result)
    except BadShape as bad:
        return str(bad)
    return None


def shown(frame: object) -> str:
    """Return a message for a report."""
    return excerpt(orjson.dumps(frame).decode("utf-8", "replace"))
