"""What every target shares: an oracle that speaks in sentences, and streams cut the same way for the same bytes."""

import zlib
from collections.abc import Awaitable, Callable
from random import Random

import trio
from trio.testing import MockClock


class Broken(AssertionError):
    """An oracle that does not hold, with its sentence."""


def check(holds: bool, sentence: str) -> None:
    """Raises Broken with the sentence unless it holds."""
    if not holds:
        raise Broken(sentence)


def run_the_same(play: Callable[..., Awaitable[None]], *args: object) -> None:
    """Runs tasks in virtual time, in an order that is the same each time: a case must fail twice or never."""
    run = trio._core._run
    setattr(run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - trio's own switch for tests, not typed as one
    getattr(run, "_r").seed(1)  # noqa: B009
    trio.run(play, *args, clock=MockClock(autojump_threshold=0))


def pieces(data: bytes, seed: int | None = None) -> list[bytes]:
    """The stream in pieces, cut at places that follow from the bytes alone, or from the seed given."""
    rng = Random(zlib.crc32(data) if seed is None else seed)
    if rng.random() < 0.5:
        return [data]
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 6)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
