"""Documents of a later minor version, made from every good example: what is added is harmless (GR-2)."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import attrs
import pytest

from provider_sdk.contract import (
    METHODS,
    BadShape,
    Capability,
    ErrorData,
    Malformed,
    classify,
    decode,
    decode_noting,
    encode,
    read_error,
    words,
)
from provider_sdk.contract.strict import wire_name
from provider_sdk.contract.versions import VERSIONS
from provider_sdk.contract.words import DROPPED_WHEN_UNKNOWN, WEAKEST
from provider_sdk.spec.wire import SKIPPED
from tests.contract import schemas
from tests.contract.wire_types import TYPES, options

GOOD = sorted((schemas.FOLDER / "examples" / "good").glob("*.json"))
LATER = "of_a_later_version"
ADDED = {LATER: [1, {"a": None}], "x-site": {"rack": "b"}}
Steps = tuple[str | int, ...]


def _named(path: Path) -> str:
    return path.stem


def _of_types() -> list[Path]:
    return [path for path in GOOD if path.name.partition("--")[0] in TYPES]


def _read(path: Path) -> tuple[str, type[Any], Any]:
    name = path.name.partition("--")[0]
    return name, TYPES[name], json.loads(path.read_text(encoding="utf-8"))


def walk(t: Any, raw: Any, steps: Steps = ()) -> Iterator[tuple[Steps, type[Any]]]:
    """Give each place of a raw value that holds an object or a word of the contract, with its class or vocabulary."""
    t = _one_of(t, raw)
    if t is not None and get_origin(t) is None and (attrs.has(t) or issubclass(t, StrEnum)):
        yield steps, t
    for step, inner in _parts(t, raw):
        yield from walk(inner, raw[step], (*steps, step))


def _one_of(t: Any, raw: Any) -> Any:
    """Return the type without its constraints; of several (an attribute's value) the one that is an object, if any."""
    several = options(t)
    if len(several) > 1:
        return next((each for each in several if isinstance(raw, dict) and attrs.has(each)), None)
    return get_args(several[0])[0] if get_origin(several[0]) is Annotated else several[0]


def _parts(t: Any, raw: Any) -> list[tuple[str | int, Any]]:
    """Return where parts of a value stand in it, and their types."""
    if get_origin(t) is tuple:
        return [(place, get_args(t)[0]) for place in range(len(raw))]
    if get_origin(t) is Mapping:
        return [] if get_args(t)[1] is object else [(name, get_args(t)[1]) for name in raw]
    if t is None or not attrs.has(t):
        return []
    named = [(wire_name(field.name), field.type) for field in attrs.fields(t)]
    return [(name, inner) for name, inner in named if raw.get(name) is not None]


def holder(raw: Any, steps: Steps) -> Any:
    """Return what holds the last step's place."""
    for step in steps[:-1]:
        raw = raw[step]
    return raw


def with_word(raw: Any, steps: Steps, word: str) -> Any:
    changed = deepcopy(raw)
    holder(changed, steps)[steps[-1]] = word
    return changed


def without_item(raw: Any, steps: Steps) -> Any:
    """Return the value without the innermost item of a list that the steps lead through."""
    last = max(place for place, step in enumerate(steps) if isinstance(step, int))
    changed = deepcopy(raw)
    del holder(changed, steps[: last + 1])[steps[last]]
    return changed


def word_places(path: Path) -> list[tuple[Steps, type[StrEnum]]]:
    _, t, raw = _read(path)
    return [(steps, each) for steps, each in walk(t, raw) if issubclass(each, StrEnum)]


PLACES = [
    pytest.param(path, steps, t, id=f"{path.stem}:{'/'.join(map(str, steps))}")
    for path in _of_types()
    for steps, t in word_places(path)
]


@pytest.mark.parametrize("path", _of_types(), ids=_named)
def test_gr_2_fields_of_a_later_version_in_every_object_are_accepted_by_the_schema_and_read_over(path: Path) -> None:
    name, t, raw = _read(path)
    grown = deepcopy(raw)
    objects = [steps for steps, each in walk(t, raw) if attrs.has(each)]
    for steps in objects:
        target = holder(grown, (*steps, ""))
        target.update(deepcopy(ADDED))
    assert objects[0] == ()
    assert not list(schemas.validator(name).iter_errors(grown))
    assert decode(t, grown) == decode(t, raw)
    assert LATER not in json.dumps(encode(decode(t, grown)), default=list)


@pytest.mark.parametrize(("path", "steps", "t"), PLACES)
def test_gr_2_a_word_of_a_later_version_weakens_wherever_it_stands(path: Path, steps: Steps, t: type[StrEnum]) -> None:
    name, message, raw = _read(path)
    grown = with_word(raw, steps, LATER)
    assert not schemas.accepts(name, grown)
    if t in WEAKEST:
        assert decode(message, grown) == decode(message, with_word(raw, steps, WEAKEST[t]))
    elif t in DROPPED_WHEN_UNKNOWN:
        less = deepcopy(raw)
        del holder(less, steps)[steps[-1]]
        assert decode(message, grown) == decode(message, less)
    elif t in SKIPPED:
        read = decode_noting(message, grown)
        assert read.value == decode(message, without_item(raw, steps))
        assert len(read.skipped) == 1
    else:
        with pytest.raises(BadShape) as refused:
            decode(message, grown)
        assert [fault.path for fault in refused.value.faults] == ["/" + "/".join(map(str, steps))]


def test_gr_2_every_vocabulary_stands_in_some_example() -> None:
    every = {each for each in vars(words).values() if isinstance(each, type) and issubclass(each, StrEnum)}
    met = {t for path in _of_types() for _, t in word_places(path)}
    assert every - {StrEnum, Capability} - met == set()


@pytest.mark.parametrize("path", [p for p in GOOD if p.name.startswith("error--")], ids=_named)
def test_gr_2_fields_of_a_later_version_in_an_error_are_read_over(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    grown = {**raw, **ADDED, "data": {**raw["data"], **ADDED}}
    assert schemas.accepts("error", grown)
    assert read_error(grown) == read_error(raw)


@pytest.mark.parametrize("path", [p for p in GOOD if p.name.startswith("frames--")], ids=_named)
def test_gr_2_members_of_a_later_version_in_an_envelope_are_read_over(path: Path) -> None:
    raw = json.loads(path.read_text(encoding="utf-8"))
    assert schemas.accepts("frames", {**raw, **ADDED})
    assert classify({**raw, **ADDED}) == classify(raw)
    assert not isinstance(classify(raw), Malformed)


@pytest.mark.parametrize("version", VERSIONS)
def test_gr_1_every_version_spoken_has_the_same_shapes(version: str) -> None:
    _, t, raw = _read(next(path for path in GOOD if path.stem == "initialize.result--exact"))
    answered = {**raw, "version": version}
    assert schemas.accepts("initialize.result", answered)
    assert decode(t, answered) == attrs.evolve(decode(t, raw), version=version)


def test_gr_3_a_capability_of_a_later_version_is_a_word_that_nobody_looks_up() -> None:
    _, t, raw = _read(next(path for path in GOOD if path.stem == "initialize.result--exact"))
    grown = {**raw, "capabilities": [*raw["capabilities"], LATER]}
    assert schemas.accepts("initialize.result", grown)
    read = decode(t, grown)
    assert LATER in read.capabilities
    assert {str(m.capability) for m in METHODS.values() if m.capability in read.capabilities} == {"cancel", "forget"}


def test_gr_2_a_class_of_a_later_version_says_nothing_of_the_purchase() -> None:
    read = read_error({"code": -32012, "message": LATER, "data": {"error_class": LATER}})
    assert read == ErrorData(words.ErrorClass.FENCED, words.Outcome.UNKNOWN)
