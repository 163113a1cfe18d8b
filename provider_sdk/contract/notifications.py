"""The params of every notification of the contract (§5): hints that may be lost and are never answered.

Alone responsible for what each notification carries. Values do nothing; the codec checks them.
"""

from typing import Annotated

from attrs import frozen
from msgspec import Meta

from provider_sdk.contract.forms import CallId, Duration, LogFields, Name, Ref, Text, Time, Word
from provider_sdk.contract.words import ChangedWhat, LogLevel, NoticeKind


@frozen
class CancelCall:
    """Daemon to provider: stop working on the call with this id (CC-6)."""

    id: CallId


@frozen
class Exit:
    """Daemon to provider: exit now."""


@frozen
class Changed:
    """Provider to daemon: what is worth asking for again."""

    what: Annotated[tuple[ChangedWhat, ...], Meta(max_length=8)]
    instances: Annotated[tuple[Ref, ...], Meta(max_length=1000)] = ()
    requests: Annotated[tuple[Name, ...], Meta(max_length=500)] = ()


@frozen
class NoticeItem:
    """One warning: without a deadline, or with a past one, it is happening now."""

    instance: Ref
    kind: NoticeKind
    deadline: Time | None = None
    detail: Text | None = None


@frozen
class Notice:
    """Provider to daemon: what the far side warned of."""

    items: Annotated[tuple[NoticeItem, ...], Meta(max_length=1000)]


@frozen
class Progress:
    """Provider to daemon: how far a purchase is, for people."""

    request_id: Name
    phase: Word
    eta_s: Duration | None = None


@frozen
class Log:
    """Provider to daemon: a line for the provider's log."""

    level: LogLevel
    text: Text
    fields: LogFields | None = None
