"""Durations, sizes, percentages and prices, from the text of the file to exact numbers and back.

It alone knows how a quantity is written; it must not know which setting it is for. Everything that is read comes back
as a number or as a Complaint.
"""

import re
from decimal import Decimal
from typing import Final

from attrs import frozen

from provisioner.core.model import Per, Price
from provisioner.core.money import nanos_of
from provisioner.edge.config_fault import quoted

MILLI_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
SIZE_UNITS: Final = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
DECIMAL_SIZES: Final = {"KB": "KiB", "kB": "KiB", "MB": "MiB", "GB": "GiB", "TB": "TiB", "M": "MiB", "G": "GiB"}
PER: Final = {"h": Per.HOUR, "unit-hour": Per.UNIT_HOUR, "purchase": Per.PURCHASE}
PER_ALIASES: Final = {"hour": "h", "hr": "h", "unit_hour": "unit-hour", "unit-h": "unit-hour"}

DURATION = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{1,3})?(?:ms|s|m|h|d))+")
DURATION_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)")
PLAIN_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?) ?([A-Za-z]{1,3})")
PERCENT = re.compile(r"([0-9]{1,4})(?:\.([0-9]))?%")
AMOUNT = r"([0-9]{1,12}(?:\.[0-9]+)?)"
PRICE = re.compile(AMOUNT + r" ([A-Z]{3})/([a-z_-]{1,12})")
PRICE_WITHOUT_TIME = re.compile(AMOUNT + r" ([A-Z]{3})")
DECIMALS_OF_MONEY: Final = 9


@frozen
class Complaint:
    """What is wrong with a text and what to write instead."""

    sentence: str
    remedy: str


def duration_s(text: str) -> float | Complaint:
    """Seconds of `90s`, `10m`, `1h30m`, `7d` or `250ms`."""
    if PLAIN_NUMBER.fullmatch(text):
        return Complaint(f"{text} lacks a unit of time", f'write "{text}s", "{text}m" or "{text}h"')
    if not DURATION.fullmatch(text):
        return Complaint(f"{quoted(text)} is no duration", 'write it like "90s", "10m", "1h30m" or "7d"')
    millis = sum(Decimal(number) * MILLI_UNITS[unit] for number, unit in DURATION_PART.findall(text))
    return float(millis / 1000)


def size_bytes(text: str) -> int | Complaint:
    """Bytes of `16GiB`, `512MiB` or `1.5TiB`."""
    if PLAIN_NUMBER.fullmatch(text):
        return Complaint(f"{text} lacks a unit of size", f'write "{text}MiB", "{text}GiB" or "{text}B"')
    match = SIZE.fullmatch(text)
    if match is None:
        return Complaint(f"{quoted(text)} is no size", 'write it like "512MiB" or "16GiB"')
    number, unit = match.groups()
    if unit in DECIMAL_SIZES:
        right = DECIMAL_SIZES[unit]
        return Complaint(f"{quoted(text)} is not in powers of 1024, as sizes are here", f'write "{number}{right}"')
    if unit not in SIZE_UNITS:
        return Complaint(f"{quoted(unit)} is no unit of size", "write B, KiB, MiB, GiB or TiB")
    size = Decimal(number) * SIZE_UNITS[unit]
    if size != size.to_integral_value():
        return Complaint(f"{quoted(text)} is no whole number of bytes", "use a smaller unit")
    return int(size)


def permille(text: str) -> int | Complaint:
    """Thousandths of `80%` or `92.5%`."""
    match = PERCENT.fullmatch(text)
    if match is None:
        return Complaint(f"{quoted(text)} is no percentage", 'write it like "80%" or "92.5%", with one decimal at most')
    return int(match[1]) * 10 + int(match[2] or "0")


def price(text: str, currency: str) -> Price | Complaint:
    """The price of `3 USD/h`, `2 USD/unit-hour` or `5 USD/purchase`; `currency` is used in the advice only."""
    if PLAIN_NUMBER.fullmatch(text):
        return Complaint(f"{text} lacks a currency and a unit of time", f'write "{text} {currency}/h"')
    bare = PRICE_WITHOUT_TIME.fullmatch(text)
    if bare is not None:
        return Complaint(f"{quoted(text)} lacks a unit of time", f'write "{text}/h"')
    match = PRICE.fullmatch(text)
    if match is None:
        return Complaint(f"{quoted(text)} is no price", f'write it like "3 {currency}/h" or "2 {currency}/unit-hour"')
    amount, money, per = match.groups()
    if per not in PER:
        right = PER_ALIASES.get(per, "h")
        return Complaint(f"{quoted(per)} is not what a price can be for", f'write "{amount} {money}/{right}"')
    if len(amount.partition(".")[2]) > DECIMALS_OF_MONEY:
        return Complaint(f"{quoted(text)} has more than nine decimals", "round it up")
    return Price(nanos_of(amount), money, PER[per])


def thousandths(text: str) -> int | Complaint:
    """Thousandths of a plain number such as `4` or `0.5`, or of a size in bytes such as `16GiB`."""
    if PLAIN_NUMBER.fullmatch(text):
        exact = Decimal(text) * 1000
        if exact != exact.to_integral_value():
            return Complaint(f"{text} has more than three decimals", "round it")
        return int(exact)
    size = size_bytes(text)
    return size if isinstance(size, Complaint) else size * 1000


def duration_text(seconds: float) -> str:
    """Seconds as the file writes them, in the biggest unit that keeps the number whole: 90.0 → `90s`, 600.0 → `10m`."""
    millis = round(seconds * 1000)
    if millis == 0:
        return "0s"
    unit = next(u for u in ("d", "h", "m", "s", "ms") if millis % MILLI_UNITS[u] == 0)
    return f"{millis // MILLI_UNITS[unit]}{unit}"


def size_text(size: int) -> str:
    """Bytes as the file writes them: 1048576 → `1MiB`."""
    unit = next(u for u in ("TiB", "GiB", "MiB", "KiB", "B") if size % SIZE_UNITS[u] == 0 and (size or u == "B"))
    return f"{size // SIZE_UNITS[unit]}{unit}"


def permille_text(share: int) -> str:
    """Thousandths as a percentage: 925 → `92.5%`."""
    return f"{share // 10}%" if share % 10 == 0 else f"{share // 10}.{share % 10}%"


def grouped(number: int) -> str:
    """A whole number for people: 1000000 → `1,000,000`."""
    return f"{number:,}"
