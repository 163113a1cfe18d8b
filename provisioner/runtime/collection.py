"""The only place where Python's garbage collector is held back. It must not know what is built meanwhile."""

import contextlib
import gc
from collections.abc import Iterator


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
