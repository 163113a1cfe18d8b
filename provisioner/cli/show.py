"""How answers are printed: tables for people within 80 columns, JSON for programs.

It alone writes to the terminal what a daemon answered; texts of others are made harmless here. It must not know what
they mean.
"""

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

MISSING: Final = "-"


def print_json(body: object) -> None:
    """The answer as it is, for programs."""
    print(json.dumps(body, indent=2, ensure_ascii=False))


def harmless(text: object) -> str:
    """A text without anything a terminal would obey: escapes, bells, line ends."""
    return "".join(c if c.isprintable() else "�" for c in str(text))


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str, *, whole: Sequence[str] = ()
) -> None:
    """A table; the first column and `whole` ones are never cut, others are, and the last one goes on below.

    `empty` is printed where there are no rows.
    """
    cells = [[cell(value) for value in row] for row in rows]
    if not cells:
        print(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for n, column in enumerate(columns):
        width = max(len(column), *(row[n].cell_len for row in cells))
        if n == len(columns) - 1:
            table.add_column(column, overflow="fold")
        elif n == 0 or column in whole:
            table.add_column(column, no_wrap=True, min_width=width)
        else:
            table.add_column(column, no_wrap=True, overflow="ellipsis")
    for row in cells:
        table.add_row(*row)
    console().print(table)


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


def clock_text(time: str | None) -> str | None:
    """The time of day of an RFC 3339 time, with its date: `03-04 17:58:12`."""
    return None if time is None else f"{time[5:10]} {time[11:19]}"
