"""Thousands of calls through the whole daemon, and what they leave of its memory.

It alone knows the path they take: REST, the provider's pipe, its answer. It judges nothing.
"""

from tests.e2e.hostile.stage import GOOD, Stage

READINGS = 10
METHODS = ("ping", "list", "describe")


def memory_over_calls(stage: Stage, count: int) -> list[int]:
    """Makes so many calls of the good provider; the daemon's resident memory, in bytes, after each tenth of them."""
    found: list[int] = []
    for number in range(count):
        answer = stage.daemon.rest.ask(
            "POST", f"/v1/providers/{GOOD}/call", {"method": METHODS[number % len(METHODS)], "params": {}}
        )
        assert answer.status == 200, answer
        assert answer.body["outcome"] == "answered", answer
        if (number + 1) % (count // READINGS) == 0:
            found.append(stage.rss())
    return found
