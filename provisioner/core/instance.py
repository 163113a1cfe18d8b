"""The life of one supplied thing, and the state that is shown for it; what the cluster says of it is derived, never
stored.

Stored are the provider's words (booting, running, failed, unknown, returning, gone) and our own (vanished). Joined,
idle, busy and draining
come from supply facts and the drain field; `stuck` is a give-back that keeps failing.
"""

from enum import StrEnum

from provisioner.core.lives import Arc, Life
from provisioner.core.model import EntryState


class InstanceState(StrEnum):
    """What is stored of an instance."""

    BOOTING = "booting"
    RUNNING = "running"
    FAILED = "failed"
    UNKNOWN = "unknown"
    RETURNING = "returning"
    VANISHED = "vanished"
    GONE = "gone"


class InstanceTrigger(StrEnum):
    """What can happen to an instance; the first six are states its provider reports."""

    SAID_BOOTING = "said_booting"
    SAID_RUNNING = "said_running"
    SAID_FAILED = "said_failed"
    SAID_UNKNOWN = "said_unknown"
    SAID_RETURNING = "said_returning"
    SAID_GONE = "said_gone"
    RETURN_SENT = "return_sent"
    RETURN_PROVEN = "return_proven"
    ABSENT_AND_SILENT = "absent_and_silent"


class ShownState(StrEnum):
    """What users read; REST and CLI show it as `state`."""

    BOOTING = "booting"
    RUNNING = "running"
    JOINED = "joined"
    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    FAILED = "failed"
    UNKNOWN = "unknown"
    RETURNING = "returning"
    STUCK = "stuck"
    VANISHED = "vanished"
    GONE = "gone"


_S, _T = InstanceState, InstanceTrigger
_SAID = {
    _T.SAID_BOOTING: Arc(_S.BOOTING, "exists, not up yet"),
    _T.SAID_RUNNING: Arc(_S.RUNNING, "the provider says it is up"),
    _T.SAID_FAILED: Arc(_S.FAILED, "exists, never usable"),
    _T.SAID_UNKNOWN: Arc(_S.UNKNOWN, "ours as far as known, state unreadable now"),
}
_ENDS = {
    _T.SAID_RETURNING: Arc(_S.RETURNING, "the far side takes it back"),
    _T.RETURN_SENT: Arc(_S.RETURNING, "our return was sent; it never serves again"),
    _T.SAID_GONE: Arc(_S.GONE, "proven not to exist"),
    _T.RETURN_PROVEN: Arc(_S.GONE, "the provider proved its return"),
}

_TABLE: dict[tuple[InstanceState, InstanceTrigger], Arc[InstanceState]] = {
    **{
        (s, t): arc
        for s in (_S.BOOTING, _S.RUNNING, _S.FAILED, _S.UNKNOWN, _S.VANISHED)
        for t, arc in (_SAID | _ENDS).items()
    },
    **{
        (s, _T.ABSENT_AND_SILENT): Arc(_S.VANISHED, "absent from two complete lists and silent")
        for s in (_S.BOOTING, _S.RUNNING, _S.UNKNOWN)
    },
    (_S.FAILED, _T.SAID_BOOTING): Arc(_S.FAILED, "failed is not taken back"),
    (_S.RUNNING, _T.SAID_BOOTING): Arc(_S.RUNNING, "an older view of it"),
    (_S.RETURNING, _T.SAID_GONE): Arc(_S.GONE, "proven not to exist"),
    (_S.RETURNING, _T.RETURN_PROVEN): Arc(_S.GONE, "the provider proved its return"),
}

INSTANCE_LIFE = Life("instance", _TABLE, frozenset({_S.GONE}))


def step(state: InstanceState, trigger: InstanceTrigger) -> Arc[InstanceState] | None:
    """The only way an instance changes its stored state."""
    return INSTANCE_LIFE.step(state, trigger)


def said(state: str) -> InstanceTrigger:
    """The trigger for a state word of the contract; an unknown word weakens to `unknown` (GR-2)."""
    try:
        return InstanceTrigger(f"said_{state}")
    except ValueError:
        return InstanceTrigger.SAID_UNKNOWN


def shown(state: InstanceState, entry: EntryState | None, *, draining: bool, stuck: bool) -> ShownState:
    """What is shown: the provider's end states first, then a drain, then the cluster's word, then the provider's."""
    if state is InstanceState.RETURNING and stuck:
        return ShownState.STUCK
    if state not in (InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN):
        return ShownState(state.value)
    if draining:
        return ShownState.DRAINING
    if entry is EntryState.BUSY:
        return ShownState.BUSY
    if entry is EntryState.IDLE:
        return ShownState.IDLE
    if entry is None or entry is EntryState.GONE:
        return ShownState(state.value)
    return ShownState.JOINED
