"""The REST application: paths to answers and pushes, over what the engine gives; every error in the one shape.

It alone knows how HTTP and the daemon meet. It reads no file, keeps nothing between two requests, and must not know how
it is listened for.
"""

import hmac
import traceback
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final, Protocol

from litestar import Litestar, Response, get, put
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, Receive, Scope, Send

from provisioner.core.events import Moment, SourceEvent
from provisioner.core.evolve import Reply
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest import BODY_BYTES_MOST, read_cluster, read_demand, read_supply
from provisioner.edge.rest_answers import READS, Answer, Question, Read, answer_to
from provisioner.edge.rest_fault import Faulty, error_body
from provisioner.edge.rest_health import health
from provisioner.edge.rest_openapi import openapi
from provisioner.edge.rest_sources import accepted_json, refused_json
from provisioner.runtime.beside import Beside, at_once
from provisioner.runtime.engine import Push
from provisioner.runtime.rest_calls import Reached, call_routes
from provisioner.runtime.rest_exchange import (
    STARTING,
    Asked,
    body_of,
    committed,
    encoded,
    faulty,
    litestar_path,
    response,
)
from provisioner.runtime.rest_orders import order_routes
from provisioner.runtime.supervision import Log


class Daemon(Protocol):
    """What the REST interface needs of the engine."""

    settings: Settings

    def world(self) -> World | None:
        """The committed world; None while starting."""
        ...

    def writable(self) -> str | None:
        """None while facts can be written, else a sentence why not."""
        ...

    def moment(self) -> Moment:
        """Now."""
        ...

    async def push(self, event: Push) -> tuple[Reply, ...]:
        """Takes in a snapshot or an order and returns after its commit; FactsUnwritable if it can't be committed."""
        ...


def rest_app(
    daemon: Daemon,
    reached: Reached,
    version: str,
    log: Log,
    token: str | None = None,
    *,
    beside: Beside = at_once,
) -> ASGIApp:
    """The application of one door; with a token, nothing at all is answered to who does not show it."""
    routes = [_read_route(daemon, path, read, beside) for path, read in READS.items()]
    routes += [_push_route(daemon, path, reader, beside) for path, reader in _READERS.items()]
    routes += order_routes(daemon, log, guarded=token is not None)
    routes += call_routes(daemon, reached, log, guarded=token is not None)
    routes += [_health_route(daemon, version), _openapi_route(version)]
    app = Litestar(
        routes,
        logging_config=None,
        openapi_config=None,
        request_max_body_size=BODY_BYTES_MOST,
        exception_handlers={HTTPException: _http_refusal, Exception: _Fault(log)},
    )
    return app if token is None else _guarded(app, token)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read_route(daemon: Daemon, path: str, read: Read, beside: Beside) -> HTTPRouteHandler:
    async def answer(request: Asked) -> Response[bytes]:
        world = daemon.world()
        if world is None:
            return response(STARTING)
        name = str(request.path_params.get("name", ""))
        query = tuple(request.query_params.multi_items())
        question = Question(world, daemon.moment(), daemon.settings, request.url.path, name, query)
        # Long answers are made beside the loop: health is answered meanwhile.
        return await beside(_known(world), lambda: response(answer_to(read, question)))

    return get(litestar_path(path))(answer)


def _known(world: World) -> int:
    """How much an answer may have to look through."""
    described = sum(len(description.templates) for description in world.descriptions.values())
    return described + len(world.instances) + len(world.requests) + len(world.decisions)


def _health_route(daemon: Daemon, version: str) -> HTTPRouteHandler:
    def answer(request: Asked) -> Response[bytes]:
        found = health(daemon.world(), daemon.writable(), daemon.moment(), daemon.settings, version)
        return response(Answer(200, found))

    return _get("/v1/health", answer)


def _openapi_route(version: str) -> HTTPRouteHandler:
    document = response(Answer(200, openapi(version))).content

    def answer(request: Asked) -> Response[bytes]:
        return Response(document, media_type="application/json")

    return _get("/v1/openapi.json", answer)


def _get(path: str, answer: Callable[[Asked], Response[bytes]]) -> HTTPRouteHandler:
    return get(litestar_path(path), sync_to_thread=False)(answer)


# --- pushes -----------------------------------------------------------------------------------------------------------

