"""The JSON-RPC envelope (FR-2, FR-5): what an object that came in is, before anything is done with it.

Alone responsible for telling requests, notifications and answers apart. Knows no method and no params.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

from provider_sdk.contract.forms import INT_MAX

_JSON_RPC: Final = "2.0"


@frozen
class Request:
    """A call that is owed an answer under `id`."""

    id: int
    method: str
    params: dict[str, object]


@frozen
class Notification:
    """A message that is never answered."""

    method: str
    params: dict[str, object]


@frozen
class Answer:
    """The result of the call `id`."""

    id: int
    result: dict[str, object]


@frozen
class ErrorAnswer:
    """The error of the call `id`; read it with `errors.read_error`."""

    id: int
    error: dict[str, object]


@frozen
class Malformed:
    """No message. `id` is the call it belongs to, as far as readable; `answer_due` if a −32600 under it is owed.

    With an `id` and no answer due it is a broken answer to that call: its outcome is not known.
    """

    reason: str
    id: int | None = None
    answer_due: bool = False


Message = Request | Notification | Answer | ErrorAnswer | Malformed


def classify(obj: Mapping[str, object]) -> Message:
    """Return what `obj` is; an error is never lost, whatever stands beside it."""
    if "method" in obj:
        return _classify_call(obj)
    call_id = _call_id(obj.get("id"))
    if obj.get("jsonrpc") != _JSON_RPC:
        return Malformed('"jsonrpc" is not "2.0"', call_id)
    error, result = obj.get("error"), obj.get("result")
    if error is None and result is None:
        return Malformed("neither method, result nor error", call_id)
    if call_id is None:
        return Malformed("an answer without a usable id")
    if error is not None:
        return ErrorAnswer(call_id, error) if isinstance(error, dict) else Malformed("error is no object", call_id)
    return Answer(call_id, result) if isinstance(result, dict) else Malformed("result is no object", call_id)


def _classify_call(obj: Mapping[str, object]) -> Request | Notification | Malformed:
    raw_id = obj.get("id")
    call_id = _call_id(raw_id)
    due = call_id is not None
    method = obj["method"]
    params = {} if obj.get("params") is None else obj["params"]
    if obj.get("jsonrpc") != _JSON_RPC:
        return Malformed('"jsonrpc" is not "2.0"', call_id, due)
    if not isinstance(method, str) or not method:
        return Malformed("method is no text", call_id, due)
    if not isinstance(params, dict):
        return Malformed("params is no object", call_id, due)
    if raw_id is None:
        return Notification(method, params)
    if call_id is None:
        return Malformed("id is no integer from 1 up")
    return Request(call_id, method, params)


def _call_id(raw: object) -> int | None:
    return raw if isinstance(raw, int) and not isinstance(raw, bool) and 1 <= raw <= INT_MAX else None


def request_object(call_id: int, method: str, params: Mapping[str, object]) -> dict[str, object]:
    """Return the object of a call."""
    return {"jsonrpc": _JSON_RPC, "id": call_id, "method": method, "params": params}


def notification_object(method: str, params: Mapping[str, object]) -> dict[str, object]:
    """Return the object of a notification."""
    return {"jsonrpc": _JSON_RPC, "method": method, "params": params}


def answer_object(call_id: int, result: Mapping[str, object]) -> dict[str, object]:
    """Return the object of a result."""
    return {"jsonrpc": _JSON_RPC, "id": call_id, "result": result}


def error_object(call_id: int, error: Mapping[str, object]) -> dict[str, object]:
    """Return the object of an error (made by `errors.write_error`)."""
    return {"jsonrpc": _JSON_RPC, "id": call_id, "error": error}
