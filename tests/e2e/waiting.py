"""Waits of tests on real processes: a look again and again, with a bound and a sentence for when it is over."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.e2e.rest import Unanswered

LOOK_EVERY_S = 0.05
PATIENCE_S = 60.0
"""Only a test that fails waits this long: a busy machine must not fail one."""

T = TypeVar("T")


def wait_until(what: str, look: Callable[[], T], within_s: float = PATIENCE_S) -> T:
    """The first true thing that `look` gives; who does not answer is asked again. AssertionError when over."""
    last: object = None
    over_s = time.monotonic() + within_s
    while True:
        try:
            found = look()
        except Unanswered as silence:
            last = silence
        else:
            if found:
                return found
            last = found
        if time.monotonic() > over_s:
            raise AssertionError(f"after {within_s:g} s not yet: {what}; last seen: {last!r}")
        time.sleep(LOOK_EVERY_S)
