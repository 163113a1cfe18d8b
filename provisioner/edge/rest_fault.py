"""One fault of a request's body and the collection of all of them: where it is, what is wrong, what to write instead.

It alone knows the one shape of every error of the REST interface; it must not know which fields exist.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

FAULTS_SHOWN: Final = 500
QUOTED_CHARACTERS: Final = 60

Json = dict[str, object]
"""One JSON object on its way out."""


@frozen
class FieldFault:
    """One fault: a JSON pointer to the value (RFC 6901), a sentence, and what to do."""

    field: str
    message: str
    remedy: str


class FieldFaults:
    """All faults found so far in one body; what is more than FAULTS_SHOWN is counted, not kept."""

    def __init__(self) -> None:
        self._faults: list[FieldFault] = []
        self.count = 0

    def add(self, field: str, message: str, remedy: str) -> None:
        """Keep one fault."""
        self.count += 1
        if len(self._faults) < FAULTS_SHOWN:
            self._faults.append(FieldFault(field, message, remedy))

    def found(self) -> tuple[FieldFault, ...]:
        """The faults in the order in which they were found."""
        return tuple(self._faults)


@frozen
class Faulty:
    """A body that was refused; `count` is the number of all faults, of which `faults` may be the first ones only."""

    faults: tuple[FieldFault, ...]
    count: int

    def message(self) -> str:
        """One sentence that says how many faults there are."""
        if self.count == 1:
            return "the body has a fault; nothing was taken in"
        more = f", of which the first {len(self.faults)} are listed" if self.count > len(self.faults) else ""
        return f"the body has {self.count:,} faults{more}; nothing was taken in"


def error_body(
    code: str,
    message: str,
    remedy: str,
    *,
    faults: Sequence[FieldFault] = (),
    current: Mapping[str, object] | None = None,
) -> Json:
    """The one shape of every error: a stable code, a sentence, what to do, the faults, and what stands (`current`)."""
    error: Json = {
        "code": code,
        "message": message,
        "remedy": remedy,
        "faults": [{"field": f.field, "message": f.message, "remedy": f.remedy} for f in faults],
    }
    if current is not None:
        error["current"] = dict(current)
    return {"error": error}


def below(pointer: str, step: str | int) -> str:
    """The pointer to a value below another."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"


def shown(value: object) -> str:
    """A value as it is quoted in a sentence: escaped, and cut when long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        cut = value if len(value) <= QUOTED_CHARACTERS else value[: QUOTED_CHARACTERS - 1] + "…"
        return json.dumps(cut, ensure_ascii=False).encode(errors="backslashreplace").decode()
    text = json.dumps(value)
    return text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"
