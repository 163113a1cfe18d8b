"""A black box read as a conversation: answers find their calls, and come to words that can be compared."""

import json

import pytest

from provisioner.edge.black_box import Direction, Record
from provisioner.edge.recorded import Call, Entry, Message, Other, came_to, conversation, in_figures, last_process

TOLD, HEARD, NOTE = Direction.TOLD, Direction.HEARD, Direction.NOTE


def record(direction: Direction, message: object, *, at: float = 0.0, number: int = 1, **changes: bool) -> Record:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return Record(1.9e9 + at, at, number, direction, len(body), body, **changes)


def call(id: int, method: str, params: object = None, **how: float) -> Record:
    return record(TOLD, {"method": method, "params": params or {}, "id": id}, at=how.get("at", 0.0))


def answered(method: str, answer: dict[str, object], params: object = None) -> Call:
    (entry,) = conversation([call(1, method, params), record(HEARD, {"id": 1, **answer})])
    assert isinstance(entry, Call)
    return entry


def test_answers_stand_with_their_calls_in_any_order_and_with_the_time_they_took() -> None:
    entries = conversation(
        [
            call(1, "list"), call(2, "ping", at=1.0), record(HEARD, {"id": 2, "result": {"health": "ok"}}, at=1.5),
            record(HEARD, {"id": 1, "result": {}}, at=4.0),
        ]
    )  # fmt: skip
    assert [(e.id, e.method, e.took_s) for e in entries if isinstance(e, Call)] == [(1, "list", 4.0), (2, "ping", 0.5)]


def test_a_call_that_was_in_flight_has_no_answer_even_if_the_next_process_uses_its_id() -> None:
    entries = conversation(
        [call(7, "request"), record(TOLD, {"method": "list", "params": {}, "id": 7}, number=2),
         record(HEARD, {"id": 7, "result": {}}, number=2)]
    )  # fmt: skip
    first, second = entries
    assert isinstance(first, Call)
    assert isinstance(second, Call)
    assert (first.answer, came_to(first, None)) == (None, "no answer")
    assert second.answer is not None


def test_what_is_no_part_of_the_conversation_is_told_apart() -> None:
    entries = conversation(
        [
            call(1, "list"),
            record(HEARD, {"id": 1, "result": {}}),
            record(HEARD, {"id": 1, "result": {}}),
            record(HEARD, b"banner"),
            record(HEARD, b'{"id":2,"res', is_torn=True),
            record(HEARD, {"method": "changed", "params": {"what": ["health"]}}),
            record(TOLD, {"method": "cancel_call", "params": {"id": 1}}),
            record(TOLD, {"id": 5, "error": {"code": -32601}}),
            record(NOTE, b"process 3 ended"),
        ]
    )
    words = [told(entry) for entry in entries]
    assert words.pop(2).startswith("junk: not JSON")
    assert words == [
        "list",
        "an answer to 1, which is no open call",
        "junk: the stream ended inside a line",
        "changed",
        "cancel_call",
        "a refusal of what the provider asked",
        "note",
    ]


def told(entry: Entry) -> str:
    return entry.what if isinstance(entry, Other) else entry.method


@pytest.mark.parametrize(
    ("method", "answer", "word"),
    [
        ("request", {"result": {"outcome": "made", "instances": [{}]}}, "result made"),
        ("request", {"error": {"code": 1001, "message": "no_capacity"}}, "error no_capacity"),
        ("request", {"error": {"code": 1, "data": {"error_class": "quota"}}}, "error quota"),
        ("request_status", {"result": {"requests": [{"outcome": "made"}, {"outcome": "pending"}, {"outcome": "made"}]}},
         "result 2×made pending"),
        ("return", {"result": {"items": [{"state": "accepted"}]}}, "result accepted"),
        ("return_status", {"result": {"returns": [{"items": [{"state": "returned"}]}, {}]}}, "result returned"),
        ("initialize", {"result": {"version": "2.0"}}, "result 2.0"),
        ("ping", {"result": {"health": "down"}}, "result down"),
        ("list", {"result": {"instances": [], "complete": True}}, "result"),
        ("list", {"result": {"instances": [], "complete": False}}, "result incomplete"),
        ("list", {"result": {"instances": [], "complete": False, "next": "c2"}}, "result"),
        ("list", {"result": 3}, "no valid answer"),
        ("x-own", {"result": {}}, "result"),
    ],
)  # fmt: skip
def test_an_answer_comes_to_words_of_the_contract(method: str, answer: dict[str, object], word: str) -> None:
    found = answered(method, answer)
    assert came_to(found, found.answer) == word


def test_a_list_of_named_instances_is_never_called_incomplete() -> None:
    found = answered("list", {"result": {"instances": [{}], "complete": False}}, {"instances": ["i-1"]})
    assert (came_to(found, found.answer), in_figures(found)) == ("result", "1 instance")


def test_frames_that_are_not_kept_whole_still_find_each_other() -> None:
    told_cut = record(TOLD, b'{"jsonrpc":"2.0","method":"request_status","params":{"reque,"id":12}', is_cut=True)
    heard_cut = record(HEARD, b'{"jsonrpc":"2.0","id":12,"result":{"requests":[{', is_cut=True)
    (entry,) = conversation([told_cut, heard_cut])
    assert isinstance(entry, Call)
    assert (entry.id, entry.method, entry.params) == (12, "request_status", None)
    assert came_to(entry, entry.answer) == "result (too long to be kept whole)"


def test_the_last_process_that_was_opened_is_the_one_to_play() -> None:
    assert last_process(conversation([])) is None
    entries = conversation([record(TOLD, {"method": "initialize", "params": {}, "id": 1}, number=n) for n in (4, 5)])
    assert last_process([*entries, *conversation([record(NOTE, b"started", number=6)])]) == 5
    assert isinstance(conversation([record(HEARD, {"method": "log", "params": {}})])[0], Message)
