"""The rules that hold for every line a provider writes, whatever it was asked (FR, SH, ER, RP-3, LS-3, LS-5, GR-5).

Pure: from one line or message to the clauses it breaks. Knows no conversation.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, cast, get_args

import attrs

from provider_sdk.contract import (
    CLASSES,
    METHODS,
    NOTIFICATIONS,
    BadShape,
    ErrorClass,
    ErrorData,
    InstanceState,
    Junk,
    Outcome,
    ReturnState,
    decode,
)
from provider_sdk.contract.strict import is_annotated, is_class, is_tuple, members, wire_name
from provider_sdk.testing.reply import shape_faults, shown
from provider_sdk.testing.verdict import Broken

_OF_ENCODING: Final = ("not UTF-8", "begins with a byte order mark")
_OF_FORM: Final = ("a batch", "a key is repeated", "nested deeper")


def of_line(junk: Junk) -> Broken:
    """Return which clause a line that is no frame breaks."""
    if junk.reason.startswith(_OF_ENCODING):
        return Broken("FR-1", "UTF-8 without a byte order mark", junk.excerpt)
    if junk.reason.startswith(_OF_FORM) or (junk.excerpt.startswith("{") and _has_no_number(junk.excerpt)):
        return Broken("FR-2", "one JSON object, no batch, no NaN, no repeated key, depth up to 32", junk.excerpt)
    return Broken("FR-4", "frames only on stdout", f"{junk.excerpt} ({junk.reason})")


def _has_no_number(text: str) -> bool:
    return any(word in text for word in (":NaN", ": NaN", ":Infinity", ": Infinity", ":-Infinity", ": -Infinity"))


def of_result(method: str, frame: Mapping[str, Any], sent: str, *, strict: bool) -> Iterator[Broken]:
    """Give what is wrong with a result: its shape, its words, its completeness, its extra fields."""
    result = cast(dict[str, Any], frame["result"])
    yield from of_text(frame, sent)
    faults = shape_faults(method, result)
    if faults is not None:
        yield Broken(f"SH-{method}", "a result of the contract's shape", f"{faults} in {shown(frame)}", sent)
        return
    yield from _foreign_words(method, result, sent)
    if method == "list":
        yield from _completeness(result, sent)
    if strict and method in METHODS:
        for path in extra_fields(METHODS[method].result, result):
            yield Broken("GR-5", "only fields of the contract, or with x-", f"{path} in a result of {method}", sent)


def of_error(frame: Mapping[str, Any], sent: str) -> Iterator[Broken]:
    """Give what is wrong with an error: its shape, or a code that is not its class's."""
    yield from of_text(frame, sent)
    error = cast(dict[str, Any], frame["error"])
    code, data = error.get("code"), error.get("data")
    if type(code) is not int or not isinstance(error.get("message"), str):
        yield Broken("SH-error", "an integer code and a message", shown(frame), sent)
        return
    if data is None:
        return
    try:
        decode(ErrorData, data)
    except BadShape as bad:
        yield Broken("SH-error", "data of the contract's shape", f"{bad} in {shown(frame)}", sent)
        return
    word, by_code = data["error_class"], CLASSES.get(code)
    if word in set(ErrorClass) and by_code is not None and by_code != word:
        yield Broken("ER-1", f"code and class that are twins ({code} is {by_code})", shown(frame), sent)


def of_notification(method: str, params: Mapping[str, Any]) -> Iterator[Broken]:
    """Give what is wrong with a notification of the contract; others are dropped by the daemon."""
    kind = NOTIFICATIONS.get(method)
    if kind is None or kind.sender != "provider":
        return
    yield from of_text(params, f"(unasked: {method})")
    try:
        decode(kind.params, dict(params))
    except BadShape as bad:
        yield Broken("SH-notification", f"params of {method} of the contract's shape", f"{bad} in {shown(params)}")


def of_text(frame: Mapping[str, Any], sent: str) -> Iterator[Broken]:
    """Give a traceback that was put on the wire."""
    if "Traceback (most recent call last)" in str(frame):
        yield Broken("TX-1", "no traceback in a text", shown(frame), sent)


def _foreign_words(method: str, result: Mapping[str, Any], sent: str) -> Iterator[Broken]:
    reports = {"request": [result], "cancel": [result], "request_status": result.get("requests", [])}.get(method, [])
    for report in reports:
        yield from _foreign(report, "outcome", Outcome, sent)
    for holder in (*reports, *([result] if method == "list" else [])):
        for instance in holder.get("instances") or ():
            yield from _foreign(instance, "state", InstanceState, sent)
    for holder in {"return": [result], "return_status": result.get("returns", [])}.get(method, []):
        for item in holder.get("items") or ():
            yield from _foreign(item, "state", ReturnState, sent)


def _foreign(holder: Mapping[str, Any], field: str, words: type[StrEnum], sent: str) -> Iterator[Broken]:
    if holder[field] not in set(words):
        yield Broken("RP-3", f"{field}: one of {', '.join(words)}", shown(holder), sent)


def _completeness(result: Mapping[str, Any], sent: str) -> Iterator[Broken]:
    if not result["complete"]:
        return
    if result.get("next") is not None:
        yield Broken("LS-3", "complete only on the last page", shown({**result, "instances": "…"}), sent)
    if result.get("missing_places"):
        yield Broken("LS-5", "complete false with missing_places", shown({**result, "instances": "…"}), sent)


def extra_fields(cls: type[object], raw: object, path: str = "") -> Iterator[str]:
    """Give the JSON pointers of fields that the contract does not name and that do not begin with x-."""
    if not isinstance(raw, dict):
        return
    known = {wire_name(part.name): part.type for part in attrs.fields(cast(Any, cls))}
    for name, value in raw.items():
        if name in known:
            yield from _extra_inside(known[name], value, f"{path}/{name}")
        elif not name.startswith("x-"):
            yield f"{path}/{name}"


def _extra_inside(t: object, value: object, path: str) -> Iterator[str]:
    inner = _item_class(t)
    if inner is None:
        return
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from extra_fields(inner, item, f"{path}/{place}")
    else:
        yield from extra_fields(inner, value, path)


def _item_class(t: object) -> type[object] | None:
    """Return the class of the contract that a field holds, alone or in a list."""
    if is_class(t):
        return cast(type[object], t)
    if is_annotated(t) or is_tuple(t):
        return _item_class(get_args(t)[0])
    return next((found for member in members(t) if (found := _item_class(member)) is not None), None)
