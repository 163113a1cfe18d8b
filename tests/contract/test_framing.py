"""Frames: FR-1 to FR-4."""

import json
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.contract import Frame, FrameReader, FrameTooLong, Junk, Oversize, frame, read_line

LIMIT = 1000


def _read(data: bytes, limit_bytes: int = LIMIT) -> list[Frame | Junk | Oversize]:
    return FrameReader(limit_bytes).feed(data)


def _nested(depth: int) -> bytes:
    """Return an object nested `depth` deep, of lists and objects in turns."""
    value: object = 1
    for level in range(depth - 1):
        value = [value] if level % 2 else {"a": value}
    return orjson.dumps({"a": value})


def test_fr_1_a_carriage_return_before_the_line_feed_and_empty_lines_are_ignored() -> None:
    assert _read(b'{"a":1}\r\n\n\r\n{"b":2}\n') == [Frame({"a": 1}), Frame({"b": 2})]


def test_fr_1_only_a_line_feed_cuts_whatever_other_line_ends_a_text_holds() -> None:
    text = "a\u2028b\u0085c\x0bd\x0ce\x1c\x00\rf"
    assert _read(frame({"text": text})) == [Frame({"text": text})]


def test_fr_1_a_byte_order_mark_is_junk_even_before_a_good_object() -> None:
    assert _read(b'\xef\xbb\xbf{"a":1}\n') == [Junk('\ufeff{"a":1}', "begins with a byte order mark")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'[{"a":1}]', "a batch"),
        (b"1", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"a":NaN}', "not JSON"),
        (b'{"a":-Infinity}', "not JSON"),
        (b'{"a":1e999}', "not JSON"),
        (b'{"a":1,}', "not JSON"),
        (b"{'a':1}", "not JSON"),
        (b'{"a":1}{"b":2}', "not JSON"),
        (b'{"a":"\xff"}', "not UTF-8"),
        (b'{"a":"\\ud800"}', "not JSON"),
        (b'{"a":1,"a":1}', "a key is repeated"),
        (b'{"x":{"a":1,"b":2,"a":3}}', "a key is repeated"),
        (b'{"x":[{"a":1},{"b":2,"b":2}]}', "a key is repeated"),
        (b'{"a" : 1, "a" : 2}', "a key is repeated"),
        (b'{"a":1, "\\u0061":2}', "a key is repeated"),
        (b'{"a": ":", "a": ":"}', "a key is repeated"),
        (b" ", "not JSON"),
    ],
)
def test_fr_2_what_is_no_single_strict_object_is_junk_with_its_reason(line: bytes, reason: str) -> None:
    found = _read(line + b"\n")
    assert len(found) == 1
    assert isinstance(found[0], Junk)
    assert reason in found[0].reason


@pytest.mark.parametrize(
    "line", [b'{"a" : {"a":1}, "b":[{"a":1},{"a":2}]}', b'{"a":"\\":","b":":"}', b' {"a": 1} ', b'{"a":1.0,"b":1e2}']
)
def test_fr_2_equal_keys_of_different_objects_and_odd_spelling_are_no_repetition(line: bytes) -> None:
    assert _read(line + b"\n") == [Frame(json.loads(line))]


def test_fr_2_nesting_of_32_is_read_and_of_33_is_junk() -> None:
    assert isinstance(read_line(_nested(32)), Frame)
    for depth in (33, 200, 300, 900, 5000):
        junk = read_line(b'{"a":' * depth + b"1" + b"}" * depth)
        assert isinstance(junk, Junk)
    assert read_line(_nested(33)) == Junk(_nested(33).decode()[:200], "nested deeper than 32")


def test_fr_2_brackets_inside_texts_are_not_nesting() -> None:
    text = '{["' * 500
    assert read_line(orjson.dumps({"a": text})) == Frame({"a": text})


def test_fr_3_a_line_at_the_limit_is_read_and_one_byte_more_is_oversize() -> None:
    line = orjson.dumps({"a": "x" * 92})
    assert len(line) == 100
    assert _read(line + b"\n", 100) == [Frame({"a": "x" * 92})]
    assert _read(line + b"\n", 99) == [Oversize(100)]


