"""What one history is made of: the promises of its providers, the work of its cluster, and the strikes that befall it.

All of it is drawn from one seed and is plain data, so that a history can be told, replayed, and cut down. It must not
know how any of it is carried out.
"""

import random
from enum import StrEnum
from typing import Final

from attrs import frozen

from provisioner.core.model import Promises


class Fault(StrEnum):
    """Everything that goes wrong on purpose; the last two come of small delays and crashes and are only counted."""

    ANSWER_LOST = "answer lost"
    ANSWER_LATE = "answer late"
    ANSWER_TWICE = "answer twice"
    FRAME_UNWRITTEN = "frame unwritten"
    FRAME_SWALLOWED = "frame swallowed"
    ERROR_NOT_MADE = "error, nothing made"
    ERROR_BUT_MADE = "error, yet made"
    ERROR_UNSAID = "error, outcome unsaid"
    SHORT = "made short"
    THROTTLED = "throttled"
    SAID_UNKNOWN = "answered unknown"
    FORGOTTEN = "said it knows nothing"
    LIST_INCOMPLETE = "list incomplete"
    LIST_EMPTY = "list empty with success"
    OPEN_FAILS = "handshake fails"
    SPAWN_FAILS = "process not started"
    PROVIDER_CRASH = "provider crash"
    PROVIDER_CRASH_IN_CALL = "provider crash in a purchase"
    PROVIDER_QUIET = "provider quiet"
    RECLAIMED = "taken back by the far side"
    HINT = "hint of a change"
    DISK_FULL = "commit refused, disk full"
    COMMIT_LANDED = "commit unknown, landed"
    COMMIT_LOST = "commit unknown, not landed"
    CLOCK_FORWARD = "wall clock jumps forward"
    CLOCK_BACK = "wall clock jumps back"
    SOURCE_SILENT = "source silent"
    SOURCE_STALE = "stale and repeated pushes"
    SOURCE_SHRUNK = "source shows nothing once"
    SOURCE_RESET = "source lost its counter"
    WORK_WITHDRAWN = "waiting work withdrawn"
    DAEMON_KILLED = "daemon killed at any time"
    CRASH_BEFORE_COMMIT = "crash before commit"
    CRASH_AFTER_COMMIT = "crash after commit"
    CRASH_AFTER_SEND = "crash after send"
    CRASH_AFTER_ANSWER = "crash after answer"
    CRASH_BEFORE_RECORD = "crash before record"
    CRASH_DURING_FOLD = "crash during fold"
    CRASH_DURING_TAKEOVER = "crash during takeover"
    OUT_OF_ORDER = "answers out of order"
    LATE_EFFECT = "effect after the process ended"


F = Fault
ON_REQUEST: Final = (
    F.ANSWER_LOST,
    F.ANSWER_LATE,
    F.ANSWER_TWICE,
    F.FRAME_UNWRITTEN,
    F.FRAME_SWALLOWED,
    F.ERROR_NOT_MADE,
    F.ERROR_BUT_MADE,
    F.ERROR_UNSAID,
    F.SHORT,
    F.THROTTLED,
    F.PROVIDER_CRASH_IN_CALL,
)
ON_STATUS: Final = (F.ANSWER_LOST, F.SAID_UNKNOWN, F.ERROR_UNSAID, F.THROTTLED)
ON_RETURN: Final = (F.ANSWER_LOST, F.FRAME_UNWRITTEN, F.FRAME_SWALLOWED, F.ERROR_UNSAID, F.ERROR_BUT_MADE, F.FORGOTTEN)
ON_READ: Final = (F.ANSWER_LOST, F.ERROR_UNSAID, F.LIST_INCOMPLETE, F.LIST_EMPTY, F.THROTTLED)
ON_START: Final = (F.OPEN_FAILS, F.SPAWN_FAILS)
ON_COMMIT: Final = (F.DISK_FULL, F.COMMIT_LANDED, F.COMMIT_LOST)
AT_POINT: Final = (
    F.CRASH_BEFORE_COMMIT,
    F.CRASH_AFTER_COMMIT,
    F.CRASH_AFTER_SEND,
    F.CRASH_AFTER_ANSWER,
    F.CRASH_BEFORE_RECORD,
    F.CRASH_DURING_FOLD,
    F.CRASH_DURING_TAKEOVER,
)
AT_TIME: Final = (
    F.PROVIDER_CRASH,
    F.PROVIDER_QUIET,
    F.RECLAIMED,
    F.HINT,
    F.CLOCK_FORWARD,
    F.CLOCK_BACK,
    F.SOURCE_SILENT,
    F.SOURCE_STALE,
    F.SOURCE_SHRUNK,
    F.SOURCE_RESET,
    F.WORK_WITHDRAWN,
    F.DAEMON_KILLED,
)

