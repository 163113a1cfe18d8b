"""What must never be shown of a provider's words and ours, and how it is hidden: by value, wherever it stands.

It alone says what counts as a secret. It must not know where secrets are kept, nor read a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

__all__ = ["HIDDEN", "Hidden", "secrets_in_config", "secrets_in_file"]

HIDDEN: Final = "[hidden]"
_SHORTEST: Final = 6
"""Shorter values would hide ordinary words ("true", "1")."""
_NO_LONGER: Final = b"*" * _SHORTEST
"""Stands in a message that is still to be read: its texts have a longest length, which it must not exceed."""
_SHORTEST_PART: Final = 8
_SHORTEST_BEGINNING: Final = 4
"""Of a value that is cut at the end of what is shown, fewer characters tell nothing."""
_SECRET_KEY: Final = re.compile(
    r"secret|passw|passphrase|^pass$|pwd|^pw$|token|credential|private|keys?$|auth|cookie|bearer", re.IGNORECASE
)
_IN_URL: Final = re.compile(r"://[^/?#\s@:]*:([^/?#\s@]+)@")
_HARMLESS_KEY: Final = re.compile(
    r"^\W*(region|output|format|type|profile|endpoint|zone|project_id|universe_domain|\w*_ur[il]|ur[il]|host|server)\W*$",
    re.IGNORECASE,
)
_LINE: Final = re.compile(r"""(?:export\s+)?(["']?[\w.-]+["']?)\s*[=:]\s*(.+)$""")
# Each of these matches in one go whatever follows: what is searched comes from a provider and may be made to be slow.
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?$)')
_FOR_PEOPLE: Final = re.compile(rb'("(?:detail|reason|phase|message)"\s*:\s*)("(?:[^"\\]|\\.)*")')
_ACCESS: Final = re.compile(rb'("access"\s*:\s*\{)((?:[^"}]|"(?:[^"\\]|\\.)*(?:"|\\?$))*)')


class Hidden:
    """The values that are hidden; more may be learned while it is in use."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._written: tuple[str, ...] = ()
        self._raw: tuple[bytes, ...] = ()
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Hides these too, from now on."""
        known = {value for value in values if len(value) >= _SHORTEST} | set(self._values)
        self._values = tuple(sorted(known, key=len, reverse=True))  # the longer first, which may hold a shorter one
        written = dict.fromkeys(form for value in self._values for form in _forms(value))
        self._written = tuple(written)
        self._raw = tuple(form.encode("utf-8", "surrogateescape") for form in written)

    def text(self, text: str, *, is_cut: bool = False) -> str:
        """The text without them; where its end was cut off, without the beginning of one there either."""
        for form in self._written:
            text = text.replace(form, HIDDEN)
        if not is_cut:
            return text
        begun = max((_begun(text, form) for form in self._written), default=0)
        return text[:-begun] + HIDDEN if begun else text

    def said(self, line: bytes) -> bytes:
        """A frame without them in what it says to people: a problem's words, say. All it states else stays as it is."""
        if not any(form in line for form in self._raw):
            return line
        return _FOR_PEOPLE.sub(lambda found: found[1] + self._bare(found[2], _NO_LONGER), line)

    def frame(self, data: bytes) -> bytes:
        """The bytes of a frame without them, as JSON writes them, nor what `access` gives to who uses a grant."""
        data = self._bare(data)
        return _ACCESS.sub(_hide_members, data) if b'"access"' in data else data

    def _bare(self, data: bytes, instead: bytes = HIDDEN.encode()) -> bytes:
        for value in self._raw:
            if value in data:
                data = data.replace(value, instead)
        return data


def _begun(text: str, value: str) -> int:
    """How many characters of `value` the text ends in, 0 if too few to tell."""
    longest = min(len(value), len(text))
    return next((n for n in range(longest, _SHORTEST_BEGINNING - 1, -1) if text.endswith(value[:n])), 0)


def _forms(value: str) -> tuple[str, ...]:
    """A value as it stands in text, in JSON written with and without escapes, and in a URL."""
    in_json = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    return value, *in_json, *(quote(value, safe=left, errors="surrogatepass") for left in ("", "/"))


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
    """What a configuration holds although it must not: texts below keys that are called like secrets, and what stands
    as a password in a URL.
    """
    for key, value in config.items():
        if _SECRET_KEY.search(str(key)):
            yield from _texts(value)
        yield from _below(value)


def _below(value: object) -> Iterator[str]:
    match value:
        case str():
            yield from _IN_URL.findall(value)
        case Mapping():
            yield from secrets_in_config(value)
        case list() | tuple():
            for item in value:
                yield from _below(item)
        case _:
            return


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
        case Mapping():
            for key, inner in value.items():
                if not _HARMLESS_KEY.match(str(key)):
                    yield from _texts(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts(inner)
        case _:
            return


def _members_of(line: str) -> Iterator[str]:
    """The value of one line of an INI, shell or YAML file."""
    found = _LINE.match(line)
    if found is not None and not _HARMLESS_KEY.match(found[1]):
        yield found[2].strip().strip("\"'")
