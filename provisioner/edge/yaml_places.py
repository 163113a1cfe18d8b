"""YAML 1.2 text as a tree of values that know their line and column.

It alone knows ruamel.yaml; it must not know which settings exist. Scalars are read by YAML 1.2's core schema (`yes` and
dates are texts); tags, merge keys and a second document are faults, and so is what is too deep or too big.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from attrs import field, frozen
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from provisioner.edge.config_fault import Findings, Path, Place, quoted

DEPTH_MOST: Final = 48
VALUES_MOST: Final = 100_000
CHARACTERS_MOST: Final = 1024 * 1024

NULL = re.compile(r"~|null|Null|NULL|")
TRUE = re.compile(r"true|True|TRUE")
FALSE = re.compile(r"false|False|FALSE")
INTEGER = re.compile(r"[-+]?[0-9]{1,30}")
OTHER_BASE = re.compile(r"0o[0-7]{1,30}|0x[0-9a-fA-F]{1,30}")
NUMBER = re.compile(r"[-+]?(\.[0-9]{1,30}|[0-9]{1,30}(\.[0-9]{0,30})?)([eE][-+]?[0-9]{1,3})?")
HALF_PAIR = re.compile(r"[\ud800-\udfff]")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

START: Final = Place(1, 1)


@frozen
class Scalar:
    """One value as written (`text`) and as YAML 1.2's core schema reads it (`value`)."""

    text: str
    value: str | int | float | bool | None
    place: Place

    @property
    def size(self) -> int:
        """How many values it stands for."""
        return 1


@frozen
class Listing:
    """A list of values; `size` counts all values below it with aliases written out."""

    items: "tuple[Node, ...]"
    place: Place
    size: int


@frozen
class Entry:
    """One key of a mapping and what stands under it."""

    key: str
    place: Place
    value: "Node"


@frozen
class Table:
    """A mapping with text keys, each once, in the order of the file; `size` as for a list."""

    entries: tuple[Entry, ...]
    place: Place
    size: int


Node = Scalar | Listing | Table


class _Unreadable(Exception):
    """Nothing after this point can be read; it never leaves this file."""


@frozen
class _Reading:
    events: Iterator[Any]
    findings: Findings
    anchors: dict[str, Node] = field(factory=dict)


def read_yaml(text: str, findings: Findings) -> Node | None:
    """The tree of one document, None if it is empty or unreadable; what is wrong is added to `findings`."""
    if len(text) > CHARACTERS_MOST:
        findings.add(START, (), "the file is longer than 1 MiB", "split what it configures")
        return None
    reading = _Reading(YAML(typ="safe", pure=True).parse(text), findings)
    try:
        return _document(reading)
    except _Unreadable:
        return None
    except MarkedYAMLError as error:
        _add_syntax_fault(error, findings)
        return None
    except YAMLError:
        findings.add(START, (), "the file holds a character that YAML does not allow", "write it as plain UTF-8 text")
        return None


def _add_syntax_fault(error: MarkedYAMLError, findings: Findings) -> None:
    mark = error.problem_mark or error.context_mark
    place = START if mark is None else _place(mark)
    problem = str(error.problem or error.context or "not YAML")
    if "'\\t'" in problem:
        findings.add(place, (), "a tab stands where YAML wants spaces", "indent with spaces")
        return
    findings.add(place, (), f"not YAML: {problem}", 'check the indentation, and quote texts that hold ": " or " #"')


def _document(reading: _Reading) -> Node | None:
    root: Node | None = None
    documents = 0
    for event in reading.events:
        match event:
            case DocumentStartEvent():
                documents += 1
                if event.version not in (None, (1, 2)):
                    reading.findings.add(_start(event), (), "the file is read as YAML 1.2", "leave the %YAML line out")
                if documents > 1:
                    _stop(reading, _start(event), (), "a second document begins here", "keep one document in the file")
            case StreamEndEvent():
                return root
            case ScalarEvent() | AliasEvent() | MappingStartEvent() | SequenceStartEvent():
                root = _node(reading, event, ())
            case _:
                pass  # the other events only frame what is read here
    return root


