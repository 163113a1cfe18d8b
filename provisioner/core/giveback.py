"""The life of one give-back (request of kind return): retried for ever, slower and slower, never forgotten."""

from enum import StrEnum

from provisioner.core.lives import Arc, Life


class ReturnState(StrEnum):
    """Where a give-back stands."""

    PLANNED = "planned"
    DROPPED = "dropped"
    SENDING = "sending"
    TAKEN = "taken"
    RETURNED = "returned"


class ReturnTrigger(StrEnum):
    """What can happen to a give-back."""

    CARRIER_READY = "carrier_ready"
    UNWANTED = "unwanted"
    TAKEN = "taken"
    AGAIN = "again"
    ALL_RETURNED = "all_returned"


_S, _T = ReturnState, ReturnTrigger

OPEN = frozenset({_S.PLANNED, _S.SENDING, _S.TAKEN})

_TABLE: dict[tuple[ReturnState, ReturnTrigger], Arc[ReturnState]] = {
    (_S.PLANNED, _T.CARRIER_READY): Arc(_S.SENDING, "from here on its instances never serve again"),
    (_S.PLANNED, _T.UNWANTED): Arc(_S.DROPPED, "wanted again before it was sent"),
    (_S.PLANNED, _T.ALL_RETURNED): Arc(_S.RETURNED, "proven gone before it was sent"),
    (_S.SENDING, _T.AGAIN): Arc(_S.SENDING, "no answer that settles it; repeating is harmless"),
    (_S.SENDING, _T.TAKEN): Arc(_S.TAKEN, "accepted, not yet proven"),
    (_S.SENDING, _T.ALL_RETURNED): Arc(_S.RETURNED, "everything of it is proven given back"),
    (_S.TAKEN, _T.TAKEN): Arc(_S.TAKEN, "still under way"),
    (_S.TAKEN, _T.AGAIN): Arc(_S.SENDING, "an item failed, was held or is not known any more: said again"),
    (_S.TAKEN, _T.ALL_RETURNED): Arc(_S.RETURNED, "everything of it is proven given back"),
}

RETURN_LIFE = Life("request (return)", _TABLE, frozenset({_S.RETURNED, _S.DROPPED}))


def step(state: ReturnState, trigger: ReturnTrigger) -> Arc[ReturnState] | None:
    """The only way a give-back changes its state."""
    return RETURN_LIFE.step(state, trigger)