FAULTS_S: Final = 180.0
"""How long faults may strike; after it everything is calm."""

_MOST_NTH: Final = {
    "request": 4,
    "status": 5,
    "return": 3,
    "return status": 3,
    "list": 8,
    "named": 4,
    "describe": 3,
    "start": 2,
    "open": 2,
}
_GROUPS: Final = (
    ("request", ON_REQUEST, 7),
    ("status", ON_STATUS, 2),
    ("return", ON_RETURN, 3),
    ("return status", ON_STATUS, 1),
    ("list", ON_READ, 2),
    ("named", ON_READ, 1),
    ("describe", (F.ANSWER_LOST, F.ERROR_UNSAID), 0.5),
    ("start", (F.SPAWN_FAILS,), 0.5),
    ("open", (F.OPEN_FAILS,), 0.5),
    ("commit", ON_COMMIT, 3),
    ("point", AT_POINT, 6),
    ("time", AT_TIME, 6),
)


@frozen
class Strike:
    """One fault and when it strikes: on the `nth` call of a method, commit or passing of a point, or at a time.

    `on` is a method, `commit`, `point` or `time`; `size` in 0..1 says how hard, or how far into a call.
    """

    fault: Fault
    on: str
    nth: int = 0
    at_s: float = 0.0
    size: float = 0.5

    def sentence(self) -> str:
        """One readable line."""
        when = f"at {self.at_s:.1f} s" if self.on == "time" else f"on {self.on} no. {self.nth}"
        return f"{self.fault.value} {when} (size {self.size:.2f})"


@frozen
class Supplier:
    """One provider of a history: what it promises and keeps, how slow it is, and how much it has."""

    name: str
    promises: Promises
    lead_s: float
    capacity: int
    pending_share: float
    lists_gone: bool
    price_nanos: int
    capabilities: tuple[str, ...] = ()

    def may_stay_unknown(self) -> bool:
        """Whether it has neither token, mark nor lists that could ever settle a lost purchase."""
        promises = self.promises
        blind = promises.mark_kept != "far_side" or promises.list_covers != "far_side"
        return promises.token_replay != "exact" and blind and promises.unknown_ends_s is None


@frozen
class Work:
    """One job of the cluster."""

    at_s: float
    cores: int
    runs_s: float


@frozen
class History:
    """All that decides what happens; `seed` also decides every small delay."""

    seed: int
    suppliers: tuple[Supplier, ...]
    work: tuple[Work, ...]
    strikes: tuple[Strike, ...]
    push_every_s: float

    def lines(self) -> list[str]:
        """The history as a person reads it."""
        found = [f"seed {self.seed}, pushes every {self.push_every_s:.0f} s"]
        for s in self.suppliers:
            p = s.promises
            found.append(
                f"  provider {s.name}: tokens {p.token_replay}, marks {p.mark_kept}, lists {p.list_covers}"
                f" (delay {p.list_delay_s} s), late effect {p.late_effect_s} s, {p.in_flight} in flight,"
                f" returns {'observed' if p.return_observed else 'said'}, unknown ends {p.unknown_ends_s},"
                f" not found is gone after {p.not_found_gone_after_s}, lead {s.lead_s:.1f} s, capacity {s.capacity},"
                f" can {' and '.join(s.capabilities) or 'nothing more'}"
            )
        found += [f"  work at {w.at_s:.1f} s: {w.cores} cores for {w.runs_s:.0f} s" for w in self.work]
        return found + [f"  strike: {s.sentence()}" for s in self.strikes]


