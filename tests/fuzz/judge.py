"""An independent, simple judge of a provider's words: what a daemon may have concluded from these lines, at the most.

It reads lines with the plain reader and none of the product's own code. Being simple it may allow too much, never
too little; a settled purchase or a dead machine that it does not allow is a fault.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from tests.fuzz.reader import lines_of, read_object

NOTHING_BEGUN: Final = (
    "bad_message", "unknown_method", "bad_params", "shutting_down", "not_initialized", "version", "config",
    "fenced", "state_locked",
)  # fmt: skip
"""Error classes that by themselves say that nothing was made (the contract's table of errors)."""
NOTHING_BEGUN_CODES: Final = (-32600, -32601, -32602, -32001, -32002, -32010, -32011, -32012, -32013)


@frozen
class Bought:
    """One purchase as the judge needs it."""

    request: str
    token: str
    units: int


@frozen
class Words:
    """The messages of a stream."""

    messages: tuple[dict[str, Any], ...]

    def answers(self, ids: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What is said under these ids without asking anything."""
        wanted = set(ids)
        for message in self.messages:
            call_id = message.get("id")
            if "method" not in message and type(call_id) is int and call_id in wanted:
                yield message


def heard(data: bytes) -> Words:
    """The messages in a stream of bytes, as strict JSON objects."""
    return Words(tuple(found for found in map(read_object, lines_of(data)) if found is not None))


def may_be_settled(words: Words, bought: Bought, calls: Mapping[int, str]) -> set[str]:
    """The settled states this purchase may be in after these words; `calls` are methods by id."""
    allowed: set[str] = set()
    reports = list(_reports(words, bought, calls))
    made = _most_made(words, reports, bought)
    for report in reports:
        if report.get("outcome") == "made":
            allowed.add("short")
        if report.get("outcome") == "not_made":
            allowed |= {"not_made", "short"} if not made else {"short", "not_made"}
    if made >= bought.units:
        allowed.add("fulfilled")
    if any(lists_all(answer) for answer in words.answers(_ids(calls, "list"))):
        allowed |= {"not_made", "short"}  # it may be the second of two proving lists
    if any(_says_nothing_made(answer) for answer in words.answers(_ids(calls, "request"))):
        allowed.add("refused")
    return allowed


def may_be_gone(words: Words, provider_id: str) -> bool:
    """Whether any word may be read as: this thing does not exist any more."""
    return any(
        part.get("instance") == provider_id and part.get("state") in ("gone", "returned")
        for message in words.messages
        for part in _objects(message)
    )


def names(words: Words, provider_id: str) -> bool:
    """Whether these words name such a thing at all."""
    return any(part.get("instance") == provider_id for message in words.messages for part in _objects(message))


def asked_of_us(words: Words) -> list[int]:
    """The ids of what the far end asks and is owed an answer to, in order."""
    found = []
    for message in words.messages:
        call_id = message.get("id")
        if "method" in message and type(call_id) is int and 1 <= call_id < 2**53:
            found.append(call_id)
    return found


def _ids(calls: Mapping[int, str], *methods: str) -> list[int]:
    return [call_id for call_id, method in calls.items() if method in methods]


def _reports(words: Words, bought: Bought, calls: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    for answer in words.answers(_ids(calls, "request", "request_status", "cancel")):
        result = answer.get("result")
        if not isinstance(result, dict):
            continue
        items = result.get("requests")
        for report in [result, *(items if isinstance(items, list) else [])]:
            is_mine = isinstance(report, dict) and report.get("token") == bought.token
            if is_mine and report.get("request_id") == bought.request:
                yield report


def _most_made(words: Words, reports: list[dict[str, Any]], bought: Bought) -> int:
    """The most units that could be counted as made: every thing once, at the most it was ever said to be."""
    units: dict[str, int] = {}
    gone = max((_whole(report.get("gone_units"), 0) for report in reports), default=0)
    marked = [
        part
        for message in words.messages
        for part in _objects(message)
        if isinstance(part.get("mark"), dict) and part["mark"].get("token") == bought.token
    ]
    listed = [report["instances"] for report in reports if isinstance(report.get("instances"), list)]
    for part in [*marked, *(each for several in listed for each in several)]:
        if isinstance(part, dict) and isinstance(part.get("instance"), str):
            units[part["instance"]] = max(units.get(part["instance"], 0), _whole(part.get("units"), 1))
    return sum(units.values()) + gone


def _whole(value: object, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def lists_all(answer: dict[str, Any]) -> bool:
    result = answer.get("result")
    return isinstance(result, dict) and result.get("complete") is True


def _says_nothing_made(answer: dict[str, Any]) -> bool:
    error = answer.get("error")
    if not isinstance(error, dict):
        return False
    stated = error.get("data")
    data: dict[str, Any] = stated if isinstance(stated, dict) else {}
    said = data.get("outcome")
    if said is not None:
        return bool(said == "not_made")
    return data.get("error_class") in NOTHING_BEGUN or error.get("code") in NOTHING_BEGUN_CODES


def _objects(tree: Any) -> Iterator[dict[str, Any]]:
    left = [tree]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part
