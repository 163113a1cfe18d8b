"""Lines, frames and logs of extreme sizes: `python -m … KIND`."""

import json
import os
import sys

from tests.e2e.hostile.subjects.plain import Message, Plain

MIB = 1 << 20
ENDLESS_MIB = 2048
OVERSIZE_MIB = 17


class EndlessLine(Plain):
    """Writes 2 GiB without a newline as soon as it is open."""

    def answer(self, call: Message, result: Message) -> None:
        """The handshake is good, then the line begins."""
        super().answer(call, result)
        if call["method"] == "initialize":
            for _ in range(ENDLESS_MIB):
                self.write(b"x" * MIB)


class BigList(Plain):
    """Lists a thousand things of nearly eight kilobytes each: as much as the contract allows."""

    def list(self, params: Message) -> Message:
        """Over 7 MiB."""
        found = super().list(params)
        thing = {"template": "bait", "units": 1, "state": "running", "access": {}}
        for n in range(1000 - len(found["instances"])):
            access = {f"k{k}": "v" * 1900 for k in range(4)}
            found["instances"].append({**thing, "instance": f"big-{n}", "access": access})
        assert len(json.dumps(found)) > 7 * MIB
        return found


class Oversize(Plain):
    """Answers `list` by a frame over the limit, with a good one right behind it."""

    def answer(self, call: Message, result: Message) -> None:
        """17 MiB and a good answer in one write."""
        good = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode() + b"\n"
        if call["method"] == "list":
            self.write(b'{"jsonrpc":"2.0","id":1,"result":{"x":"' + b"x" * (OVERSIZE_MIB * MIB) + b'"}}\n' + good)
        else:
            self.write(good)


class HalfFrame(Plain):
    """Writes half of its list and ends."""

    def answer(self, call: Message, result: Message) -> None:
        """The answer is cut in the middle."""
        if call["method"] == "list":
            self.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()[:20])
            os._exit(0)
        super().answer(call, result)


class LoudStderr(Plain):
    """Writes a mebibyte to stderr before each answer, in lines of 256 KiB, the last of which never ends."""

    def answer(self, call: Message, result: Message) -> None:
        """Three ended lines and one that is not."""
        line = b"e" * (256 * 1024)
        sys.stderr.buffer.write(line + b"\n" + line + b"\n" + line + b"\n" + line)
        sys.stderr.buffer.flush()
        super().answer(call, result)


class StderrFlood(Plain):
    """Writes short lines to stderr as fast as it can, beside its answers."""

    def run(self) -> None:
        """A child writes; this one answers."""
        if os.fork() == 0:
            while True:
                os.write(2, b"a line of a log that nobody wants\n" * 500)
        super().run()


if __name__ == "__main__":
    kinds = {
        "endless_line": EndlessLine,
        "big_list": BigList,
        "oversize": Oversize,
        "half_frame": HalfFrame,
        "loud_stderr": LoudStderr,
        "stderr_flood": StderrFlood,
    }
    kinds[sys.argv[1]]().run()
