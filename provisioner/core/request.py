"""The life of one purchase (acquire): its states, its table and its one step; it decides nothing about money or offers.

Yes counts always; No counts only when it is valid (every frame of the token closed): which of the two a report is, is
judged in
`answers.py`, so that the table has a trigger for each.
"""

from enum import StrEnum

from provisioner.core.lives import Arc, Life


class RequestState(StrEnum):
    """Where a purchase stands."""

    PLANNED = "planned"
    CANCELLED = "cancelled"
    SENDING = "sending"
    TAKEN = "taken"
    UNKNOWN = "unknown"
    FULFILLED = "fulfilled"
    SHORT = "short"
    NOT_MADE = "not_made"
    REFUSED = "refused"


class RequestTrigger(StrEnum):
    """What can happen to a purchase."""

    CARRIER_READY = "carrier_ready"
    UNWANTED = "unwanted"
    TOO_LATE = "too_late"
    UNWRITTEN = "unwritten"
    TAKEN = "taken"
    MADE_ALL = "made_all"
    MADE_SHORT = "made_short"
    REFUSED = "refused"
    VALID_NO = "valid_no"
    LOST = "lost"
    CARRIER_GONE = "carrier_gone"
    FORGOTTEN = "forgotten"
    RESEND = "resend"
    YES = "yes"


_S, _T = RequestState, RequestTrigger

OPEN = frozenset({_S.PLANNED, _S.SENDING, _S.TAKEN, _S.UNKNOWN})
SETTLED = frozenset(RequestState) - OPEN
UNDER_WAY = OPEN - {_S.PLANNED}
"""States in which something may have been sent, or is about to be."""
ASKED = frozenset({_S.TAKEN, _S.UNKNOWN})
"""States whose outcome has to be asked for."""

_TABLE: dict[tuple[RequestState, RequestTrigger], Arc[RequestState]] = {
    (_S.PLANNED, _T.CARRIER_READY): Arc(_S.SENDING, "bound to the one process that may carry it"),
    (_S.PLANNED, _T.UNWANTED): Arc(_S.CANCELLED, "no longer wanted and provably never sent"),
    (_S.PLANNED, _T.TOO_LATE): Arc(_S.CANCELLED, "not sent in time"),
    (_S.SENDING, _T.UNWRITTEN): Arc(_S.PLANNED, "not one byte of the frame was written"),
    (_S.SENDING, _T.TAKEN): Arc(_S.TAKEN, "the provider works on it"),
    (_S.SENDING, _T.MADE_ALL): Arc(_S.FULFILLED, "all of it was made"),
    (_S.SENDING, _T.MADE_SHORT): Arc(_S.SHORT, "less than asked was made, and no more will be"),
    (_S.SENDING, _T.VALID_NO): Arc(_S.NOT_MADE, "nothing was made, said in answer to the only frame"),
    (_S.SENDING, _T.REFUSED): Arc(_S.REFUSED, "definitely refused, in answer to the only frame"),
    (_S.SENDING, _T.LOST): Arc(_S.UNKNOWN, "no answer that settles it"),
    (_S.SENDING, _T.CARRIER_GONE): Arc(_S.UNKNOWN, "the process that carried it is gone"),
    (_S.UNKNOWN, _T.RESEND): Arc(_S.UNKNOWN, "the same frame again, under a trusted token"),
    (_S.UNKNOWN, _T.LOST): Arc(_S.UNKNOWN, "still no answer that settles it"),
    (_S.UNKNOWN, _T.UNWRITTEN): Arc(_S.UNKNOWN, "the repeated frame was not written; earlier ones may have been"),
    (_S.UNKNOWN, _T.CARRIER_GONE): Arc(_S.UNKNOWN, "the process that repeated it is gone"),
    (_S.UNKNOWN, _T.TAKEN): Arc(_S.TAKEN, "the provider knows it and works on it"),
    (_S.UNKNOWN, _T.YES): Arc(_S.UNKNOWN, "part of it was seen"),
    (_S.UNKNOWN, _T.MADE_ALL): Arc(_S.FULFILLED, "all of it was made"),
    (_S.UNKNOWN, _T.MADE_SHORT): Arc(_S.SHORT, "less than asked was made, and no more will be"),
    (_S.UNKNOWN, _T.VALID_NO): Arc(_S.NOT_MADE, "proven not made, asked after every frame was closed"),
    (_S.TAKEN, _T.TAKEN): Arc(_S.TAKEN, "still worked on"),
    (_S.TAKEN, _T.YES): Arc(_S.TAKEN, "part of it was seen"),
    (_S.TAKEN, _T.MADE_ALL): Arc(_S.FULFILLED, "all of it was made"),
    (_S.TAKEN, _T.MADE_SHORT): Arc(_S.SHORT, "less than asked was made, and no more will be"),
    (_S.TAKEN, _T.VALID_NO): Arc(_S.NOT_MADE, "taken, and nothing came of it"),
    (_S.TAKEN, _T.FORGOTTEN): Arc(_S.UNKNOWN, "the provider lost or forgot it"),
}

REQUEST_LIFE = Life("request (acquire)", _TABLE, SETTLED)


def step(state: RequestState, trigger: RequestTrigger) -> Arc[RequestState] | None:
    """The only way a purchase changes its state."""
    return REQUEST_LIFE.step(state, trigger)
