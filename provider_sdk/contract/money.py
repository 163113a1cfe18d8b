"""Amounts of the contract: decimal text to integer nano-units and back, never through floating point.

Alone responsible for this conversion. A nano-unit is 1e-9 of the currency.
"""

import re
from typing import Final

NANOS: Final = 10**9
_DECIMAL: Final = re.compile(r"^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,64}))?\Z")


def amount_to_nanos(amount: str) -> int:
    """Return the nano-units of a decimal `amount`, rounded up past the ninth decimal; ValueError if it is none."""
    found = _DECIMAL.match(amount)
    if not found:
        raise ValueError('not an amount like "2.19"')
    decimals = found[2] or ""
    rounding = 1 if decimals[9:].strip("0") else 0
    return int(found[1]) * NANOS + int(decimals[:9].ljust(9, "0")) + rounding


def nanos_to_amount(nanos: int) -> str:
    """Return `nanos` (0 up to below 1e21) as the shortest exact amount; ValueError outside."""
    if not 0 <= nanos < 10**12 * NANOS:
        raise ValueError("an amount must be at least 0 and below 1,000,000,000,000")
    whole, rest = divmod(nanos, NANOS)
    return f"{whole}.{rest:09d}".rstrip("0") if rest else str(whole)
