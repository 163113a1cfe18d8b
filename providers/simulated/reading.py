"""Reads a JSON object key by key and collects every fault with its JSON pointer instead of stopping at the first.

Pure. Knows the notations (durations, money, globs), not what any key means.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TypeVar

from attrs import define, field, frozen

T = TypeVar("T", bound=str)

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)")
_MONEY = re.compile(r"(0|[1-9]\d{0,11})(\.\d{1,9})?")
_FACTOR = re.compile(r"\d{1,6}(\.\d{1,9})?")


@frozen
class Fault:
    """One fault of the configuration: a JSON pointer into it and one sentence."""

    path: str
    detail: str


@define
class Section:
    """One object of the configuration being read; `close` reports the keys nobody asked for."""

    values: Mapping[str, object]
    pointer: str
    faults: list[Fault]
    asked: list[str] = field(factory=list)

    def blame(self, key: str | int, detail: str) -> None:
        """Record a fault at this key."""
        self.faults.append(Fault(f"{self.pointer}/{_escaped(str(key))}", detail))

    def has(self, key: str) -> bool:
        """Is the key given (null counts as not given)?"""
        self._ask(key)
        return self.values.get(key) is not None

    def raw(self, key: str) -> object:
        """Return the value as it stands, or None."""
        self._ask(key)
        return self.values.get(key)

    def section(self, key: str) -> "Section":
        """Return the object at this key, empty if absent or faulty."""
        value = self.raw(key)
        if value is not None and not _is_object(value):
            self.blame(key, "must be an object")
        return Section(
            value if isinstance(value, Mapping) and _is_object(value) else {},
            f"{self.pointer}/{_escaped(key)}",
            self.faults,
        )

    def sections(self, key: str) -> "list[tuple[str, Section]]":
        """Return the named objects held by the object at this key."""
        outer = self.section(key)
        return [(name, outer.section(name)) for name in outer.values]

    def section_list(self, key: str) -> "list[Section]":
        """Return the objects of the list at this key."""
        value = self.raw(key)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            self.blame(key, "must be a list of objects")
            return []
        outer = Section({str(n): item for n, item in enumerate(value)}, f"{self.pointer}/{_escaped(key)}", self.faults)
        return [outer.section(name) for name in outer.values]

    def text(self, key: str, default: str) -> str:
        """Return a string of 1 to 200 characters."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str) or not 0 < len(value) <= 200:
            self.blame(key, "must be a string of 1 to 200 characters")
            return default
        return value

    def choice(self, key: str, options: Sequence[T], default: T) -> T:
        """Return one of the options."""
        value = self.raw(key)
        if value is None:
            return default
        for option in options:
            if value == option:
                return option
        self.blame(key, f"must be one of {', '.join(options)}")
        return default

    def flag(self, key: str, default: bool = False) -> bool:
        """Return true or false."""
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.blame(key, "must be true or false")
            return default
        return value

    def integer(self, key: str, default: int, least: int = 0, most: int = 2**53 - 1) -> int:
        """Return a whole number within the bounds."""
        value = self.maybe_integer(key, least, most)
        return default if value is None else value

    def maybe_integer(self, key: str, least: int = 0, most: int = 2**53 - 1) -> int | None:
        """Return a whole number within the bounds, None if absent or faulty."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.blame(key, f"must be a whole number from {least} to {most}")
            return None
        return value

    def rate(self, key: str, default: float = 0.0) -> float:
        """Return a share from 0 to 1."""
        value = self.raw(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.blame(key, "must be a number from 0 to 1")
            return default
        return float(value)

    def duration_ms(self, key: str, default: int) -> int:
        """Return a duration in milliseconds, written as whole seconds or like 500ms, 3s, 2m, 1h, 7d."""
        value = self.maybe_duration_ms(key)
        return default if value is None else value

    def maybe_duration_ms(self, key: str) -> int | None:
        """Return a duration in milliseconds, None if absent or faulty."""
        value = self.raw(key)
        if value is None:
            return None
        milliseconds = parse_duration_ms(value)
        if milliseconds is None:
            self.blame(key, 'must be a duration: whole seconds, or a string such as "500ms", "3s", "2m", "1h"')
        return milliseconds

    def seconds(self, key: str, default: int) -> int:
        """Return a duration of whole seconds."""
        value = self.maybe_seconds(key)
        return default if value is None else value

    def maybe_seconds(self, key: str) -> int | None:
        """Return a duration of whole seconds, None if absent or faulty."""
        milliseconds = self.maybe_duration_ms(key)
        if milliseconds is not None and milliseconds % 1000:
            self.blame(key, "must be whole seconds")
            return None
        return None if milliseconds is None else milliseconds // 1000

    def amount(self, key: str) -> str | None:
        """Return an amount of money as the contract's decimal string, None if absent or faulty."""
        return self._decimal(key, _MONEY, 'must be an amount in quotes such as "0.085" (at most 9 decimals)')

    def factor(self, key: str, default: str) -> str:
        """Return a factor as a decimal string such as "0.8"."""
        return self._decimal(key, _FACTOR, 'must be a factor in quotes such as "0.8"') or default

    def _decimal(self, key: str, form: re.Pattern[str], complaint: str) -> str | None:
        value = self.raw(key)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if value is None:
            return None
        if not isinstance(value, str) or not form.fullmatch(value):
            self.blame(key, complaint)
            return None
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings; one string counts as a list of one."""
        value = self.raw(key)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            self.blame(key, "must be a list of strings")
            return ()
        return tuple(value)

    def close(self) -> None:
        """Report every key that nobody asked for, with the nearest known name."""
        for key in self.values:
            if key not in self.asked:
                near = get_close_matches(key, self.asked, n=1)
                self.blame(key, f"unknown key; did you mean {near[0]}?" if near else "unknown key")

    def _ask(self, key: str) -> None:
        if key not in self.asked:
            self.asked.append(key)


def parse_duration_ms(value: object) -> int | None:
    """Return the milliseconds of `3`, `"3s"`, `"250ms"`, `"2m"`, `"1.5h"`; None if it is none of these."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value * 1000 if 0 <= value < 10**9 else None
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    whole, _, decimals = found[1].partition(".")
    return int(whole + decimals.ljust(3, "0")) * _UNITS_MS[found[2]] // 1000


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
