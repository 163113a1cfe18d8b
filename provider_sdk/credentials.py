"""Secrets by name, from files or variables, read again when they may have changed (clause SC-1).

Knows where a secret stands and when it was read; must not know what it opens. A value shows itself only to `reveal`.
"""

import hmac
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from attrs import frozen

from provider_sdk.contract.words import ErrorClass
from provider_sdk.errors import ConfigFault, ContractError

REREAD_S = 300.0
SECRET_BYTES = 65_536
LEAST_HIDDEN = 6
HIDDEN_MOST = 2_000
"""Texts kept out of the log; the oldest, replaced long ago, are forgotten first."""
_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}\Z")

T = TypeVar("T")


class Secret:
    """One secret's content; prints as its name, compares by content."""

    __slots__ = ("_content", "name")

    def __init__(self, name: str, content: str) -> None:
        self.name = name
        self._content = content

    def reveal(self) -> str:
        """The content, for the far side alone."""
        return self._content

    def __repr__(self) -> str:
        return f"<secret {self.name}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._content.encode(), other._content.encode())

    def __hash__(self) -> int:
        return hash(self._content)


@frozen
class _Read:
    secret: Secret
    at: float


class Credentials:
    """The secrets this provider was given: files of `folder`, else variables of `environ`; making it reads nothing.

    A file is read again after `refused` (the SDK calls it when a method says `auth`) and after 300 s; variables never
    change in a process's life. Safe from any thread.
    """

    def __init__(
        self, folder: Path | None, environ: Mapping[str, str], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._now = now
        self._lock = threading.Lock()
        self._read: dict[str, _Read] = {}
        self._shown: dict[str, None] = {}

    def get(self, name: str) -> Secret:
        """The secret of this name as it is now, without the newline at a file's end; raises `auth` if there is none."""
        with self._lock:
            known = self._read.get(name)
            if known is not None and self._now() - known.at < REREAD_S:
                return known.secret
            secret = Secret(name, self._content(name))
            self._read[name] = _Read(secret, self._now())
            self._remember(secret.reveal())
            return secret

    def of(self, stated: object, pointer: str) -> Secret:
        """The secret that `{"credential": NAME}` in the configuration names.

        Raises ConfigFault at `pointer` if it is written in another way, `auth` if there is no secret of that name.
        """
        match stated:
            case {"credential": str(name)} if _NAME.match(name):
                return self.get(name)
            case _:
                raise ConfigFault([(pointer, 'must name a credential: {"credential": NAME}; never the secret itself')])

    def refused(self) -> None:
        """The far side has refused what it was shown: read everything again at the next use."""
        with self._lock:
            self._read.clear()

    def texts(self) -> tuple[str, ...]:
        """Everything that was ever read here and must be in no log, whole and line by line."""
        with self._lock:
            return tuple(self._shown)

    def _content(self, name: str) -> str:
        if not _NAME.match(name):
            raise ContractError(ErrorClass.AUTH, "a credential is named by a plain file name or variable")
        if self._folder is not None:
            try:
                with open(self._folder / name, "rb") as file:
                    return file.read(SECRET_BYTES).decode("utf-8").rstrip("\r\n")
            except FileNotFoundError:
                pass  # then it may be a variable
            except OSError as problem:
                raise ContractError(ErrorClass.AUTH, f"credential {name} can't be read: {problem.strerror}") from None
            except UnicodeDecodeError:
                raise ContractError(ErrorClass.AUTH, f"credential {name} is no text in UTF-8") from None
        if name in self._environ:
            return self._environ[name]
        raise ContractError(ErrorClass.AUTH, f"there is no credential {name}")

    def _remember(self, content: str) -> None:
        for text in (content, *content.splitlines()):
            if len(text) >= LEAST_HIDDEN:  # shorter ones would hide half the log
                self._shown.pop(text, None)
                self._shown[text] = None
        while len(self._shown) > HIDDEN_MOST:
            del self._shown[next(iter(self._shown))]


class FromSecret(Generic[T]):
    """What is built from a secret, a client or a header, and built anew once the secret has changed."""

    def __init__(self, credentials: Credentials, name: str, build: Callable[[Secret], T]) -> None:
        self._credentials = credentials
        self._name = name
        self._build = build
        self._lock = threading.Lock()
        self._built: tuple[Secret, T] | None = None

    def get(self) -> T:
        """The thing for the present secret; raises `auth` if there is no such secret."""
        secret = self._credentials.get(self._name)
        with self._lock:
            if self._built is None or self._built[0] != secret:
                self._built = (secret, self._build(secret))
            return self._built[1]
