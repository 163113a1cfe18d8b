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
