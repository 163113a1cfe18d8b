"""A black box read as a conversation: which answer belongs to which call, how long it took, and what it came to.

It alone pairs recorded frames and puts an answer into a word. It must not know files, nor how a call is made again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import evolve, frozen

from provider_sdk.contract.errors import read_error
from provider_sdk.contract.framing import Frame, Junk, read_line
from provisioner.edge.black_box import Direction, Record

__all__ = ["Call", "Entry", "Message", "Other", "came_to", "conversation", "in_figures", "last_process", "of_process"]

_ID: Final = re.compile(rb'"id"\s*:\s*(\d{1,16})')
_METHOD: Final = re.compile(rb'"method"\s*:\s*"([^"\\]{1,64})"')
_ERROR: Final = re.compile(rb'"error"\s*:')
_HEAD_BYTES: Final = 200
_COUNTED: Final = ("instances", "templates", "requests", "returns", "items")

Json: TypeAlias = Mapping[str, object]


@frozen
class Call:
    """A call of the daemon; `answer` is the whole message, None where none came or it is not kept whole."""

    record: Record
    id: int
    method: str
    params: Json | None
    heard: Record | None = None
    answer: Json | None = None

    @property
    def took_s(self) -> float | None:
        """From the writing of the frame to the end of its answer."""
        return None if self.heard is None else self.heard.boot_s - self.record.boot_s


@frozen
class Message:
    """Something said without an answer, by either side."""

    record: Record
    method: str
    params: Json


@frozen
class Other:
    """What is no part of the conversation: junk, an answer nobody waits for, or a note of the daemon."""

    record: Record
    what: str


Entry: TypeAlias = Call | Message | Other


def conversation(records: Iterable[Record]) -> list[Entry]:
    """The entries in the order in which they began; answers stand with their calls."""
    entries: list[Entry] = []
    open_calls: dict[tuple[int, int], int] = {}
    for record in records:
        message = _message(record)
        if record.direction is Direction.HEARD:
            answered = _answered(record, message)
            place = open_calls.pop((record.number, answered), None) if answered is not None else None
            call = entries[place] if place is not None else None
            if place is not None and isinstance(call, Call):
                entries[place] = evolve(call, heard=record, answer=message)
                continue
            entries.append(_unasked(record, message, answered))
        elif record.direction is Direction.TOLD:
            told = _told(record, message)
            if isinstance(told, Call):
                open_calls[record.number, told.id] = len(entries)
            entries.append(told)
        else:
            entries.append(Other(record, "note"))
    return entries


def of_process(entries: Sequence[Entry], number: int) -> list[Entry]:
    """What was said by and to one process."""
    return [entry for entry in entries if entry.record.number == number]


def last_process(entries: Sequence[Entry]) -> int | None:
    """The number of the last process that was asked to initialize; None if there is none."""
    opened = [entry.record.number for entry in entries if isinstance(entry, Call) and entry.method == "initialize"]
    return opened[-1] if opened else None


def came_to(call: Call, answer: Json | None) -> str:
    """What an answer to `call` says in a few words, which two answers to it share: an error by its class, a result by
    the words of the contract in it, never by its figures."""
    if answer is None:
        return "no answer" if call.heard is None else _of_cut(call.heard)
    error = answer.get("error")
    if isinstance(error, Mapping):
        return f"error {_error_class(error)}"
    result = answer.get("result")
    if not isinstance(result, Mapping):
        return "no valid answer"
    return " ".join(["result", *_words(call, result)])


def in_figures(call: Call) -> str | None:
    """How much its answer holds, for people; None where there is nothing to count."""
    result = call.answer.get("result") if call.answer is not None else None
    if not isinstance(result, Mapping):
        return None
    counted = [(name, len(_each(result.get(name)))) for name in _COUNTED if isinstance(result.get(name), list)]
    return ", ".join(f"{count} {name if count != 1 else name.removesuffix('s')}" for name, count in counted) or None


def _words(call: Call, result: Json) -> list[str]:
    match call.method:
        case "request" | "cancel":
            return [str(result.get("outcome"))]
        case "request_status":
            return _counted(result.get("requests"), "outcome")
        case "return" | "extend":
            return _counted(result.get("items"), "state")
        case "return_status":
            returns = result.get("returns")
            items = [item for one in _each(returns) for item in _each(one.get("items"))]
            return _counted(items, "state")
        case "initialize":
            return [str(result.get("version"))]
        case "ping":
            return [str(result.get("health"))]
        case "list":
            is_whole = result.get("next") is None and (call.params or {}).get("instances") is None
            return ["incomplete"] if is_whole and result.get("complete") is False else []
        case _:
            return []


def _each(items: object) -> list[Json]:
    return [item for item in items if isinstance(item, Mapping)] if isinstance(items, list) else []


def _counted(items: object, key: str) -> list[str]:
    words = Counter(str(item.get(key)) for item in _each(items))
    return [f"{count}×{word}" if count > 1 else word for word, count in sorted(words.items())]


def _error_class(error: Json) -> str:
    return read_error({key: error.get(key) for key in ("code", "message", "data")}).error_class.value


def _of_cut(heard: Record) -> str:
    return "error" if _ERROR.search(heard.body[:_HEAD_BYTES]) else "result (too long to be kept whole)"


def _message(record: Record) -> Json | None:
    if record.direction is Direction.NOTE or record.is_cut or record.is_torn:
        return None
    found = read_line(record.body)
    return found.obj if isinstance(found, Frame) else None


def _told(record: Record, message: Json | None) -> Entry:
    if message is None:
        method, ids = _METHOD.search(record.body[:_HEAD_BYTES]), _ID.findall(record.body)
        known = method is not None and ids
        return (
            Call(record, int(ids[-1]), method[1].decode("ascii", "replace"), None)
            if known and method is not None
            else Other(record, "a frame that is not kept whole")
        )
    id, method_name, params = message.get("id"), message.get("method"), message.get("params")
    if not isinstance(method_name, str):
        return Other(record, "a refusal of what the provider asked")
    kept = params if isinstance(params, Mapping) else {}
    return Call(record, id, method_name, kept) if isinstance(id, int) else Message(record, method_name, kept)


def _answered(record: Record, message: Json | None) -> int | None:
    """Which call it answers; of an answer that is not kept whole by its first bytes."""
    if message is not None:
        id = message.get("id")
        return id if isinstance(id, int) and "method" not in message else None
    found = _ID.search(record.body[:_HEAD_BYTES]) if record.is_cut else None
    return None if found is None else int(found[1])


def _unasked(record: Record, message: Json | None, answered: int | None) -> Entry:
    if answered is not None:
        return Other(record, f"an answer to {answered}, which is no open call")
    method = message.get("method") if message is not None else None
    if message is not None and isinstance(method, str):
        params = message.get("params")
        return Message(record, method, params if isinstance(params, Mapping) else {})
    if record.is_torn:
        return Other(record, "junk: the stream ended inside a line")
    found = read_line(record.body)
    return Other(record, f"junk: {found.reason if isinstance(found, Junk) else 'no message'}")
