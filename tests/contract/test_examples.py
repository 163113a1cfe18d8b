"""Every published example is judged alike by schema and codec."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from provider_sdk.contract import (
    Answer,
    BadShape,
    ErrorAnswer,
    ErrorClass,
    ErrorData,
    Malformed,
    Notification,
    Request,
    classify,
    decode,
    decode_noting,
    encode,
    frame,
    read_error,
    read_line,
)
from tests.contract import schemas
from tests.contract.wire_types import TYPES

EXAMPLES = schemas.FOLDER / "examples"
GOOD = sorted((EXAMPLES / "good").glob("*.json"))
BAD = sorted((EXAMPLES / "bad").glob("*.json"))
GROWN = sorted((EXAMPLES / "grown").glob("*.json"))


def _schema_name(path: Path) -> str:
    return path.name.partition("--")[0]


def _stem(path: Path) -> str:
    return path.stem


def _of_types(paths: list[Path]) -> list[Path]:
    return [path for path in paths if _schema_name(path) in TYPES]


def _of(name: str, paths: list[Path]) -> list[Path]:
    return [path for path in paths if _schema_name(path) == name]


@pytest.mark.parametrize("kind", [GOOD, BAD], ids=["good", "bad"])
def test_every_params_result_and_notification_has_an_example(kind: list[Path]) -> None:
    assert set(TYPES) | {"error", "frames"} == {_schema_name(path) for path in kind}


@pytest.mark.parametrize("kind", [GOOD, BAD], ids=["good", "bad"])
def test_every_error_class_has_an_example(kind: list[Path]) -> None:
    names = [path.stem.split("--")[1] for path in _of("error", kind)]
    assert set(names) == set(ErrorClass)


@pytest.mark.parametrize("path", GOOD, ids=_stem)
def test_the_schema_accepts_a_good_example(path: Path) -> None:
    assert not list(schemas.validator(_schema_name(path)).iter_errors(json.loads(path.read_text())))


@pytest.mark.parametrize("path", _of_types(GOOD), ids=_stem)
def test_the_codec_reads_a_good_example_and_writes_nothing_that_it_does_not_read_back(path: Path) -> None:
    cls = TYPES[_schema_name(path)]
    value = decode(cls, json.loads(path.read_text()))
    line = frame(encode(value)).removesuffix(b"\n")
    read = read_line(line)
    assert decode(cls, getattr(read, "obj", None)) == value


@pytest.mark.parametrize("path", _of("error", GOOD), ids=_stem)
def test_the_codec_reads_a_good_error_whole(path: Path) -> None:
    raw = json.loads(path.read_text())
    read = read_error(raw)
    stated = decode(ErrorData, raw["data"])
    assert evolve(stated, outcome=read.outcome) == read
    assert stated.error_class == raw["message"]


@pytest.mark.parametrize("path", _of("frames", GOOD), ids=_stem)
def test_a_good_frame_is_classified_as_what_its_name_says(path: Path) -> None:
    kind = {"request": Request, "answer": Answer, "error": ErrorAnswer, "notification": Notification}
    message = classify(json.loads(path.read_text()))
    assert type(message) is kind[path.stem.partition("--")[2]]
    assert not isinstance(message, Malformed)


@pytest.mark.parametrize("path", BAD, ids=_stem)
def test_the_schema_refuses_a_bad_example(path: Path) -> None:
    assert not schemas.accepts(_schema_name(path), json.loads(path.read_text())["value"])


@pytest.mark.parametrize("path", _of_types(BAD), ids=_stem)
def test_the_codec_refuses_a_bad_example_and_points_at_the_place(path: Path) -> None:
    raw = json.loads(path.read_text())["value"]
    with pytest.raises(BadShape) as refused:
        decode(TYPES[_schema_name(path)], raw)
    assert len(refused.value.faults) >= 1
    for fault in refused.value.faults:
        assert _leads_somewhere(raw, fault.path)


@pytest.mark.parametrize("path", _of("error", BAD), ids=_stem)
def test_rq_5_a_bad_error_is_still_read_and_never_says_more_than_it_can(path: Path) -> None:
    example = json.loads(path.read_text())
    assert encode(read_error(example["value"])) == example["read_as"]


@pytest.mark.parametrize("path", _of("frames", BAD), ids=_stem)
def test_fr_2_a_bad_frame_is_no_message(path: Path) -> None:
    assert isinstance(classify(json.loads(path.read_text())["value"]), Malformed)


@pytest.mark.parametrize("path", BAD, ids=_stem)
def test_a_bad_example_says_which_clause_it_breaks(path: Path) -> None:
    why = json.loads(path.read_text())["_why"]
    assert why["clause"]
    assert why["says"]


@pytest.mark.parametrize("path", GROWN, ids=_stem)
def test_gr_2_an_unknown_word_weakens_in_the_codec_and_is_refused_by_the_schema_of_this_version(path: Path) -> None:
    example = json.loads(path.read_text())
    name = _schema_name(path)
    assert not schemas.accepts(name, example["value"])
    read = decode_noting(TYPES[name], example["value"])
    assert read.value == decode(TYPES[name], example["read_as"])
    assert bool(read.skipped) == ("left out" in example["_why"]["says"])
    for skip in read.skipped:
        assert _leads_somewhere(example["value"], skip.path)


def _leads_somewhere(raw: Any, pointer: str) -> bool:
    """Return whether all but the last step of a JSON pointer can be followed."""
    *steps, _ = pointer.split("/") if pointer else [""]
    for step in steps[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        raw = raw[int(key)] if isinstance(raw, list) else raw[key]
    return isinstance(raw, dict | list) or not pointer
