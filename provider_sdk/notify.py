"""What a provider says unasked: hints, merged and slowed to what the contract allows (clauses NT-1, NT-2).

Knows the four notifications and their rate; must not know streams or frames.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from attrs import Factory, frozen

from provider_sdk.contract.messages import Changed, Log, Notice, NoticeItem, Progress
from provider_sdk.contract.words import ChangedWhat, LogLevel

What: TypeAlias = Literal["description", "instances", "health"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]
Hint: TypeAlias = Changed | Notice | Progress | Log

CHANGED_EVERY_S = 1.0
PER_SECOND = 100
NAMED_INSTANCES = 1_000
NAMED_REQUESTS = 500
NOTICE_ITEMS = 1_000
KEPT = 10_000
LOG_LINES = 500
TEXT = 500


@frozen
class _Names:
    instances: dict[str, None] = Factory(dict)
    requests: dict[str, None] = Factory(dict)


class Outbox:
    """Hints waiting to be sent; every queue is bounded, what does not fit is dropped: a hint may be lost (NT-1)."""

    def __init__(self) -> None:
        self._changed: dict[What, _Names | None] = {}
        self._changed_due: dict[What, float] = {}
        self._notices: dict[str, NoticeItem] = {}
        self._progress: dict[str, Progress] = {}
        self._log: deque[Log] = deque(maxlen=LOG_LINES)
        self._budget = float(PER_SECOND)
        self._budget_at: float | None = None

    def put_changed(self, what: What, instances: Iterable[str], requests: Iterable[str]) -> None:
        """Merge into the one waiting `changed` of this kind; naming nothing, or too many, means everything."""
        waiting = self._changed.setdefault(what, _Names())
        fresh = _Names(dict.fromkeys(instances), dict.fromkeys(requests))
        if waiting is None or not (fresh.instances or fresh.requests):
            self._changed[what] = None
            return
        waiting.instances.update(fresh.instances)
        waiting.requests.update(fresh.requests)
        if len(waiting.instances) > NAMED_INSTANCES or len(waiting.requests) > NAMED_REQUESTS:
            self._changed[what] = None

    def put_notice(self, items: Iterable[NoticeItem]) -> None:
        """The last word on an instance wins; beyond the bound the oldest is dropped."""
        for item in items:
            self._notices.pop(item.instance, None)
            self._notices[item.instance] = item
            if len(self._notices) > KEPT:
                del self._notices[next(iter(self._notices))]

    def put_progress(self, step: Progress) -> None:
        """The last word on a request wins; beyond the bound the oldest is dropped."""
        self._progress.pop(step.request_id, None)
        self._progress[step.request_id] = step
        if len(self._progress) > KEPT:
            del self._progress[next(iter(self._progress))]

    def put_log(self, line: Log) -> None:
        """Beyond the bound the oldest line is dropped."""
        self._log.append(line)

    def take(self, now: float, *, only_log: bool = False) -> list[Hint]:
        """What may be sent at this time (seconds of any steady clock), most important first, removed from the box."""
        room = self._refill(now)
        found: list[Hint] = []
        if not only_log:
            self._take_notices(found, room)
            self._take_changed(found, room, now)
            while self._progress and len(found) < room:
                found.append(self._progress.pop(next(iter(self._progress))))
        while self._log and len(found) < room:
            found.append(self._log.popleft())
        self._budget -= len(found)
        return found

    def next_due(self, now: float, *, only_log: bool = False) -> float | None:
        """When `take` would next give something, None if nothing waits."""
        times = [] if only_log else [self._changed_due.get(what, now) for what in self._changed]
        if self._log or (not only_log and (self._notices or self._progress)):
            times.append(now)
        if not times:
            return None
        allowed = now if self._budget >= 1 else now + (1 - self._budget) / PER_SECOND
        return max(min(times), allowed)

    def _refill(self, now: float) -> int:
        if self._budget_at is not None:
            self._budget = min(float(PER_SECOND), self._budget + (now - self._budget_at) * PER_SECOND)
        self._budget_at = now
        return int(self._budget)

    def _take_notices(self, found: list[Hint], room: int) -> None:
        while self._notices and len(found) < room:
            chosen = list(self._notices)[:NOTICE_ITEMS]
            found.append(Notice(items=tuple(self._notices.pop(name) for name in chosen)))

    def _take_changed(self, found: list[Hint], room: int, now: float) -> None:
        for what in list(self._changed):
            if len(found) >= room or self._changed_due.get(what, now) > now:
                continue
            names = self._changed.pop(what) or _Names()
            self._changed_due[what] = now + CHANGED_EVERY_S
            found.append(
                Changed(
                    what=(ChangedWhat(what),),
                    instances=tuple(names.instances),
                    requests=tuple(names.requests),
                )
            )


class Notifier:
    """Says things unasked; every method returns at once and may be called from any thread.

    Before the handshake has ended only `log` leaves (HS-2); the rest waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._box = Outbox()
        self._wake: Callable[[], None] | None = None
        self._greeted = False

    def changed(self, what: What, *, instances: Iterable[str] = (), requests: Iterable[str] = ()) -> None:
        """Something is different from what the daemon last read; at most one a second of each kind leaves."""
        with self._lock:
            self._box.put_changed(what, instances, requests)
        self._ring()

    def notice(self, items: Iterable[NoticeItem]) -> None:
        """The far side has announced something about these instances; it must also stand in their next report."""
        with self._lock:
            self._box.put_notice(items)
        self._ring()

    def progress(self, request_id: str, phase: str, eta_s: int | None = None) -> None:
        """How far a purchase has come, for people."""
        with self._lock:
            self._box.put_progress(Progress(request_id=request_id, phase=phase[:64], eta_s=eta_s))
        self._ring()

    def log(self, level: Level, text: str, fields: Mapping[str, object] | None = None) -> None:
        """A line for the provider's log at the daemon; never a secret, a traceback or a foreign exception's text."""
        with self._lock:
            self._box.put_log(Log(level=LogLevel(level), text=text[:TEXT], fields=fields))
        self._ring()

    # For the session.

    def attach(self, wake: Callable[[], None]) -> None:
        """Have `wake` called (from any thread) whenever something was put in."""
        self._wake = wake

    def greeted(self) -> None:
        """The handshake has ended: everything may leave now."""
        self._greeted = True
        self._ring()

    def take(self, now: float) -> tuple[list[Hint], float | None]:
        """What may leave now, and when to ask again (None: when woken)."""
        with self._lock:
            only_log = not self._greeted
            return self._box.take(now, only_log=only_log), self._box.next_due(now, only_log=only_log)

    def _ring(self) -> None:
        if self._wake is not None:
            self._wake()
