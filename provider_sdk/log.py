"""The provider's own log: one line an event on stderr, as text or JSON, with every known secret taken out (rule SC-1).

Knows forms and what must be hidden; must not know who logs what, nor where lines go.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

import orjson

from provider_sdk.contract.times import format_time
from provider_sdk.credentials import Secret

Form: TypeAlias = Literal["text", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

LINE_BYTES = 8_192
HIDDEN = "<secret>"
DEPTH = 4
_PLAIN = re.compile(r"^[^\s\"=\x00-\x1f\x7f]+\Z")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LEVELS: Mapping[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class Log:
    """Says what happens, with fields: `log.info("bought", token=params.token, units=3)`. Safe from any thread.

    A line is at most 8 KiB and one line. Objects of Secret print as their name; the content of every secret that
    was read is replaced, also inside texts and tracebacks. Levels below `least` are dropped.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        form: Form = "text",
        least: Level = "info",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._write = write
        self._form = form
        self._least = _LEVELS[least]
        self._now = now
        self._secrets: Callable[[], Iterable[str]] = tuple

    def debug(self, text: str, **fields: object) -> None:
        """Detail for who looks for a fault."""
        self.say("debug", text, fields)

    def info(self, text: str, **fields: object) -> None:
        """What happens in the ordinary course."""
        self.say("info", text, fields)

    def warning(self, text: str, **fields: object) -> None:
        """What somebody should look at some day."""
        self.say("warning", text, fields)

    def error(self, text: str, **fields: object) -> None:
        """What somebody should look at now."""
        self.say("error", text, fields)

    def say(self, level: Level, text: str, fields: Mapping[str, object]) -> None:
        """One event as one line."""
        if _LEVELS[level] < self._least:
            return
        clean = {name: self._clean(value) for name, value in fields.items()}
        self._write(self._line(level, self._without_secrets(text), clean))

    def lines(self, text: str) -> None:
        """A text of the SDK itself, a traceback perhaps: as it is in text form, as one line in JSON form."""
        shown = self._without_secrets(text)
        self._write(self._line("error", shown, {}) if self._form == "json" else shown)

    def hide(self, secrets: Callable[[], Iterable[str]]) -> None:
        """From now on take out what `secrets` gives at that moment."""
        self._secrets = secrets

    def take_over(self, least: Level = "warning") -> None:
        """Have Python's own `logging`, where libraries speak, write here from this level up."""
        logging.basicConfig(level=_LEVELS[least], handlers=[_FromLogging(self)], force=True)

    def _line(self, level: Level, text: str, fields: Mapping[str, object]) -> str:
        at = format_time(self._now())
        if self._form == "json":
            # An odd character in a text must not lose the line: orjson refuses lone surrogates.
            line = _as_json({"at": at, "level": level, "text": text, **{_free(name): fields[name] for name in fields}})
            return (
                line
                if len(line.encode()) <= LINE_BYTES
                else _as_json({"at": at, "level": level, "text": text[: LINE_BYTES // 8], "cut": True})
            )
        told = " ".join(f"{name}={_quoted(value)}" for name, value in fields.items())
        line = f"{at} {level} {_one_line(text)}{' ' if told else ''}{told}"
        return line if len(line.encode()) <= LINE_BYTES else f"{line[: LINE_BYTES // 4]} …"

    def _clean(self, value: object, depth: int = 0) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case str():
                return self._without_secrets(value)
            case Secret():
                return repr(value)
            case Mapping() if depth < DEPTH:
                return {str(name): self._clean(inner, depth + 1) for name, inner in value.items()}
            case list() | tuple() | set() | frozenset() if depth < DEPTH:
                return [self._clean(inner, depth + 1) for inner in value]
            case _:
                return self._without_secrets(str(value))

    def _without_secrets(self, text: str) -> str:
        text = text.encode("utf-8", "backslashreplace").decode()
        # The longest first: a line of a secret is also a part of it.
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text


class _FromLogging(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error"
        if record.levelno < _LEVELS["error"]:
            level = "warning" if record.levelno >= _LEVELS["warning"] else "info"
        if record.levelno < _LEVELS["info"]:
            level = "debug"
        fields = {} if record.exc_info is None else {"traceback": logging.Formatter().formatException(record.exc_info)}
        self._log.say(level, record.getMessage(), {"logger": record.name, **fields})


def _free(name: str) -> str:
    return f"{name}_" if name in ("at", "level", "text") else name


def _as_json(value: object) -> str:
    # JSON leaves some characters as they are that end a line or steer a terminal elsewhere.
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", orjson.dumps(value, default=str).decode())


def _one_line(text: str) -> str:
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def _quoted(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.match(value) else _as_json(value)
