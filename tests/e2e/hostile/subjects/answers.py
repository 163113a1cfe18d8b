"""Answers at the wrong time, of the wrong number, or without end: `python -m … KIND`."""

import json
import sys
import threading
import time

from tests.e2e.hostile.subjects.plain import Message, Plain

LATE_S = 3.0
"""Over the time that the daemon waits for an answer of these, under that at which it ends them."""
FLOOD = 200
UNASKED = 2000


class Twice(Plain):
    """Answers everything twice, the second time with other words."""

    def answer(self, call: Message, result: Message) -> None:
        """The second answer says that nothing is there."""
        super().answer(call, result)
        super().answer(call, {"instances": [], "age_s": 0, "complete": True, "templates": [], "revision": "2"})


class Late(Plain):
    """Answers purchases and lists after the daemon has given up."""

    def take(self, call: Message) -> None:
        """Late ones from a thread, so that the rest goes on."""
        if call["method"] in {"request", "list"}:
            threading.Timer(LATE_S, super().take, [call]).start()
        else:
            super().take(call)


class Never(Plain):
    """Never answers a purchase or a list."""

    def take(self, call: Message) -> None:
        """Silence for some."""
        if call["method"] not in {"request", "list"}:
            super().take(call)


class UnknownIds(Plain):
    """Answers calls that were never made."""

    def answer(self, call: Message, result: Message) -> None:
        """Hundreds of them before the good answer."""
        for n in range(FLOOD):
            self.send({"jsonrpc": "2.0", "id": 1_000_000 + n, "result": result})
        self.send({"jsonrpc": "2.0", "id": "a string", "result": result})
        self.send({"jsonrpc": "2.0", "id": None, "result": result})
        super().answer(call, result)


class Swapped(Plain):
    """Answers out of order: two calls wait for one another for up to a third of a second."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[tuple[Message, Message]] = []
        self._lock = threading.Lock()

    def take(self, call: Message) -> None:
        """Kept back, and sent in reverse."""
        result = self.result(call)
        with self._lock:
            self._kept.append((call, result))
        threading.Timer(0.3, self._flush).start()

    def _flush(self) -> None:
        with self._lock:
            for call, result in reversed(self._kept):
                self.answer(call, result)
            self._kept.clear()


class Eager(Plain):
    """Answers before it reads."""

    def answer(self, call: Message, result: Message) -> None:
        """After each answer the next ones, with what it takes to be their numbers."""
        super().answer(call, result)
        for ahead in range(1, 9):
            guess = {"instances": [], "age_s": 0, "complete": True, "health": "ok", "requests": [], "items": []}
            self.send({"jsonrpc": "2.0", "id": call["id"] + ahead, "result": guess})


class Notifier(Plain):
    """Floods the daemon with one notification as fast as the pipe takes it."""

    def __init__(self, name: str, params: Message) -> None:
        super().__init__()
        self._flood = json.dumps({"jsonrpc": "2.0", "method": name, "params": params}).encode() + b"\n"
        self._lock = threading.Lock()

    def write(self, data: bytes) -> None:
        """Whole frames, from both threads."""
        with self._lock:
            super().write(data)

    def initialize(self, params: Message) -> Message:
        """The flood begins with the handshake."""
        threading.Thread(target=self._pour, daemon=True).start()
        return super().initialize(params)

    def _pour(self) -> None:
        while True:
            self.write(self._flood * FLOOD)


class Asker(Plain):
    """Sends requests to the daemon, without end."""

    def answer(self, call: Message, result: Message) -> None:
        """Thousands before each answer."""
        ask = [
            json.dumps({"jsonrpc": "2.0", "id": n, "method": "initialize", "params": {}}).encode()
            for n in range(UNASKED)
        ]
        self.write(b"\n".join(ask) + b"\n")
        super().answer(call, result)


class Spinner(Plain):
    """Takes all the processor it can get, and answers slowly."""

    def run(self) -> None:
        """Three busy threads beside the usual."""
        for _ in range(3):
            threading.Thread(target=self._spin, daemon=True).start()
        super().run()

    def _spin(self) -> None:
        while True:
            sum(range(10_000))


class Glutton(Plain):
    """Takes more and more memory."""

    def run(self) -> None:
        """A growing heap beside the usual."""
        threading.Thread(target=self._grow, daemon=True).start()
        super().run()

    def _grow(self) -> None:
        kept = []
        while True:
            kept.append(bytearray(b"\1") * (4 << 20))
            time.sleep(0.01)


if __name__ == "__main__":
    everything = [f"i-{n}" for n in range(1000)]
    notices = [{"instance": ref, "kind": "reclaim"} for ref in everything]
    kinds = {
        "twice": Twice,
        "late": Late,
        "never": Never,
        "unknown_ids": UnknownIds,
        "swapped": Swapped,
        "eager": Eager,
        "changed": lambda: Notifier("changed", {"what": ["description", "instances", "health"]}),
        "changed_named": lambda: Notifier("changed", {"what": ["instances"], "instances": everything}),
        "log": lambda: Notifier("log", {"level": "info", "text": "x" * 400}),
        "notice": lambda: Notifier("notice", {"items": notices}),
        "progress": lambda: Notifier("progress", {"request_id": "none", "phase": "x", "eta_s": 1}),
        "unknown": lambda: Notifier("x-made-up", {"a": ["b"] * 100}),
        "asker": Asker,
        "spinner": Spinner,
        "glutton": Glutton,
    }
    kinds[sys.argv[1]]().run()
