"""The OpenAPI 3.1 document of the REST interface, from the table of paths and the schemas of bodies.

It alone knows how the interface is described to programs; which paths there are is rest_answers.py's table.
"""

import re
from typing import Final

from provisioner.edge.rest_answers import READS, Read
from provisioner.edge.rest_calls import CALL, CALLABLE, LINES_DEFAULT, LINES_MOST, LOGS
from provisioner.edge.rest_fault import Json
from provisioner.edge.rest_orders import BY_MOST, ORDERS, Order
from provisioner.edge.rest_page import PAGE_DEFAULT, PAGE_MOST
from provisioner.edge.rest_reply_schema import (
    CALLED_SCHEMA,
    ERROR_SCHEMA,
    LOGS_SCHEMA,
    ORDERED_SCHEMA,
    PUSH_REPLY_SCHEMA,
    REPLY_SCHEMAS,
)
from provisioner.edge.rest_schema import cluster_schema, demand_schema, supply_schema

PUSHES: Final = {
    "/v1/demand/{source}": ("Say what one source lacks", "Demand", demand_schema),
    "/v1/supply/{source}": ("Say what one source has", "Supply", supply_schema),
    "/v1/cluster/{source}": ("Say both in one commit", "Cluster", cluster_schema),
}
_REFUSALS: Final = {
    "400": "Faults in the body or the parameters; all of them are listed",
    "401": "The token is missing or wrong (loopback only)",
    "404": "There is nothing of that name",
    "409": "The revision is older than what stands, or was used with other content; `current` is what stands",
    "413": "The body is too large",
    "415": "The body is not said to be JSON",
    "503": "The daemon is starting, or the facts can't be written now",
}


_UNCALLED: Final = "The provider can't be called now, does not offer the method, or is being called by hand already"


def openapi(version: str) -> Json:
    """The whole document."""
    paths: dict[str, Json] = {path: {"get": _read(path, read)} for path, read in READS.items()}
    for path, (summary, name, _) in PUSHES.items():
        paths[path]["put"] = _push(path, summary, name)
    for path, order in ORDERS.items():
        paths[path] = {"post": _order(path, order)}
    paths[LOGS] = {"get": _logs()}
    paths[CALL] = {"post": _call()}
    for path, (summary, schema) in _PLAIN.items():
        content = {"application/json": {"schema": schema}}
        responses = {"200": {"description": "The answer", "content": content}, **_refusals("401")}
        paths[path] = {"get": {"summary": summary, "operationId": _operation_id("get", path), "responses": responses}}
    schemas: Json = {name: schema() for _, name, schema in PUSHES.values()}
    schemas |= {"PushReply": PUSH_REPLY_SCHEMA, "Ordered": ORDERED_SCHEMA, "Error": ERROR_SCHEMA}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Resource provisioner", "version": version},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


_PLAIN: Final[dict[str, tuple[str, Json]]] = {
    "/v1/health": ("Whether the daemon can do its work", REPLY_SCHEMAS["/v1/health"]),
    "/v1/openapi.json": ("This document", {"type": "object"}),
}


def _operation_id(method: str, path: str) -> str:
    return f"{method}_" + "_".join(re.findall(r"[a-z]+", path.removeprefix("/v1/")))


def _read(path: str, read: Read) -> Json:
    content = {"application/json": {"schema": REPLY_SCHEMAS[path]}}
    return {
        "summary": read.summary,
        "operationId": _operation_id("get", path),
        "parameters": [*_in_path(path), *_in_query(read)],
        "responses": {
            "200": {"description": "The answer", "content": content},
            **_refusals("400", "401", *(("404",) if "{" in path else ()), "503"),
        },
    }


def _push(path: str, summary: str, name: str) -> Json:
    return {
        "summary": summary,
        "operationId": _operation_id("put", path),
        "parameters": _in_path(path),
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(name)}}},
        "responses": {
            "200": {"description": "Committed", "content": {"application/json": {"schema": _ref("PushReply")}}},
            **_refusals("400", "401", "409", "413", "415", "503"),
        },
    }


def _order(path: str, order: Order) -> Json:
    body: Json = {"type": "object", "additionalProperties": False, "properties": order.fields}
    return {
        "summary": order.summary,
        "operationId": _operation_id("post", path),
        "parameters": _in_path(path),
        "requestBody": {"required": False, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "Committed", "content": {"application/json": {"schema": _ref("Ordered")}}},
            **_refusals("400", "401", "404", "413", "415", "503"),
        },
    }


def _logs() -> Json:
    lines: Json = {"type": "integer", "minimum": 1, "maximum": LINES_MOST, "default": LINES_DEFAULT}
    content = {"application/json": {"schema": LOGS_SCHEMA}}
    return {
        "summary": "What a provider wrote to standard error last",
        "operationId": _operation_id("get", LOGS),
        "parameters": [*_in_path(LOGS), {"name": "lines", "in": "query", "schema": lines}],
        "responses": {
            "200": {"description": "The answer", "content": content},
            **_refusals("400", "401", "404", "503"),
        },
    }


def _call() -> Json:
    method: Json = {"enum": list(CALLABLE)}
    by: Json = {"type": ["string", "null"], "minLength": 1, "maxLength": BY_MOST}
    params: Json = {"type": ["object", "null"], "description": "As the contract has them for the method."}
    fields: Json = {"method": method, "params": params, "by": by}
    body: Json = {"type": "object", "additionalProperties": False, "required": ["method"], "properties": fields}
    content = {"application/json": {"schema": CALLED_SCHEMA}}
    return {
        "summary": "Ask a provider something that changes nothing",
        "operationId": _operation_id("post", CALL),
        "parameters": _in_path(CALL),
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "What came of the call", "content": content},
            **_refusals("400", "401", "404", "413", "415", "503"),
            "409": {"description": _UNCALLED, "content": {"application/json": {"schema": _ref("Error")}}},
        },
    }


def _refusals(*statuses: str) -> Json:
    content = {"application/json": {"schema": _ref("Error")}}
    return {status: {"description": _REFUSALS[status], "content": content} for status in statuses}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _in_path(path: str) -> list[Json]:
    text: Json = {"type": "string"}
    return [{"name": n, "in": "path", "required": True, "schema": text} for n in re.findall(r"\{([a-z]+)\}", path)]


def _in_query(read: Read) -> list[Json]:
    if read.filters is None:
        return []
    limit: Json = {"type": "integer", "minimum": 1, "maximum": PAGE_MOST, "default": PAGE_DEFAULT}
    found: list[Json] = [
        {"name": "limit", "in": "query", "schema": limit},
        {"name": "after", "in": "query", "schema": {"type": "string"}, "description": "From a former page's `next`."},
    ]
    for each in read.filters:
        schema: Json = {"type": "string"} | ({"enum": list(each.words)} if each.words else {})
        found.append({"name": each.name, "in": "query", "schema": schema})
    return found
