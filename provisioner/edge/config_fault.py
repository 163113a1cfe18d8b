"""One fault of a configuration file: where it is, what is wrong and what to write instead.

It alone knows how a fault is printed; it must not know which settings exist.
"""

import json
import re

from attrs import frozen

Path = tuple[str | int, ...]
"""Keys and list indexes from the root of the file to a value."""

PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
QUOTED_CHARACTERS = 60


@frozen(order=True)
class Place:
    """Line and column in the file, both counted from 1."""

    line: int
    column: int


@frozen
class Fault:
    """One fault; `not_yet` marks a setting that is known but that this version does not obey."""

    file: str
    place: Place
    field: str
    sentence: str
    remedy: str
    not_yet: bool = False

    @property
    def line(self) -> int:
        """The line, counted from 1."""
        return self.place.line

    @property
    def column(self) -> int:
        """The column, counted from 1."""
        return self.place.column

    def __str__(self) -> str:
        """`FILE:LINE:COLUMN FIELD: SENTENCE; REMEDY`, the field left out where the fault is the file's own."""
        field = f" {self.field}" if self.field else ""
        return f"{self.file}:{self.line}:{self.column}{field}: {self.sentence}; {self.remedy}"


class Findings:
    """All faults found so far in one file."""

    def __init__(self, file: str) -> None:
        """`file` is how the file is named in the faults."""
        self.file = file
        self._faults: list[Fault] = []

    def add(self, place: Place, path: Path, sentence: str, remedy: str, *, not_yet: bool = False) -> None:
        """Keep one fault."""
        self._faults.append(Fault(self.file, place, path_text(path), sentence, remedy, not_yet))

    def in_order(self) -> tuple[Fault, ...]:
        """The faults in the order of the file."""
        return tuple(sorted(self._faults, key=lambda fault: fault.place))


def path_text(path: Path) -> str:
    """A path as it is printed: `providers.east.templates."c6i.*".price`, `budgets[0].scope`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if PLAIN_KEY.fullmatch(step) else json.dumps(step))
    return text


def quoted(text: str) -> str:
    """A text of the file as it is quoted in a sentence: escaped, and cut when long."""
    cut = text if len(text) <= QUOTED_CHARACTERS else text[: QUOTED_CHARACTERS - 1] + "…"
    # Half of a surrogate pair, which YAML's \u escapes can make, could not be printed.
    return json.dumps(cut, ensure_ascii=False).encode(errors="backslashreplace").decode()