Reader = Callable[[str, object, Settings], SourceEvent | Faulty]

_READERS: Final[Mapping[str, Reader]] = {
    "/v1/demand/{source}": read_demand,
    "/v1/supply/{source}": read_supply,
    "/v1/cluster/{source}": read_cluster,
}


def _push_route(daemon: Daemon, path: str, reader: Reader, beside: Beside) -> HTTPRouteHandler:
    async def answer(request: Asked) -> Response[bytes]:
        source = str(request.path_params["name"])
        body = await body_of(request, beside=beside)
        if isinstance(body, Answer):
            return response(body)
        if daemon.world() is None:
            return response(STARTING)
        event = await beside(body.pieces, partial(reader, source, body.value, daemon.settings))
        if isinstance(event, Faulty):
            return response(faulty(event))
        return response(await _pushed(daemon, source, event))

    return put(litestar_path(path), status_code=200)(answer)


async def _pushed(daemon: Daemon, source: str, event: Push) -> Answer:
    replies = await committed(daemon.writable(), partial(daemon.push, event))
    if isinstance(replies, Answer):
        return replies
    world = daemon.world()
    if world is None:
        return STARTING
    refusal = refused_json(replies)
    return Answer(409, refusal) if refusal is not None else Answer(200, accepted_json(world, source, replies))


# --- refusals ---------------------------------------------------------------------------------------------------------

_HTTP_REFUSALS: Final[Mapping[int, tuple[str, str, str]]] = {
    404: ("not_found", "there is nothing at this path", "GET /v1/openapi.json lists all paths"),
    405: ("method_not_allowed", "this path does not take this method", "the Allow header lists what it takes"),
    413: (
        "too_large",
        f"the body is over {BODY_BYTES_MOST // 2**20} MiB",
        "put lines of equal shape together and send less",
    ),
}


def _http_refusal(request: Asked, refusal: HTTPException) -> Response[bytes]:
    """What Litestar refuses by itself, in our shape; its own texts stay inside."""
    unknown = ("bad_request", "the request can't be understood", "GET /v1/openapi.json says what is taken")
    code, message, remedy = _HTTP_REFUSALS.get(refusal.status_code, unknown)
    answer = response(Answer(refusal.status_code, error_body(code, message, remedy)))
    for name, value in (refusal.headers or {}).items():
        answer.headers[name] = value
    return answer


class _Fault:
    """Answers a fault of our own without a word of the exception, which goes to the log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __call__(self, request: Asked, error: Exception) -> Response[bytes]:
        """The answer 500."""
        text = "".join(traceback.format_exception(error))
        path = request.url.path
        self._log.warning("rest_fault", path=path, method=request.method, fault=type(error).__name__, traceback=text)
        remedy = "report it with what the daemon's log says; a push may be sent again"
        return response(Answer(500, error_body("internal", "the daemon has a fault of its own here", remedy)))


# --- the token --------------------------------------------------------------------------------------------------------


def _guarded(app: ASGIApp, token: str) -> ASGIApp:
    """The application behind a token: who does not show it learns nothing, not even which paths there are."""
    wanted = token.encode()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if _shows(scope, wanted):
            await app(scope, receive, send)
        elif scope["type"] == ScopeType.WEBSOCKET:
            await _send(send, {"type": "websocket.close", "code": 1008})
        else:
            await _refuse(send)

    return guard


def _shows(scope: Scope, wanted: bytes) -> bool:
    stated = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, shown = stated[0].partition(b" ") if len(stated) == 1 else (b"", b"", b"")
    return hmac.compare_digest(shown.strip(), wanted) and scheme.lower() == b"bearer"


async def _refuse(send: Send) -> None:
    remedy = 'send "Authorization: Bearer TOKEN" with the token from the file that listen.http.token_file names'
    body = encoded(error_body("unauthorized", "the token is missing or wrong", remedy))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"www-authenticate", b"Bearer"),
        (b"connection", b"close"),
    ]
    start: dict[str, object] = {"type": "http.response.start", "status": 401, "headers": headers}
    await _send(send, start)
    await _send(send, {"type": "http.response.body", "body": body, "more_body": False})


def _send(send: Send, message: dict[str, object]) -> Awaitable[None]:
    return send(message)  # type: ignore[arg-type]
