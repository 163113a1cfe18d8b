"""The OpenRPC document of the contract, made from its methods, its schemas and its good examples.

Alone responsible for the form of that document. Reads and writes no file. What OpenRPC has no word for stands in
fields that begin with `x-`: who sends, what it needs, what it changes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from provider_sdk.contract import CODES, IMPLY_NOT_MADE, METHODS, NOTIFICATIONS, ErrorClass, Method, NotificationKind
from provider_sdk.spec.calls import MORE_BY_CAPABILITY, OF_ITEMS, PAIRS, errors_of
from provider_sdk.spec.sources import SUFFIX, Json, Sources

OPENRPC: Final = "1.3.2"
_COMPONENT: Final = "#/components/schemas/"
_OF_FILES_ONLY: Final = frozenset({"$schema", "$id", "$defs"})
# The envelope is JSON-RPC's own.
_LEFT_OUT: Final = frozenset({"frames"})

_ABOUT: Final = (
    "How the daemon and a provider speak: JSON-RPC 2.0, one object a line, over the provider's standard input and "
    "output. The daemon calls, the provider answers; both send notifications, which are hints and may be lost. A "
    "method without a result is a notification. The rules stand in docs/reference/contract-v2.md."
)


def document(sources: Sources) -> Json:
    """Return the document as JSON."""
    calls = [_call(method, sources) for method in METHODS.values()]
    hints = [_notification(kind, sources) for kind in NOTIFICATIONS.values()]
    return {
        "openrpc": OPENRPC,
        "info": {"title": "Contract between daemon and provider", "version": sources.version, "description": _ABOUT},
        "methods": calls + hints,
        "components": {
            "schemas": dict(_components(sources)),
            "errors": {str(each): _error(each) for each in ErrorClass},
        },
        "x-transport": "stdio: one UTF-8 JSON object and one line feed a message",
        "x-errors-implying-not-made": [str(each) for each in ErrorClass if each in IMPLY_NOT_MADE],
        "x-errors-of-items": [str(each) for each in OF_ITEMS],
    }


def _call(method: Method, sources: Sources) -> Json:
    params, result = sources.schemas[f"{method.name}.params"], sources.schemas[f"{method.name}.result"]
    found: Json = {
        "name": method.name,
        "summary": params["description"],
        "paramStructure": "by-name",
        "params": list(_params(params)),
        "result": {
            "name": f"{method.name} result",
            "description": result["description"],
            "required": True,
            "schema": {"$ref": f"{_COMPONENT}{method.name}.result"},
        },
        "errors": [{"$ref": f"#/components/errors/{each}"} for each in errors_of(method.name)],
        "examples": [_pairing(method.name, pair, sources) for pair in PAIRS[method.name]],
        "x-kind": "call",
        "x-from": "daemon",
        "x-required": method.required,
        "x-may-change-the-far-side": method.changing,
        "x-params": {"$ref": f"{_COMPONENT}{method.name}.params"},
    }
    if method.capability is not None:
        found["x-capability"] = str(method.capability)
    if method.name in MORE_BY_CAPABILITY:
        found["x-more-by-capability"] = str(MORE_BY_CAPABILITY[method.name])
    return found


def _notification(kind: NotificationKind, sources: Sources) -> Json:
    params = sources.schemas[f"{kind.name}.notification"]
    return {
        "name": kind.name,
        "summary": params["description"],
        "paramStructure": "by-name",
        "params": list(_params(params)),
        "examples": [_pairing(kind.name, pair, sources) for pair in PAIRS[kind.name]],
        "x-kind": "notification",
        "x-from": kind.sender,
        "x-params": {"$ref": f"{_COMPONENT}{kind.name}.notification"},
    }


def _params(schema: Json) -> Iterator[Json]:
    """Give the descriptor of each param, those that are required first, as OpenRPC asks."""
    required = schema.get("required", [])
    for name in sorted(schema.get("properties", {}), key=lambda name: name not in required):
        part = schema["properties"][name]
        yield {
            "name": name,
            "description": part["description"],
            "required": name in required,
            "schema": _pointing_inside(part, "common"),
        }


def _pairing(name: str, pair: tuple[str, str | None], sources: Sources) -> Json:
    sent, answered = pair
    kind = "notification" if answered is None else "params"
    params: Mapping[str, Any] = sources.good[f"{name}.{kind}--{sent}"]
    found: Json = {
        "name": sent if answered in (None, sent) else f"{sent}, {answered}",
        "params": [{"name": field, "value": value} for field, value in params.items()],
    }
    if answered is None:
        return found
    return {**found, "result": {"name": answered, "value": sources.good[f"{name}.result--{answered}"]}}


def _error(error_class: ErrorClass) -> Json:
    return {"code": CODES[error_class], "message": str(error_class), "data": {"error_class": str(error_class)}}


def _components(sources: Sources) -> Iterator[tuple[str, Json]]:
    for name, schema in sources.schemas["common"]["$defs"].items():
        yield name, _pointing_inside(schema, "common")
    for name, schema in sources.schemas.items():
        if name not in _LEFT_OUT and name != "common":
            yield name, _pointing_inside(schema, name)


def _pointing_inside(schema: Any, within: str) -> Any:
    """Return a schema of the file `within` with references to components instead of files."""
    if isinstance(schema, list):
        return [_pointing_inside(part, within) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _component_of(value, within) if key == "$ref" else _pointing_inside(value, within)
        for key, value in schema.items()
        if key not in _OF_FILES_ONLY
    }


def _component_of(reference: str, within: str) -> str:
    file, _, name = reference.partition("#/$defs/")
    return _COMPONENT + (name or file.removesuffix(SUFFIX) or within)
