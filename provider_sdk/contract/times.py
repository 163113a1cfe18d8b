"""Times of the contract: RFC 3339 UTC text to seconds of the Unix epoch and back.

Alone responsible for this conversion. Pure: reads no clock.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from provider_sdk.contract.forms import TIME_PATTERN

_TIME: Final = re.compile(TIME_PATTERN)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LAST_MS: Final = (datetime(2999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC) - _EPOCH) // _MILLISECOND


def parse_time(text: str) -> float:
    """Return the seconds of the Unix epoch that `text` (`2031-03-04T17:58:12Z`) names; ValueError otherwise."""
    if not _TIME.match(text):
        raise ValueError("not a time like 2031-03-04T17:58:12Z")
    return ((datetime.fromisoformat(text) - _EPOCH) // _MILLISECOND) / 1000


def format_time(at: float) -> str:
    """Return the epoch seconds `at` (1970 to 2999) as RFC 3339 UTC, rounded to milliseconds; ValueError otherwise."""
    milliseconds = round(at * 1000)
    if not 0 <= milliseconds <= _LAST_MS:
        raise ValueError("a time must lie between the years 1970 and 2999")
    moment = _EPOCH + milliseconds * _MILLISECOND
    fraction = f".{moment.microsecond // 1000:03d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"
