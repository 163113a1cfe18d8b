"""Exact money: integer nano-units (1e-9 of the currency), always rounded up against ourselves; never float."""

NANOS = 1_000_000_000
SECONDS_PER_HOUR = 3600
MILLIS = 1000


def hourly_cost_nanos(price_nanos: int, units: int, seconds: float) -> int:
    """Nano-units for `units` at `price_nanos` per hour over `seconds`, rounded up to a millisecond and a nano-unit."""
    millis = -int(-seconds * MILLIS // 1) if seconds > 0 else 0
    return -(-price_nanos * units * millis // (SECONDS_PER_HOUR * MILLIS))


def billable_s(seconds: float, quantum_s: int, minimum_s: int) -> float:
    """The seconds that are charged for `seconds` of life: at least the minimum, in whole quanta (1 s or more)."""
    charged = max(seconds, float(minimum_s), 0.0)
    return float(-(-charged // quantum_s) * quantum_s)


def decimal_text(nanos: int) -> str:
    """The amount as a plain decimal string, without trailing zeros: 1500000000 → "1.5"."""
    sign, whole, part = ("-" if nanos < 0 else ""), abs(nanos) // NANOS, abs(nanos) % NANOS
    fraction = f"{part:09d}".rstrip("0")
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def nanos_of(text: str) -> int:
    """Nano-units of a plain decimal string, rounded up; ValueError if it is none."""
    whole, _, fraction = text.partition(".")
    if not whole.isdigit() or (fraction and not fraction.isdigit()) or text.endswith("."):
        raise ValueError(f"not a plain decimal amount: {text!r}")
    kept, rest = fraction[:9].ljust(9, "0"), fraction[9:].strip("0")
    return int(whole) * NANOS + int(kept) + (1 if rest else 0)
