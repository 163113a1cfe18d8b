"""The fast way from the bytes of a long answer to `list` to our own words: what it says is what the usual way (framing,
codec, from_provider) says of the same bytes, and of many it says nothing.

It judges no fault: whatever looks unusual is left to the usual way. Of parts that come again and again in a list, such
as places, attributes and marks, each distinct text is read once, by the usual way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Final, Literal

import msgspec
import orjson
from attrs import frozen
from msgspec import UNSET, Meta, Raw, UnsetType

from provider_sdk.contract import BadShape, Instance, ListResult, decode, parse_time
from provider_sdk.contract.forms import CURSOR_PATTERN, INT_MAX, REF_PATTERN
from provider_sdk.contract.framing import Frame, read_line
from provider_sdk.contract.words import InstanceKind, InstanceState
from provisioner.core.events import SeenInstance
from provisioner.core.model import Kind, Place, Problem
from provisioner.edge import from_provider

__all__ = ["ListPage", "ListReader", "PageResult", "page_of"]

KEPT_MOST: Final = 20_000
"""So many distinct parts of one sort are kept; then all are let go, which costs one slow list."""
PIECE_BYTES: Final = 512
ADDRESS_CHARS: Final = 64
"""What is longer is left to the usual way: seven such parts, eight such addresses and the rest of an instance take less
than its 8 KiB, so that they need not be counted."""
PIECE_BRACKETS: Final = 24
"""So many can't be nested deeper than a frame may be."""

Piece = Raw | UnsetType
Stated = str | UnsetType
_Count = Annotated[int, Meta(ge=0, le=INT_MAX)]
_Nothing = Annotated[list[int], Meta(max_length=0)] | UnsetType

_KINDS: Final[Mapping[object, Kind]] = {UNSET: Kind.HOST, **{kind.value: Kind(kind.value) for kind in InstanceKind}}
_PIECES: Final = ("access", "attributes", "charged", "mark", "notice", "place", "price")
_ONLY_CHECKED: Final = ("access", "price")
_NOTHING: Final = SeenInstance("", Kind.HOST, 0, "")
_STATES: Final = frozenset(state.value for state in InstanceState)


