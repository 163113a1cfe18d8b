"""The paths by which an operator orders something of one provider; each order is committed, answered and logged.

It alone knows who is at the door. What orders there are is edge/rest_orders.py's, what they come to is the core's.
"""

from collections.abc import Awaitable
from functools import partial
from typing import Protocol

from litestar import Response, post
from litestar.handlers import HTTPRouteHandler

from provisioner.core.events import Moment
from provisioner.core.evolve import Reply
from provisioner.core.orders import OperatorEvent
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_answers import Answer
from provisioner.edge.rest_fault import Faulty, Json
from provisioner.edge.rest_orders import ORDERS, Given, Order, no_such_provider, ordered_json
from provisioner.runtime.rest_exchange import (
    STARTING,
    Asked,
    body_of,
    committed,
    faulty,
    litestar_path,
    response,
    unasked,
)
from provisioner.runtime.supervision import Log

CALLER = "caller"
"""Under this name the door puts who is at its other end into what a connection carries."""


class Orders(Protocol):
    """What is needed of the engine to carry an order out."""

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

    def push(self, event: OperatorEvent) -> Awaitable[tuple[Reply, ...]]:
        """Takes in an order and returns after its commit; FactsUnwritable if it can't be committed."""
        ...


def order_routes(daemon: Orders, log: Log, *, guarded: bool) -> list[HTTPRouteHandler]:
    """The route of every order; `guarded` where only a token says who the caller is."""
    return [_route(daemon, log, path, order, guarded=guarded) for path, order in ORDERS.items()]


def caller_of(request: Asked, *, guarded: bool) -> str:
    """Who is at the door, as far as the door knows."""
    known = request.scope["state"].get(CALLER)
    return str(known) if known else ("the holder of the token" if guarded else "unknown")


def _route(daemon: Orders, log: Log, path: str, order: Order, *, guarded: bool) -> HTTPRouteHandler:
    verb = path.rpartition("/")[2]

    async def answer(request: Asked) -> Response[bytes]:
        provider = str(request.path_params["name"])
        body = unasked(request) or await body_of(request, unstated={})
        if isinstance(body, Answer):
            return response(body)
        if daemon.world() is None:
            return response(STARTING)
        if provider not in daemon.settings.providers:
            return response(Answer(404, no_such_provider(provider, daemon.settings)))
        event = order.read(Given(provider, body.value, caller_of(request, guarded=guarded), daemon.moment()))
        if isinstance(event, Faulty):
            return response(faulty(event))
        return response(await _carried_out(daemon, log, provider, verb, event))

    return post(litestar_path(path), status_code=200)(answer)


async def _carried_out(daemon: Orders, log: Log, provider: str, verb: str, event: OperatorEvent) -> Answer:
    replies = await committed(daemon.writable(), partial(daemon.push, event))
    if isinstance(replies, Answer):
        return replies
    world = daemon.world()
    if world is None:
        return STARTING
    found: Json = ordered_json(world, provider, verb, replies, daemon.moment())
    log.info("operator", verb=verb, provider=provider, by=event.by, why=event.why or None, did=found["did"])
    return Answer(200, found)
