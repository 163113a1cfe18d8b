"""The envelope: FR-2, FR-5, and that no error is ever lost."""

import pytest

from provider_sdk.contract import (
    Answer,
    ErrorAnswer,
    Malformed,
    Message,
    Notification,
    Request,
    answer_object,
    classify,
    error_object,
    notification_object,
    request_object,
)

V = {"jsonrpc": "2.0"}


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (request_object(1, "ping", {}), Request(1, "ping", {})),
        ({**V, "id": 1, "method": "ping"}, Request(1, "ping", {})),
        ({**V, "id": 1, "method": "ping", "params": None, "x": 1}, Request(1, "ping", {})),
        (notification_object("exit", {}), Notification("exit", {})),
        ({**V, "id": None, "method": "exit"}, Notification("exit", {})),
        (answer_object(7, {"a": 1}), Answer(7, {"a": 1})),
        ({**V, "id": 7, "result": {}}, Answer(7, {})),
        ({**V, "id": 7, "result": {}, "error": None}, Answer(7, {})),
        (error_object(7, {"code": 1008}), ErrorAnswer(7, {"code": 1008})),
    ],
)
def test_a_message_is_told_by_its_members(obj: dict[str, object], message: Message) -> None:
    assert classify(obj) == message


@pytest.mark.parametrize("beside", [{"result": None}, {"result": {}}, {"result": {"outcome": "made"}}])
def test_an_error_is_never_lost_whatever_result_stands_beside_it(beside: dict[str, object]) -> None:
    assert classify({**V, "id": 7, "error": {"code": 1001}, **beside}) == ErrorAnswer(7, {"code": 1001})


def test_an_empty_error_is_an_error() -> None:
    assert classify({**V, "id": 7, "error": {}, "result": {}}) == ErrorAnswer(7, {})


@pytest.mark.parametrize("call_id", [0, -1, 1.0, True, "1", 2**53, [], {}])
def test_fr_5_an_id_that_is_no_integer_from_1_up_is_malformed_and_owed_nothing(call_id: object) -> None:
    members: list[dict[str, object]] = [{"method": "ping"}, {"result": {}}, {"error": {}}]
    for obj in members:
        message = classify({**V, "id": call_id, **obj})
        assert isinstance(message, Malformed)
        assert message.id is None
        assert not message.answer_due


@pytest.mark.parametrize(
    "obj",
    [
        {**V, "id": 3, "method": 1},
        {**V, "id": 3, "method": ""},
        {**V, "id": 3, "method": None, "result": {}},
        {**V, "id": 3, "method": "ping", "params": []},
        {"jsonrpc": "1.0", "id": 3, "method": "ping"},
        {"id": 3, "method": "ping"},
    ],
)
def test_a_broken_call_with_a_usable_id_is_owed_an_answer_under_it(obj: dict[str, object]) -> None:
    message = classify(obj)
    assert isinstance(message, Malformed)
    assert (message.id, message.answer_due) == (3, True)


@pytest.mark.parametrize(
    "obj",
    [
        {**V, "id": 3},
        {**V, "id": 3, "result": None},
        {**V, "id": 3, "result": []},
        {**V, "id": 3, "result": "ok"},
        {**V, "id": 3, "error": "no"},
        {"id": 3, "result": {}},
    ],
)
def test_fr_5_a_broken_answer_names_its_call_and_is_never_answered(obj: dict[str, object]) -> None:
    message = classify(obj)
    assert isinstance(message, Malformed)
    assert (message.id, message.answer_due) == (3, False)


def test_fr_5_an_error_with_a_null_id_is_never_answered() -> None:
    message = classify({**V, "id": None, "error": {"code": -32700}})
    assert isinstance(message, Malformed)
    assert not message.answer_due
