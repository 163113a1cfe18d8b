"""How big purchases are: granularity, splitting into requests, shares of lines, and what each may cost at worst."""

from collections.abc import Sequence

from provisioner.core.model import Kind, Per, Price, Share, Template, Terms
from provisioner.core.money import billable_s, hourly_cost_nanos
from provisioner.core.policy.demand import LineKey
from provisioner.core.policy.offers import EXPECTED_STAY_S
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


def reserve_nanos(kind: Kind, terms: Terms, price: Price, units: int) -> int:
    """What a purchase may cost at worst until it can be given back, rounded up; in nano-units of the price's
    currency.
    """
    if price.per is Per.PURCHASE:
        return price.nanos + price.once_nanos
    held_s = max(terms.hold_min_s, terms.billing.minimum_s, terms.lead_worst_s + EXPECTED_STAY_S)
    charged_s = billable_s(held_s, terms.billing.quantum_s, terms.billing.minimum_s)
    charged = units if price.per is Per.UNIT_HOUR else _instances(kind, terms, units)
    return hourly_cost_nanos(price.nanos, charged, charged_s) + price.once_nanos


def _instances(kind: Kind, terms: Terms, units: int) -> int:
    """How many instances so many units are: a grant holds them all where its template does not say."""
    per = terms.units_per_instance or (1 if kind is Kind.HOST else units)
    return -(-units // max(per, 1))