def test_fr_3_an_oversize_line_is_told_once_and_early_and_the_next_line_counts() -> None:
    reader = FrameReader(10)
    assert reader.feed(b"x" * 11) == [Oversize(11)]
    assert reader.feed(b"x" * 1000) == []
    assert reader.feed(b'x\n{"a":1}\n') == [Frame({"a": 1})]


def test_fr_3_a_frame_over_the_limit_is_not_written() -> None:
    assert len(frame({"a": "x"}, 10)) == 10
    with pytest.raises(FrameTooLong) as refused:
        frame({"a": "xx"}, 10)
    assert (refused.value.size, refused.value.limit_bytes) == (11, 10)


def test_fr_4_a_good_frame_after_junk_counts_and_junk_is_quoted_up_to_200_characters() -> None:
    junk, good = _read(b"Traceback: " + "é".encode() * 300 + b'\n{"a":1}\n')
    assert isinstance(junk, Junk)
    assert junk.excerpt == "Traceback: " + "é" * 189
    assert good == Frame({"a": 1})


def test_a_stream_that_ends_inside_a_line_leaves_junk_and_one_that_ends_after_a_line_leaves_nothing() -> None:
    reader = FrameReader(LIMIT)
    reader.feed(b'{"a":1}\n{"b":')
    assert [junk.excerpt for junk in reader.end()] == ['{"b":']
    assert reader.end() == []


@given(
    st.lists(st.sampled_from([b'{"a":1}', b"junk", b"", b'{"b":[1,2]}\r', b"x" * 30, b'{"a":1,"a":2}'])),
    st.lists(st.integers(1, 20)),
)
def test_the_frames_do_not_depend_on_how_the_bytes_were_cut(lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    reader = FrameReader(20)
    found: list[Frame | Junk | Oversize] = []
    rest = data
    for cut in cuts:
        found += reader.feed(rest[:cut])
        rest = rest[cut:]
    found += reader.feed(rest)
    kinds = [type(each) for each in found]
    assert kinds == [type(each) for each in _read(data, 20)]
    assert [each for each in found if isinstance(each, Frame)] == [
        each for each in _read(data, 20) if isinstance(each, Frame)
    ]


class _Pairs(list[tuple[str, object]]):
    """An object whose keys may repeat."""


_KEYS = st.sampled_from(["a", "b", ":", '"', '":', " :", "{", "\\", "é"])
_TREES = st.recursive(
    st.integers(-5, 5) | st.booleans() | st.none() | _KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(_KEYS, inner), max_size=4).map(_Pairs),
    max_leaves=8,
)


def _write(value: object, spaced: bool) -> str:
    colon, comma = (" : ", " , ") if spaced else (":", ",")
    if isinstance(value, _Pairs):
        return "{" + comma.join(json.dumps(key) + colon + _write(part, spaced) for key, part in value) + "}"
    if isinstance(value, list):
        return "[" + comma.join(_write(part, spaced) for part in value) + "]"
    return json.dumps(value)


def _repeats(value: object) -> bool:
    if isinstance(value, _Pairs):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(_repeats(part) for _, part in value)
    return isinstance(value, list) and any(map(_repeats, value))


@given(st.lists(st.tuples(_KEYS, _TREES), max_size=4).map(_Pairs), st.booleans())
def test_fr_2_a_repeated_key_is_found_wherever_it_stands_and_however_it_is_written(tree: _Pairs, spaced: bool) -> None:
    line = _write(tree, spaced).encode()
    assert isinstance(read_line(line), Junk) == _repeats(tree)


@given(st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53) | st.booleans()))
def test_what_is_written_is_read_back(obj: dict[str, object]) -> None:
    assert _read(frame(obj), 10**6) == [Frame(obj)]


def test_a_long_line_in_small_pieces_takes_time_linear_in_its_length() -> None:
    def seconds(mebibytes: int) -> float:
        reader = FrameReader(200 << 20)
        piece = b"x" * 65536
        began = time.process_time()
        reader.feed(b'{"a":"')
        for _ in range(mebibytes * 16):
            reader.feed(piece)
        assert isinstance(reader.feed(b'"}\n')[0], Frame)
        return time.process_time() - began

    small = min(seconds(4) for _ in range(3))
    # 8 times the bytes: linear time is about 8 times as long, quadratic 64 times.
    assert seconds(32) < 32 * small
