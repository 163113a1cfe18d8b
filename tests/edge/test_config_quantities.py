"""Quantities from text to exact numbers and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.core.model import Per, Price
from provisioner.edge import quantities
from provisioner.edge.quantities import Complaint


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("250ms", 0.25), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400), ("7d", 604800)],
)
def test_durations_are_read_with_their_unit(text: str, seconds: float) -> None:
    assert quantities.duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10 m", "10min", "-5s", "1e3s", "5M", "٣s", "1.2345s"])
def test_what_is_no_duration_is_complained_of(text: str) -> None:
    assert isinstance(quantities.duration_s(text), Complaint)


@pytest.mark.parametrize(
    ("text", "size"), [("0B", 0), ("1KiB", 1024), ("16 GiB", 16 * 2**30), ("1.5MiB", 1572864), ("2TiB", 2**41)]
)
def test_sizes_are_powers_of_1024(text: str, size: int) -> None:
    assert quantities.size_bytes(text) == size


@pytest.mark.parametrize("text", ["16", "16GB", "16Gib", "0.3B", "GiB", "-1MiB"])
def test_what_is_no_size_is_complained_of(text: str) -> None:
    assert isinstance(quantities.size_bytes(text), Complaint)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("3 USD/h", Price(3_000_000_000, "USD", Per.HOUR)),
        ("0.0000001 USD/unit-hour", Price(100, "USD", Per.UNIT_HOUR)),
        ("5 EUR/purchase", Price(5_000_000_000, "EUR", Per.PURCHASE)),
    ],
)
def test_prices_are_exact_nano_units(text: str, price: Price) -> None:
    assert quantities.price(text, "USD") == price


@given(st.integers(min_value=0, max_value=10**12))
def test_a_printed_duration_reads_back_as_itself(millis: int) -> None:
    assert quantities.duration_s(quantities.duration_text(millis / 1000)) == millis / 1000


@given(st.integers(min_value=0, max_value=10**15 - 1))
def test_a_printed_size_reads_back_as_itself(size: int) -> None:
    assert quantities.size_bytes(quantities.size_text(size)) == size


@given(st.integers(min_value=0, max_value=99_999))
def test_a_printed_percentage_reads_back_as_itself(share: int) -> None:
    assert quantities.permille(quantities.permille_text(share)) == share