def _node(reading: _Reading, event: Any, path: Path) -> Node:
    if len(path) > DEPTH_MOST:
        _stop(reading, _start(event), (), f"values are nested more than {DEPTH_MOST} deep", "write them flatter")
    node = _any_node(reading, event, path)
    if node.size > VALUES_MOST:
        _stop(reading, node.place, path, f"more than {VALUES_MOST} values, aliases written out", "use fewer aliases")
    if event.anchor is not None and not isinstance(event, AliasEvent):
        reading.anchors[event.anchor] = node
    return node


def _any_node(reading: _Reading, event: Any, path: Path) -> Node:
    match event:
        case AliasEvent():
            return _aliased(reading, event, path)
        case MappingStartEvent():
            _refuse_tag(reading, event, path)
            return _table(reading, event, path)
        case SequenceStartEvent():
            _refuse_tag(reading, event, path)
            return _listing(reading, event, path)
        case _:
            return _scalar(reading, event, path)


def _aliased(reading: _Reading, event: Any, path: Path) -> Node:
    known = reading.anchors.get(event.anchor)
    if known is None:
        _stop(reading, _start(event), path, f"*{event.anchor} names no earlier, finished value", "write the value out")
    return known


def _table(reading: _Reading, start: Any, path: Path) -> Table:
    entries: dict[str, Entry] = {}
    size = 1
    for event in reading.events:
        if isinstance(event, MappingEndEvent):
            break
        key = _key(reading, event, path)
        value = _node(reading, next(reading.events), (*path, key))
        size += value.size
        if key in entries:
            first = entries[key].place.line
            reading.findings.add(
                _start(event), (*path, key), f"written twice, first on line {first}", "keep one of the two"
            )
        else:
            entries[key] = Entry(key, _start(event), value)
    return Table(tuple(entries.values()), _start(start), size)


def _key(reading: _Reading, event: Any, path: Path) -> str:
    if not isinstance(event, ScalarEvent):
        _stop(reading, _start(event), path, "a key is not a plain text", "write a short text before the colon")
    if event.value == "<<" and event.style is None:
        reading.findings.add(_start(event), (*path, "<<"), "merge keys are no part of YAML 1.2", "write the values out")
    if event.anchor is not None:
        reading.anchors[event.anchor] = _scalar(reading, event, path)
    return _whole_text(reading, event, path)


def _listing(reading: _Reading, start: Any, path: Path) -> Listing:
    items: list[Node] = []
    for event in reading.events:
        if isinstance(event, SequenceEndEvent):
            break
        items.append(_node(reading, event, (*path, len(items))))
    return Listing(tuple(items), _start(start), 1 + sum(item.size for item in items))


def _scalar(reading: _Reading, event: Any, path: Path) -> Scalar:
    text = _whole_text(reading, event, path)
    is_plain = event.style is None and event.tag is None
    if event.tag is not None and not _is_text_tag(event):
        _refuse_tag(reading, event, path)
    return Scalar(text, _core_value(text) if is_plain else text, _start(event))


def _whole_text(reading: _Reading, event: Any, path: Path) -> str:
    text = str(event.value)
    if HALF_PAIR.search(text):
        reading.findings.add(_start(event), path, "holds half of a character", "write the character itself")
    return text


def _is_text_tag(event: Any) -> bool:
    return str(event.tag) in ("tag:yaml.org,2002:str", "!!str", "!")


def _refuse_tag(reading: _Reading, event: Any, path: Path) -> None:
    if event.tag is not None:
        sentence = f"the tag {quoted(str(event.tag))} has no meaning here"
        reading.findings.add(_start(event), path, sentence, "leave the tag out")


def _core_value(text: str) -> str | int | float | bool | None:
    if NULL.fullmatch(text):
        return None
    if TRUE.fullmatch(text) or FALSE.fullmatch(text):
        return bool(TRUE.fullmatch(text))
    if INTEGER.fullmatch(text):
        return int(text)
    if OTHER_BASE.fullmatch(text):
        return int(text, 0)
    if NUMBER.fullmatch(text):
        return float(text)
    if NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def _stop(reading: _Reading, place: Place, path: Path, sentence: str, remedy: str) -> NoReturn:
    reading.findings.add(place, path, sentence, remedy)
    raise _Unreadable


def _start(event: Any) -> Place:
    return _place(event.start_mark)


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)
