"""A table of instance types and prices: its CSV form, the choice of types by glob, and exact scaled prices.

Pure: the text of the table is handed in. Knows nothing of templates, capacity or the cloud.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from fractions import Fraction
from math import ceil

from attrs import frozen

COLUMNS = ("type", "vcpu", "mem_mib", "gpu", "arch", "usd_per_hour")

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,190}")
_PRICE = re.compile(r"(0|[1-9]\d{0,11})(\.\d{1,9})?")
_NANOS = 10**9


@frozen
class TypeRow:
    """One instance type: cores, memory in MiB, GPUs, architecture, list price in nano-USD per hour (None: unknown)."""

    name: str
    cores: int
    memory_mib: int
    gpus: int
    arch: str
    price_nanos: int | None


@frozen
class TableFault:
    """A row of the table that can't be used: its number (the header is row 1) and why."""

    row: int
    detail: str


def parse_table(text: str) -> tuple[list[TypeRow], list[TableFault]]:
    """Read a CSV table with the columns of COLUMNS, in any order; lines that begin with # are ignored."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    reader = csv.DictReader(io.StringIO("\n".join(lines)))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or [])]
    if missing:
        return [], [TableFault(1, f"column missing: {', '.join(missing)}")]
    return parse_rows(reader, first=2)


def parse_rows(rows: Iterable[Mapping[str, object]], first: int = 1) -> tuple[list[TypeRow], list[TableFault]]:
    """Read rows whose keys are COLUMNS, counting from `first`."""
    types: dict[str, TypeRow] = {}
    faults: list[TableFault] = []
    for number, row in enumerate(rows, first):
        read = _parse_row(row)
        if isinstance(read, str):
            faults.append(TableFault(number, read))
        elif read.name in types:
            faults.append(TableFault(number, f"type {read.name} is there twice"))
        else:
            types[read.name] = read
    return list(types.values()), faults


def _parse_row(row: Mapping[str, object]) -> TypeRow | str:
    cells = {name: str(row.get(name) if row.get(name) is not None else "").strip() for name in COLUMNS}
    if not _REF.fullmatch(cells["type"]):
        return "type must be a name of letters, digits and . _ : @ = + / -"
    for name in ("vcpu", "mem_mib", "gpu"):
        if not cells[name].isdecimal():
            return f"{name} must be a whole number"
    price = cells["usd_per_hour"]
    if price and not _PRICE.fullmatch(price):
        return "usd_per_hour must be a price such as 0.085, or empty if unknown"
    return TypeRow(
        name=cells["type"],
        cores=int(cells["vcpu"]),
        memory_mib=int(cells["mem_mib"]),
        gpus=int(cells["gpu"]),
        arch=cells["arch"] or "amd64",
        price_nanos=ceil(Fraction(price) * _NANOS) if price else None,
    )


def select(rows: Iterable[TypeRow], patterns: Iterable[str]) -> tuple[list[TypeRow], list[str]]:
    """Return the rows that match any glob, in the table's order, and the globs that match nothing."""
    table, wanted = list(rows), list(patterns)
    chosen = [row for row in table if any(fnmatchcase(row.name, pattern) for pattern in wanted)]
    idle = [pattern for pattern in wanted if not any(fnmatchcase(row.name, pattern) for row in table)]
    return chosen, idle


def scaled_nanos(price_nanos: int, factor: str) -> int:
    """Multiply a price by a decimal factor, exactly, rounded up to a nano-unit."""
    return ceil(price_nanos * Fraction(factor))
