"""How answers are printed: tables for people within 80 columns, JSON for programs.

It alone writes to the terminal what a daemon answered; texts of others are made harmless here. It must not know what
they mean.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from rich.console import Console
from rich.text import Text

MISSING: Final = "-"
GAP: Final = 2
CUT_LEAST: Final = 6
FOLDED_LEAST: Final = 24
_MAYBE_OBEYED: Final = re.compile("[^ -~\n]")


def print_json(body: object) -> None:
    """The answer as it is, for programs; what a terminal would obey is escaped, which means the same."""
    print(json_text(body, indent=2))


def json_text(body: object, *, indent: int | None = None) -> str:
    """JSON in which every character that is not printable is escaped."""
    text = json.dumps(body, indent=indent, ensure_ascii=False)
    return _MAYBE_OBEYED.sub(lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text)


def harmless(text: object) -> str:
    """A text without anything a terminal would obey: escapes, bells, line ends."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    empty: str,
    *,
    whole: Sequence[str] = (),
    folded: str = "",
    below: Sequence[str | Sequence[str] | None] = (),
) -> None:
    """A table; the first column and `whole` ones are never cut, others end in `…` where room lacks, and the `folded`
    one, which is the last, goes on below.

    `below` is what is said of each row under it, over the whole width: a sentence, which is folded, or lines, which
    are not, so that they can be copied. `empty` is printed where there are no rows.
    """
    cells = [[cell(value) for value in row] for row in rows]
    if not cells:
        print(empty)
        return
    shown = console()
    widths = _widths(columns, cells, shown.width, {columns[0], *whole}, folded)
    _print_row(shown, [Text(column, style="bold") for column in columns], widths, folds=False)
    for n, row in enumerate(cells):
        _print_row(shown, row, widths, folds=folded == columns[-1])
        said = below[n] if n < len(below) else None
        if isinstance(said, str) and said:
            print_lines([said], indent=GAP)
        elif said:
            for copied in said:
                shown.print(Text(" " * GAP + harmless(copied)), soft_wrap=True)


def _widths(
    columns: Sequence[str], cells: Sequence[Sequence[Text]], room: int, whole: set[str], folded: str
) -> list[int]:
    """As wide as the cells are; where that is too wide the last column gives way first, then the widest of others."""
    widths = [max(len(column), *(row[n].cell_len for row in cells)) for n, column in enumerate(columns)]
    least = [_least(column, widths[n], whole, folded) for n, column in enumerate(columns)]
    excess = sum(widths) + GAP * (len(widths) - 1) - room
    given = min(max(0, excess), widths[-1] - least[-1])
    widths[-1] -= given
    excess -= given
    while excess > 0:
        able = [n for n, width in enumerate(widths) if width > least[n]]
        if not able:
            break
        widths[max(able, key=widths.__getitem__)] -= 1
        excess -= 1
    return widths


def _least(column: str, width: int, whole: set[str], folded: str) -> int:
    if column in whole:
        return width
    return min(width, max(len(column), FOLDED_LEAST if column == folded else CUT_LEAST))


def _print_row(shown: Console, row: Sequence[Text], widths: Sequence[int], *, folds: bool) -> None:
    *first, last = row
    line = Text()
    for part, width in zip(first, widths, strict=False):
        cut = part.copy()
        cut.truncate(width, overflow="ellipsis", pad=True)
        line.append_text(cut).append(" " * GAP)
    left = line.cell_len
    if not folds:
        last.truncate(widths[-1], overflow="ellipsis")
    for folded in last.wrap(shown, widths[-1]) if folds else [last]:
        line.append_text(folded)
        line.rstrip()
        shown.print(line, soft_wrap=True)
        line = Text(" " * left)


def cell(value: object) -> Text:
    """One cell; nothing is `-`."""
    return Text(MISSING if value is None or value == "" else harmless(value))


def print_lines(lines: Iterable[str], *, indent: int = 0, label: str = "") -> None:
    """Plain lines, folded at the width of the terminal; a label stands in the indent of the first."""
    shown = console()
    for line in lines:
        for folded in Text(harmless(line)).wrap(shown, max(20, shown.width - indent)):
            folded.rstrip()
            shown.print(Text(f"{label:<{indent}}") + folded)
            label = ""


def console() -> Console:
    """Standard output as it is now, 80 columns where it is no terminal."""
    return Console(highlight=False, soft_wrap=False)


def age_text(seconds: float | None) -> str:
    """A time span in its two biggest units: 3,700 → `1h 1m`."""
    if seconds is None:
        return "never"
    left = int(max(0.0, seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def money_text(amount: str | None) -> str | None:
    """A sum as people read it, with four decimals at most."""
    return None if amount is None else f"{Decimal(amount):,.4f}".rstrip("0").rstrip(".")


def clock_text(time: str | None, *, today: str | None = None) -> str | None:
    """The time of day of an RFC 3339 time, `17:58:12`; with its date, `03-04 17:58:12`, unless that is today's (UTC).

    `today` is `2031-03-04`, by the clock of this machine if it is not given.
    """
    if time is None:
        return None
    if time[:10] == (today or datetime.now(UTC).date().isoformat()):
        return time[11:19]
    return f"{time[5:10]} {time[11:19]}"


def count_text(count: int, thing: str) -> str:
    """How many of a thing: `1 host`, `2 hosts`."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
