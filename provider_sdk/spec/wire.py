"""What the types of the contract say beside the schemas: examples as frames, errors, versions, weaker words.

Alone responsible for the form of these parts of the page. Knows no prose.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import orjson

from provider_sdk.contract import (
    CODES,
    IMPLY_NOT_MADE,
    METHODS,
    WEAKEST,
    ErrorClass,
    Kind,
    answer_object,
    notification_object,
    request_object,
)
from provider_sdk.contract.versions import MINORS
from provider_sdk.contract.words import DROPPED_WHEN_UNKNOWN, ChangedWhat
from provider_sdk.spec.calls import PAIRS
from provider_sdk.spec.fields import table

EXAMPLE_ID: Final = 9
# Vocabularies of lists whose items are left out and reported when their word is not known.
SKIPPED: Final = (Kind, ChangedWhat)
_NAMES: Final[Mapping[str, str]] = {
    "InstanceState": "`state` of an instance",
    "Outcome": "`outcome`",
    "ReturnState": "`state` of an item given back",
    "ErrorClass": "`error_class`",
    "NoticeKind": "`kind` of a notice",
    "BillingStart": "`billing.starts`",
    "BillingEnd": "`billing.ends`",
    "Health": "`health`",
    "LogLevel": "`level` of a log line",
    "View": "`view`",
    "ListScope": "`scope` of a list",
    "AddressScope": "`scope` of an address",
    "Replay": "promise `token.replay`",
    "MarkKept": "promise `mark.kept`",
    "ListCovers": "promise `list.covers`",
    "MemoryWhere": "promise `memory.where`",
    "PriceCapPromise": "promise `limits.price_cap`",
    "MinUnitsPromise": "promise `limits.min_units`",
    "Honoured": "promises `limits.deadline` and `calls.not_after`",
    "ReturnWhy": "`why` of a give-back",
    "PriceModel": "`model` of a template",
    "Kind": "`kind` of a template; one of `kinds`",
    "InstanceKind": "`kind` of an instance",
    "ChangedWhat": "one of `what` of `changed`",
}


def example(name: str, good: Mapping[str, Any]) -> str:
    """Return the first example of a method or notification as the frames that carry it."""
    sent, answered = PAIRS[name][0]
    if name in METHODS:
        frames = [
            request_object(EXAMPLE_ID, name, good[f"{name}.params--{sent}"]),
            answer_object(EXAMPLE_ID, good[f"{name}.result--{answered}"]),
        ]
    else:
        frames = [notification_object(name, good[f"{name}.notification--{sent}"])]
    return "\n".join(["```json", *(orjson.dumps(frame).decode() for frame in frames), "```"])


def refusal(name: str, good: Mapping[str, Any]) -> str:
    """Return the example of an error of that class as the frame that carries it."""
    frame = {"jsonrpc": "2.0", "id": EXAMPLE_ID, "error": good[f"error--{name}"]}
    return "\n".join(["```json", orjson.dumps(frame).decode(), "```"])


def error_classes() -> list[str]:
    """Return all classes, in the order of the table."""
    return [str(each) for each in ErrorClass]


def errors(told: Mapping[str, str]) -> str:
    """Return the table of errors, with what the daemon does on each class."""
    rows = ((str(CODES[each]), f"`{each}`", "∅" if each in IMPLY_NOT_MADE else "", told[each]) for each in ErrorClass)
    return table(("code", "class", "∅", "what the daemon does"), rows)


def versions() -> str:
    """Return the table of versions, best first."""
    rows = ((version, minor.sentence, _listed(minor.capabilities)) for version, minor in MINORS.items())
    return table(("version", "what it adds", "capabilities a daemon names"), rows)


def weaker_words() -> str:
    """Return the table of vocabularies and what becomes of a word that is not among them (GR-2)."""
    return table(("where", "a word that is not known is read as"), _weaker_rows())


def weakening() -> set[type[StrEnum]]:
    """Return every vocabulary that has a row in that table."""
    return {*WEAKEST, *DROPPED_WHEN_UNKNOWN, *SKIPPED}


def _weaker_rows() -> Iterator[tuple[str, str]]:
    for words, weakest in WEAKEST.items():
        yield _NAMES[words.__name__], f"`{weakest}`"
    for words in sorted(DROPPED_WHEN_UNKNOWN, key=lambda each: each.__name__):
        yield _NAMES[words.__name__], "not stated"
    for words in SKIPPED:
        yield _NAMES[words.__name__], "left out of its list, and reported"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
