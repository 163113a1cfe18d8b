"""The paths that reach a provider's own process: what it wrote to standard error, and one call by hand.

It alone joins REST and a provider's conversation. Which calls there are is edge/rest_calls.py's knowledge.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import trio
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler

from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_answers import Answer, refused_parameters
from provisioner.edge.rest_calls import (
    CALL,
    LOGS,
    HandCall,
    LastWords,
    answered_json,
    lacks_capability,
    logs_json,
    read_call,
    read_lines,
    refusal_json,
)
from provisioner.edge.rest_fault import Faulty, Json, error_body
from provisioner.edge.rest_orders import no_such_provider
from provisioner.edge.rest_providers import state_of
from provisioner.runtime.rest_exchange import STARTING, Asked, body_of, faulty, litestar_path, response, unasked
from provisioner.runtime.rest_orders import caller_of
from provisioner.runtime.supervision import Answered, Failed, Log, Lost, Outcome, Unwritten

ANSWER_S = 50.0
"""Within this a caller is answered: a connection on which nothing is said for longer is closed."""

_TOO_LATE = f"no answer within {ANSWER_S:.0f} s; when it comes it is dropped"


class Reached(Protocol):
    """What is needed of the links to the providers."""

    def last_words(self, provider: str) -> Sequence[LastWords]:
        """What the process that runs and the one before it wrote to standard error last, oldest process first."""
        ...

    async def ask(self, provider: str, method: str, params: Mapping[str, object]) -> tuple[int, Outcome] | None:
        """The number of the process and what became of one call of it; None if one by hand is open already."""
        ...


class Committed(Protocol):
    """What is needed of the engine."""

    settings: Settings

    def world(self) -> World | None:
        """The committed world; None while starting."""
        ...


def call_routes(daemon: Committed, reached: Reached, log: Log, *, guarded: bool) -> list[HTTPRouteHandler]:
    """The routes of both paths; `guarded` where only a token says who the caller is."""
    return [_logs_route(daemon, reached), _call_route(daemon, reached, log, guarded=guarded)]


def _logs_route(daemon: Committed, reached: Reached) -> HTTPRouteHandler:
    def answer(request: Asked) -> Response[bytes]:
        known = _known(daemon, str(request.path_params["name"]))
        if isinstance(known, Answer):
            return response(known)
        world, provider = known
        lines = read_lines(tuple(request.query_params.multi_items()))
        if not isinstance(lines, int):
            return response(refused_parameters(lines))
        return response(Answer(200, logs_json(world, provider, reached.last_words(provider), lines)))

    return get(litestar_path(LOGS), sync_to_thread=False)(answer)


def _call_route(daemon: Committed, reached: Reached, log: Log, *, guarded: bool) -> HTTPRouteHandler:
    async def answer(request: Asked) -> Response[bytes]:
        body = unasked(request) or await body_of(request)
        if isinstance(body, Answer):
            return response(body)
        known = _known(daemon, str(request.path_params["name"]))
        if isinstance(known, Answer):
            return response(known)
        world, provider = known
        call = read_call(body.value, caller_of(request, guarded=guarded))
        if isinstance(call, Faulty):
            return response(faulty(call))
        missing = lacks_capability(world, provider, call.method)
        if missing is not None:
            return response(Answer(409, missing))
        return response(await _called(world, reached, log, provider, call))

    return post(litestar_path(CALL), status_code=200)(answer)


def _known(daemon: Committed, provider: str) -> tuple[World, str] | Answer:
    world = daemon.world()
    if world is None:
        return STARTING
    if provider not in daemon.settings.providers:
        return Answer(404, no_such_provider(provider, daemon.settings))
    return world, provider


async def _called(world: World, reached: Reached, log: Log, provider: str, call: HandCall) -> Answer:
    """A call that is given up here goes on within the provider's own bound, and its answer is dropped."""
    begun = trio.current_time()
    found: tuple[int, Outcome] | None = (0, Lost(_TOO_LATE))
    with trio.move_on_after(ANSWER_S):
        found = await reached.ask(provider, call.method, call.params)
    if found is None:
        remedy = "wait for its answer: one call by hand at a time, so that the daemon's own are not held up"
        return Answer(409, error_body("call_open", f"a call by hand is open at {provider} already", remedy))
    process, outcome = found
    body = _outcome_json(outcome)
    took_s = trio.current_time() - begun
    log.info("operator", verb="call", provider=provider, method=call.method, by=call.by, outcome=body["outcome"])
    if isinstance(outcome, Unwritten):
        why = f"{provider} can't be called ({state_of(world, provider)}): {outcome.reason}"
        return Answer(409, error_body("not_ready", why, f"see `provisioner providers {provider}`"))
    return Answer(200, answered_json(provider, call, process, took_s, body))


def _outcome_json(outcome: Outcome) -> Json:
    match outcome:
        case Answered(result):
            return {"outcome": "answered", "result": dict(result)}
        case Failed(error):
            return refusal_json(error)
        case Lost(reason):
            return {"outcome": "lost", "why": reason}
        case Unwritten(reason):
            return {"outcome": "unsent", "why": reason}