class _Address(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    address: Annotated[str, Meta(max_length=ADDRESS_CHARS)]
    scope: Literal["private", "public"]


class _Thing(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An instance as it stands in the frame; parts with a shape of their own are still bytes."""

    instance: str
    units: _Count
    state: str
    kind: Stated = UNSET
    template: Stated = UNSET
    reason: Annotated[str, Meta(max_length=500)] | UnsetType = UNSET
    name: Annotated[str, Meta(max_length=253)] | UnsetType = UNSET
    addresses: Annotated[list[_Address], Meta(max_length=8)] | UnsetType = UNSET
    access: Piece = UNSET
    place: Piece = UNSET
    attributes: Piece = UNSET
    made_at: Stated = UNSET
    billed_from: Stated = UNSET
    billed_until: Stated = UNSET
    expires_at: Stated = UNSET
    price: Piece = UNSET
    charged: Piece = UNSET
    notice: Piece = UNSET
    mark: Piece = UNSET


class _Result(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    instances: Annotated[list[_Thing], Meta(max_length=1000)]
    age_s: _Count
    complete: bool
    next: Stated = UNSET
    missing_places: _Nothing = UNSET
    not_found: _Nothing = UNSET
    problems: _Nothing = UNSET


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: Annotated[int, Meta(ge=1, le=INT_MAX)]
    result: _Result


@frozen
class ListPage:
    """One page of a list in our own words; `next` is the cursor of the page after it."""

    instances: tuple[SeenInstance, ...]
    age_s: int
    complete: bool
    next: str | None = None
    missing: tuple[Place, ...] = ()
    not_found: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class PageResult(Mapping[str, object]):
    """The result of a `list` whose page was read already; as an object it is read only if somebody looks into it."""

    def __init__(self, page: ListPage, line: bytes) -> None:
        self.page = page
        self._line = line

    @cached_property
    def _members(self) -> Mapping[str, object]:
        members: Mapping[str, object] = orjson.loads(self._line)["result"]
        return members

    def __getitem__(self, name: str) -> object:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def page_of(result: ListResult) -> ListPage:
    """A page that was read the usual way."""
    return ListPage(
        instances=from_provider.instances(result),
        age_s=result.age_s,
        complete=result.complete,
        next=result.next,
        missing=from_provider.places(result.missing_places),
        not_found=result.not_found,
        problems=tuple(map(from_provider.problem, result.problems)),
    )


class _UnusualError(Exception):
    """Only the usual way can tell."""


class _Known(dict[Any, Any]):
    """What texts mean, each looked into once; `read` raises where only the usual way can tell."""

    def __init__(self, read: Callable[[Any], object], unset: object, most: int) -> None:
        super().__init__({UNSET: unset})
        self._most = most
        self._read = read
        self._unset = unset

    def __missing__(self, text: Any) -> object:
        found = self._read(text)
        if len(self) >= self._most:
            self.clear()
            self[UNSET] = self._unset
        self[text] = found
        return found


class ListReader:
    """Reads the lists of one provider; what it has read once it knows again, up to `kept_most` of each sort."""

    def __init__(self, kept_most: int = KEPT_MOST) -> None:
        self._decoder = msgspec.json.Decoder(_Answer)
        self._encode = msgspec.json.Encoder().encode
        self._refs = _Known(partial(_matching, re.compile(REF_PATTERN)), None, kept_most)
        self._times = _Known(parse_time, None, kept_most)
        self._cursor = partial(_matching, re.compile(CURSOR_PATTERN))
        self._pieces = {name: _Known(partial(_piece, name), _NOTHING, kept_most) for name in _PIECES}

    def read(self, line: bytes) -> tuple[int, PageResult] | None:
        """The id and the result of an answer to `list`; None if only the usual way can tell. The line has no LF."""
        if not line.isascii() or b"\\" in line:
            return None
        try:
            answer = self._decoder.decode(line)
            # What is written again is as long only if nothing was dropped: no key came twice, no space, no null. Text
            # without escapes, whole numbers and parts that are still bytes have just one length.
            if len(self._encode(answer)) != len(line):
                return None
            return answer.id, PageResult(self._page(answer.result), line)
        except (msgspec.MsgspecError, BadShape, ValueError, _UnusualError):
            return None

    def _page(self, result: _Result) -> ListPage:
        cursor = None if isinstance(result.next, UnsetType) else self._cursor(result.next)
        return ListPage(tuple(map(self._seen, result.instances)), result.age_s, result.complete, cursor)

    def _seen(self, thing: _Thing) -> SeenInstance:
        kind = _KINDS.get(thing.kind)
        if kind is None or thing.state not in _STATES:
            raise _UnusualError
        refs, times = self._refs, self._times
        attributes = self._part("attributes", thing.attributes)
        for name in _ONLY_CHECKED:
            self._part(name, getattr(thing, name))
        return SeenInstance(
            refs[thing.instance],
            kind,
            thing.units,
            thing.state,
            refs[thing.template],
            thing.reason or "",
            None if thing.name is UNSET else thing.name,
            () if thing.addresses is UNSET else tuple([(each.address, each.scope) for each in thing.addresses]),
            self._part("place", thing.place).place,
            attributes.labels,
            attributes.size,
            times[thing.made_at],
            times[thing.billed_from],
            times[thing.billed_until],
            times[thing.expires_at],
            self._part("charged", thing.charged).charged_nanos,
            self._part("notice", thing.notice).notice,
            True,
            self._part("mark", thing.mark).mark,
        )

    def _part(self, name: str, piece: Piece) -> SeenInstance:
        if piece is UNSET:
            return _NOTHING
        found: SeenInstance = self._pieces[name][bytes(piece)]
        return found


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.search(text):
        raise _UnusualError
    return text


def _piece(name: str, piece: bytes) -> SeenInstance:
    """An instance of which nothing else is told: the usual way reads it, all its rules included."""
    if len(piece) > PIECE_BYTES or piece.count(b"{") + piece.count(b"[") > PIECE_BRACKETS:
        raise _UnusualError
    line = read_line(b'{"instance":"i","units":0,"state":"unknown","%b":%b}' % (name.encode(), piece))
    if not isinstance(line, Frame) or line.obj[name] is None:
        raise _UnusualError
    return from_provider.instance(decode(Instance, line.obj))
