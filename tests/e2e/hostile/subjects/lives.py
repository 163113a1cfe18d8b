"""Processes that end too early, too late, or leave others behind: `python -m … KIND`."""

import contextlib
import os
import signal
import sys
import time

from tests.e2e.hostile.subjects.plain import Message, Plain, template

CHILDREN = 50
LONG_S = 3600


def rest() -> None:
    """Does nothing for an hour."""
    end_s = time.monotonic() + LONG_S
    while time.monotonic() < end_s:
        time.sleep(LONG_S)


def sleeper(*, own_session: bool) -> None:
    """Leaves a process behind that holds every pipe and ignores SIGTERM."""
    if os.fork() == 0:
        if own_session:
            os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rest()


class Deaf(Plain):
    """Stops reading stdin after the handshake, lives on and ignores SIGTERM."""

    def take(self, call: Message) -> None:
        """The handshake is its last word."""
        super().take(call)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if call["method"] == "initialize":
            rest()


class Stubborn(Plain):
    """Works well, and ends neither at the end of stdin nor by SIGTERM."""

    def run(self) -> None:
        """SIGKILL alone ends it."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        super().run()
        rest()


class Parent(Plain):
    """Leaves a process in its group that holds its pipes; ends at the first list."""

    def list(self, _params: Message) -> Message:
        """One more child, then the end."""
        sleeper(own_session=False)
        os._exit(0)


class Escaper(Plain):
    """Leaves a process in a session of its own that holds its pipes; ends at the first list."""

    def list(self, _params: Message) -> Message:
        """One more child, then the end."""
        sleeper(own_session=True)
        time.sleep(0.2)
        os._exit(0)


class Bomb(Plain):
    """Starts fifty children that hold its pipes, every other one in a session of its own."""

    def initialize(self, params: Message) -> Message:
        """All of them during the handshake."""
        for n in range(CHILDREN):
            sleeper(own_session=bool(n % 2))
        return super().initialize(params)


class Closer(Plain):
    """Closes stdout after the handshake and lives on."""

    def answer(self, call: Message, result: Message) -> None:
        """Answers, and can't afterwards."""
        super().answer(call, result)
        os.close(1)
        rest()

    def send(self, message: Message) -> None:
        """Nothing can be sent any more."""
        with contextlib.suppress(OSError):
            super().send(message)


class DiesOpening(Plain):
    """Ends in the middle of the handshake."""

    def initialize(self, _params: Message) -> Message:
        """Half an answer."""
        self.write(b'{"jsonrpc":"2.0","id":1,"res')
        os._exit(3)


class DiesAtFirst(Plain):
    """Ends at the first call after the handshake."""

    def describe(self, _params: Message) -> Message:
        """No answer at all."""
        os._exit(4)


class DiesBuying(Plain):
    """Ends at each purchase; it is the cheapest of all."""

    def describe(self, _params: Message) -> Message:
        """Nearly free."""
        return {"revision": "1", "templates": [{**template(), "price": {**template()["price"], "amount": "0.01"}}]}

    def request(self, _params: Message) -> Message:
        """No answer at all."""
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


if __name__ == "__main__":
    kinds = {
        "deaf": Deaf,
        "stubborn": Stubborn,
        "parent": Parent,
        "escaper": Escaper,
        "bomb": Bomb,
        "closer": Closer,
        "dies_opening": DiesOpening,
        "dies_at_first": DiesAtFirst,
        "dies_buying": DiesBuying,
    }
    kinds[sys.argv[1]]().run()
