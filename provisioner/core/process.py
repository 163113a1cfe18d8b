"""The life of one provider's process: when it is started, when it may carry calls, when it is left alone; starts
nothing itself."""

from enum import StrEnum

from provisioner.core.lives import Arc, Life


class ProcessState(StrEnum):
    """Where a provider's process stands."""

    ABSENT = "absent"
    STARTING = "starting"
    HANDSHAKING = "handshaking"
    READY = "ready"
    DEGRADED = "degraded"
    STOPPING = "stopping"
    BACKING_OFF = "backing_off"
    QUARANTINED = "quarantined"
    PARKED = "parked"


class ProcessTrigger(StrEnum):
    """What can happen to a provider's process."""

    START = "start"
    SPAWNED = "spawned"
    SPAWN_FAILED = "spawn_failed"
    OPENED = "opened"
    OPEN_REFUSED = "open_refused"
    QUIET = "quiet"
    HEARD = "heard"
    STOP = "stop"
    ENDED = "ended"
    CRASHED_TOO_OFTEN = "crashed_too_often"
    FAULTY = "faulty"
    WAITED = "waited"
    RESET = "reset"


_S, _T = ProcessState, ProcessTrigger
_ALIVE = (_S.STARTING, _S.HANDSHAKING, _S.READY, _S.DEGRADED)

_TABLE: dict[tuple[ProcessState, ProcessTrigger], Arc[ProcessState]] = {
    (_S.ABSENT, _T.START): Arc(_S.STARTING, "wanted"),
    (_S.STARTING, _T.SPAWNED): Arc(_S.HANDSHAKING, "pid recorded, initialize may be sent"),
    (_S.STARTING, _T.SPAWN_FAILED): Arc(_S.BACKING_OFF, "could not be started"),
    (_S.HANDSHAKING, _T.OPENED): Arc(_S.READY, "handshake done"),
    (_S.HANDSHAKING, _T.OPEN_REFUSED): Arc(_S.STOPPING, "handshake refused"),
    (_S.READY, _T.QUIET): Arc(_S.DEGRADED, "no answer to ping"),
    (_S.DEGRADED, _T.HEARD): Arc(_S.READY, "heard again"),
    **{(s, _T.STOP): Arc(_S.STOPPING, "told to stop") for s in _ALIVE},
    **{(s, _T.ENDED): Arc(_S.BACKING_OFF, "ended; started again after a pause") for s in (*_ALIVE, _S.STOPPING)},
    **{
        (s, _T.FAULTY): Arc(_S.PARKED, "faulty until its program or configuration changes")
        for s in (*_ALIVE, _S.STOPPING)
    },
    **{(s, _T.CRASHED_TOO_OFTEN): Arc(_S.QUARANTINED, "ended too often in a window") for s in (*_ALIVE, _S.STOPPING)},
    (_S.BACKING_OFF, _T.WAITED): Arc(_S.ABSENT, "pause over"),
    (_S.QUARANTINED, _T.WAITED): Arc(_S.ABSENT, "quarantine over"),
    (_S.BACKING_OFF, _T.RESET): Arc(_S.ABSENT, "reset by an operator"),
    (_S.QUARANTINED, _T.RESET): Arc(_S.ABSENT, "reset by an operator"),
    (_S.PARKED, _T.RESET): Arc(_S.ABSENT, "reset by an operator"),
}

PROCESS_LIFE = Life("provider process", _TABLE, frozenset())


def step(state: ProcessState, trigger: ProcessTrigger) -> Arc[ProcessState] | None:
    """The only way a provider's process changes its state."""
    return PROCESS_LIFE.step(state, trigger)
