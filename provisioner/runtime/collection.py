"""The only place where Python's garbage collector is held back. It must not know what is built meanwhile."""

import contextlib
import gc
from collections.abc import Iterator
from typing import Final

__all__ = ["built_to_stay", "collect_seldom", "no_collection"]

_NEW_OBJECTS: Final = 10_000
"""So many more objects than before are walked over, not 700: a batch of answers alone makes some thousands, and each
walk counts what is under way as old, until all that is old is walked over too: a third of what idle providers cost."""


def collect_seldom() -> None:
    """At start-up: the garbage collector, which is only needed for cycles, waits for more of them."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector from walking, again and again, over what only grows: half of the time of a load."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextlib.contextmanager
def built_to_stay() -> Iterator[None]:
    """The same, for what lives as long as the process: later collections don't walk over it either.

    It is still freed when nothing refers to it any more; only cycles within it would stay, and values have none.
    """
    with no_collection():
        yield
        gc.freeze()
