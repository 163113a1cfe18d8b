"""Times of the REST interface: RFC 3339 with any offset to epoch seconds, and epoch seconds to RFC 3339 UTC.

It alone knows how a time is written here; it reads no clock.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION: Final = re.compile(r"\.[0-9]+")
LAST_AT: Final = 32_503_680_000.0
"""The year 3000: what lies beyond is a slip (milliseconds for seconds), not a time."""


def read_time(text: str) -> float | None:
    """Epoch seconds of an RFC 3339 time with `Z` or an offset, years 1970 to 2999; None if it is none."""
    if not TIME.fullmatch(text):
        return None
    fraction = _FRACTION.search(text)
    part_s = float(f"0{fraction.group()}") if fraction else 0.0
    try:
        moment = datetime.fromisoformat(_FRACTION.sub("", text).upper())
    except ValueError:
        return None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return seconds + part_s if 0 <= seconds < LAST_AT else None


def time_text(at: float | None) -> str | None:
    """RFC 3339 UTC to the millisecond, such as `2031-03-04T17:58:12.5Z`; None of None."""
    if at is None:
        return None
    seconds, millis = divmod(round(min(max(at, 0.0), LAST_AT) * 1000), 1000)
    # isoformat is several times faster than a format of one's own, and a page prints thousands of times.
    text = datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
    return f"{text}.{millis:03d}".rstrip("0") + "Z" if millis else f"{text}Z"
