"""How big purchases are: granularity, splitting into requests, and the shares of lines in each."""

from collections.abc import Sequence

from provisioner.core.model import Share, Template
from provisioner.core.policy.demand import LineKey
from provisioner.core.policy.rooms import Room
from provisioner.core.settings import Settings

Run = tuple[int, tuple[tuple[LineKey, int], ...]]
"""So many equal hosts, and what each of them holds."""


def request_most(template: Template, settings: Settings) -> int:
    """The most units of one request, in whole steps; 0 if no request can be that small."""
    step = max(template.step_units, 1)
    most = min(template.max_units, settings.policy.request.max_units) // step * step
    return most if most >= request_least(template) else 0


def request_least(template: Template) -> int:
    """The fewest units of one request, in whole steps."""
    step = max(template.step_units, 1)
    return -(-max(template.min_units, 1) // step) * step


def rounded_up(units: int, template: Template) -> int:
    """The least number of units, not below `units`, that can be bought."""
    step = max(template.step_units, 1)
    return max(-(-units // step) * step, request_least(template))


def rounded_down(units: int, template: Template) -> int:
    """The greatest number of units, not above `units`, that can be bought; 0 if none."""
    step = max(template.step_units, 1)
    most = units // step * step
    return most if most >= request_least(template) else 0


def split(units: int, template: Template, settings: Settings) -> list[int]:
    """As few requests as possible for so many units, big ones first; a last one that is too small borrows from the
    one before.
    """
    most, least = request_most(template, settings), request_least(template)
    pieces = [most] * (units // most)
    rest = units - sum(pieces)
    if rest and rest < least and pieces and most - (least - rest) >= least:
        pieces[-1] -= least - rest
        rest = least
    return pieces + ([rest] if rest else [])


def shares_of(rooms: Sequence[Room], pieces: Sequence[int]) -> list[tuple[Share, ...]]:
    """The shares of each request of so many hosts: exactly what was packed into them, host by host.

    A request that is only there to round up still names a line, so that it is known whose it is.
    """
    first = next(room.holds[0][0] for room in rooms if room.holds)
    runs = [(room.hosts, room.holds) for room in rooms]
    found = []
    for piece in pieces:
        held, runs = _first_hosts(runs, piece)
        found.append(tuple(Share(*key, n) for key, n in held.items()) or (Share(*first, 0),))
    return found


def _first_hosts(runs: list[Run], hosts: int) -> tuple[dict[LineKey, int], list[Run]]:
    held: dict[LineKey, int] = {}
    for at, (run, holds) in enumerate(runs):
        taken = min(run, hosts)
        for key, n in holds:
            held[key] = held.get(key, 0) + n * taken
        hosts -= taken
        if hosts == 0:
            rest = [(run - taken, holds)] if run > taken else []
            return held, rest + runs[at + 1 :]
    return held, []
