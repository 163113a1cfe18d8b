"""What is asked of a provider's own process over REST: its last words on standard error, and one call by hand.

It alone knows which methods may be called by hand and how a call and its outcome are written. It sends nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import fields, frozen, has

from provider_sdk.contract import METHODS, BadShape, ErrorData, decode, encode
from provider_sdk.contract.framing import DAEMON_FRAME_BYTES, FrameTooLong, Junk, frame, read_line
from provisioner.core.world import World
from provisioner.edge.rest_fault import Faulty, FieldFault, FieldFaults, Json, below, error_body, shown
from provisioner.edge.rest_fields import open_object
from provisioner.edge.rest_orders import BY_MOST
from provisioner.edge.rest_providers import state_of

CALLABLE: Final = ("describe", "list", "request_status", "return_status", "ping", "quote")
"""Methods that change nothing anywhere: what does is recorded before it is sent, hence never sent by hand."""

LOGS: Final = "/v1/providers/{provider}/logs"
CALL: Final = "/v1/providers/{provider}/call"
LINES_DEFAULT: Final = 100
LINES_MOST: Final = 10_000
INTEGER_MOST: Final = 2**53 - 1


@frozen
class HandCall:
    """One call as an operator wants it made; the params are checked."""

    method: str
    params: Mapping[str, object]
    by: str


@frozen
class LastWords:
    """What one process wrote to standard error last: `first` is the number of the first line, counted from 1."""

    process: int
    ended: str | None
    first: int
    lines: tuple[str, ...]


def read_call(body: object, caller: str) -> HandCall | Faulty:
    """The call, or every fault of it; nothing is sent that the contract does not know."""
    faults = FieldFaults()
    opened = open_object(body, "", faults, ("method", "params", "by"))
    if opened is None:
        return Faulty(faults.found(), faults.count)
    method, said = opened.text("method"), opened.text("by", most=BY_MOST)
    if not opened.states("method"):
        opened.missing("method", f"write {' or '.join(CALLABLE)}")
    elif method is not None and method not in CALLABLE:
        opened.refuse("method", _not_by_hand(method), f"write {' or '.join(CALLABLE)}")
    params = opened.values.get("params")
    if method in CALLABLE:
        _check_params(str(method), {} if params is None else params, faults)
    if faults.count:
        return Faulty(faults.found(), faults.count)
    checked = params if isinstance(params, dict) else {}
    return HandCall(str(method), checked, f"{said} ({caller})" if said is not None else caller)


def _not_by_hand(method: str) -> str:
    known = METHODS.get(method)
    if known is None:
        return f"{shown(method)} is no method of the contract"
    if known.changing:
        return f"{method} changes something at the far side: that is recorded before it is sent, so never sent by hand"
    return f"{method} belongs to the daemon's own conversation"


def _check_params(method: str, params: object, faults: FieldFaults) -> None:
    cls = METHODS[method].params
    try:
        decode(cls, params)
    except BadShape as bad:
        for fault in bad.faults:
            faults.add(f"/params{fault.path}", fault.detail, f"see {method} in the contract")
    known = tuple(a.name for a in fields(cls)) if has(cls) else ()
    for key in params if isinstance(params, dict) else ():
        if key not in known and not str(key).startswith("x-"):
            remedy = f"use {', '.join(known)}" if known else "leave it out: it takes none"
            faults.add(below("/params", str(key)), f"{method} has no such parameter", remedy)
    if not faults.count and (why_not := _why_no_frame(method, params)) is not None:
        faults.add("/params", why_not, "write less, flatter, and numbers below 2^53")


def _why_no_frame(method: str, params: object) -> str | None:
    """Why no frame can carry the call (contract v2, FR-2, FR-3): members the contract does not know travel too."""
    try:
        written = frame({"jsonrpc": "2.0", "id": INTEGER_MOST, "method": method, "params": params}, DAEMON_FRAME_BYTES)
    except FrameTooLong as long:
        return f"the message would be {long.size:,} bytes long, over the {long.limit_bytes:,} there may be"
    except (TypeError, RecursionError):
        return "no message can carry them: a number is too big, or they are nested too deep"
    found = read_line(written.rstrip())
    return f"no message can carry them: {found.reason}" if isinstance(found, Junk) else None


def lacks_capability(world: World, provider: str, method: str) -> Json | None:
    """The refusal of a method that the provider has not declared (contract v2, GR-3), None if it may be called."""
    wanted = METHODS[method].capability
    description = world.descriptions.get(provider)
    if wanted is None or (description is not None and wanted.value in description.capabilities):
        return None
    return error_body(
        "not_offered", f"{provider} does not offer {method}", "call a method it has; every provider has the other ones"
    )


def answered_json(provider: str, call: HandCall, process: int, took_s: float, outcome: Json) -> Json:
    """What a call by hand came to: `outcome` is answered, refused, lost or unsent, with what belongs to it."""
    return {
        "provider": provider,
        "method": call.method,
        "process": process or None,
        "took_s": round(took_s, 3),
        **outcome,
    }


def refusal_json(error: ErrorData) -> Json:
    """A provider's error as the contract writes it."""
    return {"outcome": "refused", "error": encode(error)}


def read_lines(query: Sequence[tuple[str, str]]) -> int | tuple[FieldFault, ...]:
    """How many lines are asked for, or the faults of the parameters."""
    wanted = LINES_DEFAULT
    for name, value in query:
        if name != "lines":
            return (FieldFault(name, f"{shown(name)} is no parameter here", "use lines"),)
        if not (value.isascii() and value.isdigit() and len(value) <= len(str(LINES_MOST))):
            return (FieldFault("lines", f"{shown(value)} is no number of lines", f"write 1 to {LINES_MOST}"),)
        wanted = int(value)
    if not 1 <= wanted <= LINES_MOST:
        return (FieldFault("lines", f"{wanted} is out of bounds", f"write 1 to {LINES_MOST}"),)
    return wanted


def logs_json(world: World, provider: str, said: Sequence[LastWords], lines: int) -> Json:
    """The last lines of the process that runs and of the one before it, oldest process first."""
    return {
        "provider": provider,
        "state": state_of(world, provider),
        "processes": [_words_json(words, lines) for words in said],
    }


def _words_json(words: LastWords, lines: int) -> Json:
    kept = words.lines[-lines:]
    return {
        "process": words.process,
        "ended": words.ended,
        "first": words.first + len(words.lines) - len(kept),
        "lines": list(kept),
    }
