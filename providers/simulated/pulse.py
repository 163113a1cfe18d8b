"""Tells the daemon of itself when something happens in the cloud: instances made, up, ended, or under notice.

Knows the cloud's times and the notifier; must not know calls. Everything it says also stands in the next answer (NT-1).
"""

import sqlite3
import threading

from provider_sdk.contract.messages import NoticeItem
from provider_sdk.contract.times import format_time
from provider_sdk.contract.words import NoticeKind
from providers.simulated.lives import Life
from providers.simulated.records import Thing
from providers.simulated.site import Site

_LONGEST_WAIT_S = 60.0  # another provider may write into the same cloud
_AFTER_TROUBLE_S = 1.0


class Pulse:
    """One thread that sleeps until the next thing happens; it changes nothing."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._woken = threading.Event()
        self._ended = threading.Event()
        self._seen_ms = site.now_ms()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look again: something was bought or given back."""
        self._woken.set()

    def end(self) -> None:
        """End the thread and every wait ordered by a fault."""
        self._ended.set()
        self._site.faults.closing.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def beat(self) -> float:
        """Tell what happened since the last beat; return the seconds until the next thing happens."""
        now = self._site.now_ms()
        things = self._site.cloud.turned(self._site.account, self._seen_ms, now)
        since, self._seen_ms = self._seen_ms, now
        if things:
            self._tell(things, since, now)
        due = self._site.cloud.next_turn_ms(now)
        return min(_LONGEST_WAIT_S, max(0.0, (due - now) / 1000))

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                wait_s = self.beat()
            except sqlite3.Error as trouble:
                if self._ended.is_set():
                    return
                self._site.notify.log("warning", f"the cloud's books can't be read just now ({type(trouble).__name__})")
                wait_s = _AFTER_TROUBLE_S
            self._woken.wait(wait_s)
            self._woken.clear()

    def _tell(self, things: list[Thing], since_ms: int, now_ms: int) -> None:
        self._site.notify.changed(
            "instances",
            instances=[thing.instance for thing in things],
            requests=dict.fromkeys(str(thing.mark["request_id"]) for thing in things),
        )
        noticed = [thing for thing in things if since_ms < thing.life.notice_ms <= now_ms < thing.life.gone_ms]
        if noticed:
            self._site.notify.notice(_notice(thing.instance, thing.life) for thing in noticed)


def _notice(instance: str, life: Life) -> NoticeItem:
    return NoticeItem(instance, NoticeKind.RECLAIM, format_time(life.reclaim_ms / 1000))
