"""What can be kept of an answer in which instances can't be read whole: a field that makes no sense must not hide a
thing that costs money.

An instance is cut down to what can be read of it, at the least its id; one without a readable id is left out, and then
the answer proves nothing about what is absent. It judges no outcome.
"""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from provider_sdk.contract import BadShape, ListResult, Report, RequestStatusResult, decode
from provider_sdk.contract.types import Instance

NEEDED: Mapping[str, object] = {"units": 1, "state": "unknown"}
"""What stands for a needed field that can't be read."""


@frozen
class Salvaged:
    """An answer with what can be kept; `faults` say what was cut, `lost` how many instances had no readable id."""

    answer: dict[str, Any]
    faults: tuple[str, ...]
    lost: int


def salvaged(cls: type[object], raw: Mapping[str, Any]) -> Salvaged | None:
    """The answer with unreadable instances cut down; None where it has none, or lists no instances at all."""
    if cls is Report:
        return _of_holder(raw)
    if cls is ListResult:
        found = _of_holder(raw)
        if found is not None and found.lost:
            return Salvaged({**found.answer, "complete": False}, found.faults, found.lost)
        return found
    return _of_reports(raw) if cls is RequestStatusResult else None


def _of_reports(raw: Mapping[str, Any]) -> Salvaged | None:
    """Reports are cut down one by one; one in which a thing was lost is left out, and asked for again."""
    reports = raw.get("requests")
    if not isinstance(reports, list):
        return None
    kept: list[object] = []
    faults: list[str] = []
    for report in reports:
        found = _of_holder(report) if isinstance(report, dict) else None
        faults += found.faults if found is not None else ()
        if found is None or not found.lost:
            kept.append(report if found is None else found.answer)
    return Salvaged({**raw, "requests": kept}, tuple(faults), len(reports) - len(kept)) if faults else None


def _of_holder(raw: Mapping[str, Any]) -> Salvaged | None:
    instances = raw.get("instances")
    if not isinstance(instances, list):
        return None
    kept: list[object] = []
    faults: list[str] = []
    for instance in instances:
        cut, fault = _cut(instance)
        faults += [fault] if fault else []
        kept += [cut] if cut is not None else []
    return Salvaged({**raw, "instances": kept}, tuple(faults), len(instances) - len(kept)) if faults else None


def _cut(raw: object) -> tuple[object | None, str | None]:
    """(what can be kept, why something was cut); kept whole where it can be read whole."""
    why = _fault(raw)
    if why is None or not isinstance(raw, dict):
        return (raw if why is None else None), why
    least = {"instance": raw.get("instance"), **NEEDED}
    if _fault(least) is not None:
        return None, f"an instance without a readable id: {why}"
    for name, value in raw.items():
        grown = {**least, name: value}
        if _fault(grown) is None:
            least = grown
    return least, f"instance {raw['instance']} is kept without what can't be read: {why}"


def _fault(raw: object) -> str | None:
    try:
        decode(Instance, raw)
    except BadShape as bad:
        return str(bad)[:200]
    return None
