"""What must never be shown of a provider's words and ours, and how it is hidden: by value, wherever it stands.

It alone says what counts as a secret. It must not know where secrets are kept, nor read a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

__all__ = ["HIDDEN", "Hidden", "secrets_in_config", "secrets_in_file"]

HIDDEN: Final = "[hidden]"
_SHORTEST: Final = 6
"""Shorter values would hide ordinary words ("true", "1")."""
_SHORTEST_PART: Final = 8
_SECRET_KEY: Final = re.compile(r"secret|passw|token|credential|private|api_?key|access_?key|auth", re.IGNORECASE)
_HARMLESS_KEY: Final = re.compile(
    r"^\W*(region|output|format|type|profile|endpoint|zone|project_id|universe_domain|\w*_ur[il]|ur[il]|host|server)\W*$",
    re.IGNORECASE,
)
_LINE: Final = re.compile(r"""(?:export\s+)?(["']?[\w.-]+["']?)\s*[=:]\s*(.+)$""")
# Each of these matches in one go whatever follows: what is searched comes from a provider and may be made to be slow.
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?$)')
_ACCESS: Final = re.compile(rb'("access"\s*:\s*\{)((?:[^"}]|"(?:[^"\\]|\\.)*(?:"|\\?$))*)')


class Hidden:
    """The values that are hidden; more may be learned while it is in use."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._raw: tuple[bytes, ...] = ()
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Hides these too, from now on."""
        known = {value for value in values if len(value) >= _SHORTEST} | set(self._values)
        self._values = tuple(sorted(known, key=len, reverse=True))  # the longer first, which may hold a shorter one
        written = dict.fromkeys(form for value in self._values for form in _forms(value))
        self._raw = tuple(form.encode("utf-8", "surrogateescape") for form in written)

    def text(self, text: str) -> str:
        """The text without them."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def frame(self, data: bytes) -> bytes:
        """The bytes of a frame without them, as JSON writes them, nor what `access` gives to who uses a grant."""
        for value in self._raw:
            if value in data:
                data = data.replace(value, HIDDEN.encode())
        return _ACCESS.sub(_hide_members, data) if b'"access"' in data else data


def _forms(value: str) -> tuple[str, ...]:
    """A value as it stands in text, and in JSON written with and without escapes."""
    return value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]


def _hide_members(found: re.Match[bytes]) -> bytes:
    inner = found[2]
    last = 0

    def hide(string: re.Match[bytes]) -> bytes:
        nonlocal last
        is_value = inner[last : string.start()].strip() == b":"
        last = string.end()
        return b'"' + HIDDEN.encode() + b'"' if is_value else string[0]

    return found[1] + _STRING.sub(hide, inner)


def secrets_in_config(config: Mapping[str, object]) -> Iterator[str]:
    """What a configuration holds although it must not: texts below keys that are called like secrets."""
    for key, value in config.items():
        if _SECRET_KEY.search(str(key)) and isinstance(value, str):
            yield value
        yield from _below(value)


def _below(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from secrets_in_config(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _below(item)


def secrets_in_file(text: str) -> Iterator[str]:
    """What of a credential file is hidden: every value it gives to a key, else each of its lines.

    Values of keys that are called like addresses or regions are left, since every second line would be hidden else.
    """
    values = _texts_of_json(text)
    if values is None:
        lines = [line.strip() for line in text.splitlines()]
        values = [part for line in lines for part in _members_of(line) if len(part) >= _SHORTEST_PART] or lines
    for value in values:
        whole = value.strip()
        yield from (part for part in {whole, *whole.splitlines()} if len(part) >= _SHORTEST_PART)


def _texts_of_json(text: str) -> list[str] | None:
    try:
        return list(_texts(json.loads(text)))
    except (ValueError, RecursionError):
        return None


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                if not _HARMLESS_KEY.match(str(key)):
                    yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case _:
            return


def _members_of(line: str) -> Iterator[str]:
    """The value of one line of an INI, shell or YAML file."""
    found = _LINE.match(line)
    if found is not None and not _HARMLESS_KEY.match(found[1]):
        yield found[2].strip().strip("\"'")
