"""Writes to stdout what is no message: `python -m … KIND`."""

import json
import sys

from tests.e2e.hostile.subjects.plain import Message, Plain

FEW = 10
"""Fewer than the twenty lines a minute that restart a provider."""
NO_MESSAGES = (b"42\n", b"[]\n", b'"text"\n', b"null\n", b'{"a":1}\n', b'{"jsonrpc":"2.0"}\n', b"\xff\xfe{}\n")


class Banner(Plain):
    """Greets before the first frame."""

    def run(self) -> None:
        """A banner, then the usual."""
        self.write(b"  *** Bait Cloud CLI 3.1 ***\nlicense: none \x1b[31mred\x1b[0m\n\n")
        super().run()


class Words(Plain):
    """Prints a bare word between two frames."""

    def answer(self, call: Message, result: Message) -> None:
        """A word before each of the first answers."""
        if self.answered < FEW:
            self.write(b"working\n")
        super().answer(call, result)


class Glued(Plain):
    """Prints text and a frame on one line."""

    def send(self, message: Message) -> None:
        """The frame of a list can't be found in its line."""
        if "instances" in message.get("result", {}) and "outcome" not in message["result"]:
            self.write(b"debug: " + json.dumps(message).encode() + b"\n")
        else:
            super().send(message)


class NoMessages(Plain):
    """Writes JSON that is no message."""

    def answer(self, call: Message, result: Message) -> None:
        """Each kind of it once, then good answers."""
        if self.answered < len(NO_MESSAGES):
            self.write(NO_MESSAGES[self.answered])
        super().answer(call, result)


class Chatter(Plain):
    """Prints without an end."""

    def answer(self, call: Message, result: Message) -> None:
        """Thirty lines before each answer."""
        self.write(b"still working\n" * 30)
        super().answer(call, result)


if __name__ == "__main__":
    kinds = {"banner": Banner, "words": Words, "glued": Glued, "no_messages": NoMessages, "chatter": Chatter}
    kinds[sys.argv[1]]().run()
