import inspect
from typing import Any

import trio
from jsonrpcserver import async_dispatcher, dispatcher, response, result
from jsonrpcserver.request import Request

from provider_sdk.contract import ErrorClass
from provider_sdk.dispatch import Dispatcher, Params
from provider_sdk.errors import ContractError


def spoken(bug: Exception) -> ContractError:
    return ContractError(ErrorClass.INTERNAL, type(bug).__name__)


async def echo(call_id: int, params: Params) -> dict[str, Any]:
    return {"call": call_id, "params": dict(params)}


async def unknown(call_id: int, params: Params) -> dict[str, Any]:
    raise ContractError(ErrorClass.UNKNOWN_METHOD)


async def fails(call_id: int, params: Params) -> dict[str, Any]:
    raise KeyError("hunter2")


def dispatch() -> Dispatcher:
    methods = {"echo": echo, "fails": fails}
    return Dispatcher(methods, unknown=unknown, on_bug=lambda call_id, bug: spoken(bug))


def test_the_names_taken_from_jsonrpcserver_are_as_they_were_tried() -> None:
    """Those names are internal to the library: this pins them, and what they take."""
    assert list(inspect.signature(async_dispatcher.dispatch_request).parameters) == ["methods", "context", "request"]
    assert inspect.iscoroutinefunction(async_dispatcher.dispatch_request)
    assert list(inspect.signature(dispatcher.create_request).parameters) == ["request"]
    assert list(inspect.signature(dispatcher.to_response).parameters) == ["request", "result"]
    assert list(inspect.signature(response.to_serializable_one).parameters) == ["response"]
    assert dispatcher.create_request({"method": "m", "params": {"a": 1}, "id": 5}) == Request("m", {"a": 1}, 5)
    assert result.Success({"a": 1})._value.result == {"a": 1}
    assert result.Error(5, "m", {"a": 1})._error._asdict() == {"code": 5, "message": "m", "data": {"a": 1}}


async def test_a_result_goes_out_under_the_id_it_was_asked_under() -> None:
    answer = await dispatch().answer(12, "echo", {"self": 1, "call_id": 2, "method": 3, "context": 4, "id": 5})
    assert answer == {
        "jsonrpc": "2.0",
        "id": 12,
        "result": {"call": 12, "params": {"self": 1, "call_id": 2, "method": 3, "context": 4, "id": 5}},
    }


async def test_an_unknown_name_and_an_inherited_one_are_refused_in_the_words_of_the_contract() -> None:
    for name in ("nothing", "__class__", "update", "__missing__"):
        answer = await dispatch().answer(1, name, {})
        assert answer["error"] == {
            "code": -32601,
            "message": "unknown_method",
            "data": {"error_class": "unknown_method"},
        }


async def test_no_text_of_a_stray_exception_reaches_the_wire() -> None:
    answer = await dispatch().answer(1, "fails", {})
    assert answer["error"] == {
        "code": -32603,
        "message": "internal",
        "data": {"error_class": "internal", "detail": "KeyError"},
    }


async def test_cancellation_passes_through() -> None:
    async def endless(call_id: int, params: Params) -> dict[str, Any]:
        await trio.sleep_forever()
        raise AssertionError

    slow = Dispatcher({"endless": endless}, unknown=unknown, on_bug=lambda call_id, bug: spoken(bug))
    with trio.CancelScope() as scope:
        scope.cancel()
        await slow.answer(1, "endless", {})
    assert scope.cancelled_caught
