"""One line of a demand snapshot, from JSON to the core's Line.

It alone knows the fields of a line and which of them later versions bring; it must not know what is bought for it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from provisioner.core.model import Kind, Line
from provisioner.edge.rest_fault import FieldFaults, below
from provisioner.edge.rest_fields import Fields, open_object
from provisioner.edge.rest_where import read_max_price, read_where

COUNT_MOST: Final = 10_000_000
PRIORITY_MOST: Final = 1_000_000
LINE_FIELDS: Final = (
    "id", "kind", "count", "each", "alone", "resource", "units", "where",
    "priority", "consumer", "since", "expires", "max_price",
)  # fmt: skip
LATER_LINE_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "min_count": "the least of a line that is of any use",
        "all_or_nothing": "a line that is bought whole or not at all",
        "together": "a line whose hosts stand in one zone, region or provider",
        "group": "lines that are bought as one",
        "needed_by": "when a line is needed at the latest",
        "late": "what is done with an offer that comes too late",
    }
)
_HOST_ONLY: Final = ("each", "alone")
_GRANT_ONLY: Final = ("resource", "units")


def read_line(value: object, at: str, faults: FieldFaults, *, currency: str, must_expire: bool) -> Line | None:
    """The line, or None if it is no object; with faults kept it is a stand-in and must not be used."""
    fields = open_object(value, at, faults, LINE_FIELDS, LATER_LINE_FIELDS)
    if fields is None:
        return None
    id, kind = fields.ref("id"), fields.choice("kind", ("host", "grant"))
    if not fields.states("id"):
        fields.missing("id", "give the line an id that stays the same as long as its shape does")
    if not fields.states("kind"):
        fields.missing("kind", "write host or grant")
    if must_expire and not fields.states("expires"):
        remedy = "say until when the line holds, or give the source a fresh_for in the configuration"
        fields.refuse("expires", "expires is missing, and this source is trusted for ever (fresh_for: never)", remedy)
    is_grant = kind == "grant"
    count = _units(fields) if is_grant else _count(fields, kind)
    return Line(
        id=id or "",
        kind=Kind.GRANT if is_grant else Kind.HOST,
        count=count,
        each=() if is_grant else fields.amounts("each"),
        alone=fields.flag("alone"),
        resource=fields.text("resource"),
        where=read_where(fields.values.get("where"), below(at, "where"), faults),
        priority=fields.whole("priority", least=-PRIORITY_MOST, most=PRIORITY_MOST),
        consumer=fields.name("consumer") or "default",
        since=fields.time("since"),
        expires_at=fields.time("expires"),
        max_price_nanos=read_max_price(fields, is_grant=is_grant, currency=currency),
    )


def _count(fields: Fields, kind: str | None) -> int:
    if kind == "host":
        for key in _GRANT_ONLY:
            if fields.states(key):
                fields.refuse(key, f"{key} is not for hosts", 'leave it out, or write "kind": "grant"')
    if not fields.states("count"):
        fields.missing("count", "write how many bundles or whole hosts are lacking")
    return fields.whole("count", most=COUNT_MOST) or 0


def _units(fields: Fields) -> int:
    """A grant is counted in units; `count` may repeat their number."""
    for key in _HOST_ONLY:
        if fields.states(key):
            fields.refuse(key, f"{key} is not for grants", 'leave it out, or write "kind": "host"')
    if not fields.states("resource"):
        fields.missing("resource", "name the resource that is lacking, such as a license feature")
    units, count = fields.whole("units", most=COUNT_MOST), fields.whole("count", most=COUNT_MOST)
    if not fields.states("units") and not fields.states("count"):
        fields.missing("units", "write how many units are lacking")
    if units is not None and count is not None and units != count:
        fields.refuse(
            "count", f"count {count} and units {units} differ", "a grant is counted in units: leave count out"
        )
    return units if units is not None else count or 0
