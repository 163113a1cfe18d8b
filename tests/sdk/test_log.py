import json
import logging
from collections.abc import Iterator

import pytest

from provider_sdk.credentials import Secret
from provider_sdk.log import LINE_BYTES, Form, Log

KEY = "hunter2-hunter2"


class Lines(list[str]):
    def log(self, form: Form = "text") -> Log:
        return Log(self.append, form=form, least="debug", now=lambda: 1930413492.0)


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def quiet_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_an_event_is_one_line_of_text_with_its_fields(lines: Lines) -> None:
    lines.log().info("bought", token="tk-1", units=3, of="two words")
    assert lines == ['2031-03-04T17:58:12Z info bought token=tk-1 units=3 of="two words"']


def test_in_json_form_an_event_is_one_object_and_its_own_words_keep_their_place(lines: Lines) -> None:
    lines.log("json").warning("slow", at="far side", took_s=3.5, items=("a", "b"))
    assert [json.loads(line) for line in lines] == [
        {
            "at": "2031-03-04T17:58:12Z",
            "level": "warning",
            "text": "slow",
            "at_": "far side",
            "took_s": 3.5,
            "items": ["a", "b"],
        }
    ]


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_event_is_more_than_one_line_or_longer_than_8_kib(lines: Lines, form: Form) -> None:
    log = lines.log(form)
    log.error("a\nb\r\u2028c\x1b[2J", field="x\ny")
    log.error("ü" * 20_000)
    log.error("many", **{f"field{number}": "ü" * 100 for number in range(100)})
    for line in lines:
        assert len(line.splitlines()) == 1
        assert len(line.encode()) <= LINE_BYTES
        assert "\x1b" not in line


@pytest.mark.parametrize("form", ["text", "json"])
def test_sc_1_a_secret_that_was_read_is_in_no_line_wherever_it_stands(lines: Lines, form: Form) -> None:
    log = lines.log(form)
    log.hide(lambda: (KEY, f"{KEY}\nsecond line"))
    log.info(f"sent {KEY} to", header=f"Bearer {KEY}", deep={"a": [f"{KEY}\nsecond line"]}, error=ValueError(KEY))
    log.lines(f"Traceback\nValueError: {KEY}")
    log.info("a secret itself", key=Secret("far.key", KEY))
    assert len(lines) == 3
    assert "hunter2" not in "".join(lines)
    assert "<secret far.key>" in lines[2]


def test_a_traceback_stays_readable_as_text_and_is_one_line_as_json(lines: Lines) -> None:
    lines.log().lines("failed\nTraceback")
    lines.log("json").lines("failed\nTraceback")
    assert lines[0] == "failed\nTraceback"
    assert json.loads(lines[1])["text"] == "failed\nTraceback"


def test_odd_characters_and_objects_lose_no_line(lines: Lines) -> None:
    lines.log("json").info("lone \ud800", value=object, many={1, 2})
    lines.log().info("lone \ud800", value=object())
    assert len(lines) == 2


def test_lines_below_the_least_level_are_dropped(lines: Lines) -> None:
    log = Log(lines.append, least="warning")
    log.debug("no")
    log.info("no")
    log.warning("yes")
    assert len(lines) == 1


@pytest.mark.usefixtures("quiet_logging")
def test_libraries_that_speak_through_logging_are_heard_here(lines: Lines) -> None:
    log = lines.log()
    log.hide(lambda: (KEY,))
    log.take_over("warning")
    logging.getLogger("far.client").info("not of interest")
    try:
        raise ValueError(KEY)
    except ValueError:
        logging.getLogger("far.client").exception("call %s failed", "x")
    logging.getLogger("far.client").warning("slow")
    assert len(lines) == 2
    assert "error call x failed logger=far.client traceback=" in lines[0]
    assert KEY not in lines[0]
    assert lines[1].endswith("warning slow logger=far.client")
