"""Which drained or draining hosts are opened again for lines that wait, before anything is bought; it drains and
returns nothing.

What has joined is opened rather than waiting for what is still to come: it serves at once. What has not joined only
takes the place of a purchase.
"""

from collections.abc import Iterable, Iterator, Sequence

from provisioner.core.model import Kind
from provisioner.core.policy.demand import Want
from provisioner.core.policy.netting import Netted, Sheet, net
from provisioner.core.policy.pools import Pool
from provisioner.core.policy.standing import Phase
from provisioner.core.policy.words import ReopenChoice
from provisioner.core.reasons import Reason, Why
from provisioner.core.settings import Settings


def reopened(
    wanted: Sequence[Want], pools: Iterable[Pool], sheet: Sheet, settings: Settings
) -> tuple[ReopenChoice, ...]:
    """The hosts to open again; their room is booked on the sheet as answering the lines in this very pass."""
    closed = [pool for pool in pools if pool.phase is Phase.CLOSED]
    unjoined = [pool for pool in pools if pool.phase is Phase.CLOSED_UNJOINED]
    if not closed and not unjoined:
        return ()
    in_force = [want for want in wanted if want.in_force]
    instead = {want.key: sheet.left[want.key] + sheet.coming.get(want.key, 0) for want in in_force}
    found = [*_opened(in_force, closed, instead, sheet, settings)]
    missing = {want.key: sheet.left[want.key] for want in in_force}
    found += _opened(in_force, unjoined, missing, sheet, settings)
    return tuple(ReopenChoice(member, Reason(Why.WANTED_AGAIN)) for member in found)


def _opened(
    wanted: Sequence[Want],
    pools: Sequence[Pool],
    waiting: dict[tuple[str, str], int],
    sheet: Sheet,
    settings: Settings,
) -> Iterator[str]:
    trial = Sheet(dict(waiting))
    netted = net(wanted, pools, trial, settings)
    for key, before in waiting.items():
        answered = min(sheet.left[key], before - trial.left[key])
        if answered > 0:
            sheet.answer(key, answered, Phase.REOPENING, None)
    for one in netted:
        yield from _members(one)


def _members(one: Netted) -> tuple[str, ...]:
    if one.pool.traits.kind is Kind.HOST:
        return one.pool.members[: one.used]
    return one.pool.members if one.used else ()
