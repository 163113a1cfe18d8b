"""The small JSON shapes that all answers share: money, prices, amounts, attributes, places, shares, problems.

It alone knows how these are shown; it must not know in which answer they stand. Money is a decimal text, amounts are
numbers in canonical units (cores, bytes), times are RFC 3339 UTC.
"""

from collections.abc import Iterable
from typing import Final

from provisioner.core.model import Amounts, Labels, Place, Price, Problem, Rejected, Share
from provisioner.core.money import decimal_text
from provisioner.edge.rest_fault import Json

BYTES: Final = frozenset({"memory", "disk", "gpu_memory"})
"""Resources counted in bytes; the share of memory that jobs can use is no whole number by itself."""


def amount_json(thousandths: int) -> int | float:
    """A whole number where it is one."""
    return thousandths // 1000 if thousandths % 1000 == 0 else thousandths / 1000


def amounts_json(amounts: Amounts) -> Json:
    """Resource to number; bytes are whole."""
    return {resource: amount // 1000 if resource in BYTES else amount_json(amount) for resource, amount in amounts}


def attributes_json(size: Amounts, labels: Labels) -> Json:
    """Sizes as numbers and labels as words; a label with several words is a list."""
    found: Json = amounts_json(size)
    words: dict[str, list[str]] = {}
    for attribute, word in labels:
        words.setdefault(attribute, []).append(word)
    for attribute, stated in words.items():
        found[attribute] = stated[0] if len(stated) == 1 else stated
    return found


def price_json(price: Price | None) -> Json | None:
    """`{amount, currency, per}`, and `once` where a purchase costs something besides; null while unknown."""
    if price is None:
        return None
    found: Json = {"amount": decimal_text(price.nanos), "currency": price.currency, "per": price.per.value}
    if price.once_nanos:
        found["once"] = decimal_text(price.once_nanos)
    return found


def place_json(place: Place) -> Json:
    """The parts that are stated."""
    parts = (("region", place.region), ("zone", place.zone), ("rack", place.rack))
    return {part: said for part, said in parts if said is not None}


def shares_json(shares: Iterable[Share]) -> list[Json]:
    """What something was bought for."""
    return [{"source": s.source, "line": s.line, "units": s.units} for s in shares]


def problem_json(problem: Problem) -> Json:
    """A problem in the contract's error classes, with the parts that are stated."""
    parts: Json = {
        "error_class": problem.error_class,
        "units": problem.units,
        "reason": problem.reason,
        "detail": problem.detail,
        "retry_after_s": problem.retry_after_s,
        "template": problem.template,
        "place": place_json(problem.place) if problem.place is not None else None,
        "limit": problem.limit,
    }
    return {key: value for key, value in parts.items() if value is not None}


def rejected_json(rejected: Iterable[Rejected]) -> list[Json]:
    """Alternatives that were not taken, each with the reason's code and the number that rejected it."""
    return [
        {"provider": r.provider, "template": r.template, "code": r.reason, "number": r.number or None} for r in rejected
    ]
