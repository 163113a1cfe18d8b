"""What all paths that take a body share: reading it, answering, and handing an event in until it is committed.

It alone knows how a body becomes JSON and how long a commit is waited for. It must not know which paths there are.
"""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import trio
from litestar import Request, Response

from provisioner.edge.rest_answers import Answer, refused_parameters
from provisioner.edge.rest_fault import Faulty, FieldFault, error_body, shown
from provisioner.runtime.beside import Beside, at_once
from provisioner.runtime.engine import FactsUnwritable

PUSH_S: Final = 20.0
"""How long a push waits for its commit; a caller who waits 30 s gets an answer that says what to do."""

PIECE_BYTES: Final = 100
"""About what a line or an entry takes."""

Asked = Request[Any, Any, Any]
T = TypeVar("T")
_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder()


class Parsed:
    """A body that is JSON, whatever it says; `pieces` is about how many lines or entries it holds."""

    def __init__(self, value: object, pieces: int = 0) -> None:
        self.value = value
        self.pieces = pieces


async def body_of(request: Asked, *, unstated: object = None, beside: Beside = at_once) -> Parsed | Answer:
    """The body as JSON, or the refusal; where `unstated` is given it stands for a body that is empty."""
    stated = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    content = await request.body()
    if not content and unstated is not None:
        return Parsed(unstated)
    if stated != "application/json":
        message = "the body must be JSON"
        return Answer(415, error_body("not_json", message, 'send it with "Content-Type: application/json"'))
    try:
        pieces = len(content) // PIECE_BYTES
        return Parsed(await beside(pieces, partial(_DECODER.decode, content)), pieces)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        where = str(error).rpartition("(byte ")[2].rstrip(")")
        place = f" at byte {where}" if where.isdigit() else ""
        message = f"the body is no JSON{place}: {len(content):,} bytes were read"
        return Answer(400, error_body("bad_json", message, "send one JSON object in UTF-8"))


def unasked(request: Asked) -> Answer | None:
    """The refusal of parameters in the URL where a path takes none: what is ordered stands in the body alone."""
    names = request.query_params
    found = tuple(FieldFault(name, f"{shown(name)} is no parameter here", "say it in the body") for name in names)
    return refused_parameters(found) if found else None


async def committed(why_not: str | None, hand_in: Callable[[], Awaitable[T]]) -> T | Answer:
    """What comes of an event once it is committed, or the refusal if facts can't be written (`why_not`) in time."""
    if why_not is not None:
        return unwritable(why_not)
    with trio.move_on_after(PUSH_S):
        try:
            return await hand_in()
        except FactsUnwritable as error:
            return unwritable(str(error))
    return unwritable(f"the commit was not acknowledged within {PUSH_S:.0f} s; it may still land")


def faulty(found: Faulty) -> Answer:
    """The refusal of a body with faults; all of them are listed."""
    return Answer(
        400, error_body("faulty", found.message(), "put the faults right and send it again", faults=found.faults)
    )


def unwritable(why: str) -> Answer:
    """The refusal while nothing can be committed."""
    remedy = "send the same again in a few seconds; if it stays so, see to the disk that holds the facts"
    return Answer(503, error_body("facts_not_writable", f"the facts can't be written now: {why}", remedy))


STARTING: Final = Answer(
    503, error_body("starting", "the daemon is starting and has not loaded its facts yet", "ask again in a second")
)


def litestar_path(path: str) -> str:
    """One name for every path parameter, since some words (request) mean something else to Litestar."""
    return re.sub(r"\{[a-z]+\}", "{name:str}", path)


def encoded(value: object) -> bytes:
    """JSON as it goes out."""
    return _ENCODER.encode(value)


def response(answer: Answer) -> Response[bytes]:
    """An answer as Litestar takes it."""
    return Response(encoded(answer.body), status_code=answer.status, media_type="application/json")
