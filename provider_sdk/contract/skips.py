"""Items of a kind that this version does not know: left out and reported, so that the rest is still read (GR-2).

Alone responsible for where such items may stand. Checks nothing else.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from attrs import frozen

from provider_sdk.contract.messages import DescribeResult, InitializeResult
from provider_sdk.contract.notifications import Changed
from provider_sdk.contract.shape import pointer
from provider_sdk.contract.types import ParamFault
from provider_sdk.contract.words import ChangedWhat, Kind


@frozen
class _Place:
    """A list in which items may be left out: by the word `field` of each item, or by the item, if it is the word."""

    member: str
    words: type[StrEnum]
    field: str | None = None


# Not the instances of a list or report: one left out would be taken for gone, or for never made, and goes on costing.
_PLACES: Final[Mapping[type[object], _Place]] = {
    InitializeResult: _Place("kinds", Kind),
    DescribeResult: _Place("templates", Kind, "kind"),
    Changed: _Place("what", ChangedWhat),
}


def without_unknown_kinds(cls: type[object], raw: object) -> tuple[object, tuple[ParamFault, ...]]:
    """Return `raw` without the items of unknown kinds, and what was left out (path in `raw`, and why)."""
    if not isinstance(raw, dict):
        return raw, ()
    place = _PLACES.get(cls)
    return (raw, ()) if place is None else _in_place(place, raw)


def _in_place(place: _Place, raw: dict[str, object]) -> tuple[object, tuple[ParamFault, ...]]:
    items = raw.get(place.member)
    if not isinstance(items, list | tuple):
        return raw, ()
    unknown = {index for index, item in enumerate(items) if _is_unknown(place, item)}
    if not unknown:
        return raw, ()
    kept = [item for index, item in enumerate(items) if index not in unknown]
    why = f"is of a kind unknown here (known: {', '.join(place.words)}) and was left out"
    path = pointer(place.member)
    return {**raw, place.member: kept}, tuple(ParamFault(path + pointer(index), why) for index in sorted(unknown))


def _is_unknown(place: _Place, item: object) -> bool:
    if place.field is not None:
        item = item.get(place.field) if isinstance(item, dict) else None
    return isinstance(item, str) and item not in set(place.words)