def draw(seed: int) -> History:
    """The history of this seed."""
    rng = random.Random(f"history/{seed}")
    suppliers = tuple(_supplier(rng, seed, name) for name in ("east", "west")[: rng.choice((1, 1, 2))])
    work = tuple(_work(rng) for _ in range(rng.randint(1, 6)))
    strikes = tuple(_strike(rng) for _ in range(rng.randint(1, 7)))
    return History(seed, suppliers, work, strikes, push_every_s=rng.choice((10.0, 15.0, 20.0)))


def _supplier(rng: random.Random, seed: int, name: str) -> Supplier:
    also = random.Random(f"capabilities/{seed}/{name}")
    replay = rng.choice(("exact", "exact", "at_most_once", "none"))
    sees = rng.random() < 0.7
    promises = Promises(
        token_replay=replay,
        token_lifetime_s=rng.choice((300, 86_400)) if replay != "none" else 0,
        unknown_ends_s=rng.choice((None, 400)) if replay != "exact" else None,
        mark_kept="far_side" if replay == "exact" or rng.random() < 0.7 else "none",
        list_covers="far_side" if replay == "exact" or sees else "own_records",
        list_delay_s=rng.choice((5, 15)),
        not_found_gone_after_s=rng.choice((None, 60)),
        memory_where="state_dir" if replay == "at_most_once" else "far_side",
        in_flight=1 if replay == "none" else rng.choice((1, 2, 8)),
        answer_s={"request": 10, "request_status": 10, "return": 10, "return_status": 10, "list": 10, "describe": 10},
        late_effect_s=rng.choice((2, 10)),
        return_observed=rng.random() < 0.6,
    )
    return Supplier(
        name=name,
        promises=promises,
        lead_s=rng.uniform(1.0, 25.0),
        capacity=rng.choice((2, 6, 50)),
        pending_share=rng.choice((0.0, 0.5)) if replay == "exact" else 0.0,
        lists_gone=rng.random() < 0.5,
        price_nanos=rng.choice((1_000_000_000, 1_300_000_000)),
        capabilities=tuple(c for c in ("cancel", "forget") if also.random() < 0.6),
    )


def _work(rng: random.Random) -> Work:
    return Work(at_s=rng.uniform(0.0, 110.0), cores=rng.choice((1, 2, 4)), runs_s=rng.uniform(5.0, 60.0))


def _strike(rng: random.Random) -> Strike:
    on, faults, _ = rng.choices(_GROUPS, [weight for _, _, weight in _GROUPS])[0]
    fault = rng.choice(faults)
    size = rng.random()
    if on == "time":
        return Strike(fault, on, at_s=rng.uniform(2.0, FAULTS_S), size=size)
    if on == "commit":
        return Strike(fault, on, nth=rng.randint(2, 50), size=size)
    if on == "point":
        return Strike(fault, on, nth=_nth_of_point(rng, fault), size=size)
    return Strike(fault, on, nth=rng.randint(1, _MOST_NTH[on]), size=size)


def _nth_of_point(rng: random.Random, fault: Fault) -> int:
    most = {F.CRASH_AFTER_SEND: 4, F.CRASH_DURING_TAKEOVER: 1, F.CRASH_BEFORE_RECORD: 12, F.CRASH_AFTER_ANSWER: 12}
    return rng.randint(1, most.get(fault, 40))
