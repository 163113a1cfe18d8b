"""The price table and what is chosen from it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from providers.simulated.catalog import COLUMNS, TypeRow, parse_rows, parse_table, scaled_nanos, select

SHIPPED = Path(__file__).parents[3] / "providers" / "simulated" / "ec2-on-demand.csv"
HEADER = ",".join(COLUMNS)


def test_the_shipped_table_has_forty_types_and_no_fault() -> None:
    rows, faults = parse_table(SHIPPED.read_text())
    assert faults == []
    assert len(rows) >= 40
    assert TypeRow("c6i.large", 2, 4096, 0, "amd64", 85_000_000) in rows
    assert TypeRow("p4d.24xlarge", 96, 1_179_648, 8, "amd64", 21_957_642_000) in rows


def test_columns_may_stand_in_any_order_and_comments_are_skipped() -> None:
    rows, faults = parse_table("# prices\nusd_per_hour,arch,gpu,mem_mib,vcpu,type\n0.5,arm64,0,1024,1,tiny\n")
    assert faults == []
    assert rows == [TypeRow("tiny", 1, 1024, 0, "arm64", 500_000_000)]


def test_an_empty_price_is_unknown_and_not_free() -> None:
    rows, _ = parse_table(f"{HEADER}\nodd,1,1024,0,amd64,\nfree,1,1024,0,amd64,0\n")
    assert [row.price_nanos for row in rows] == [None, 0]


def test_every_faulty_row_is_reported_with_its_number_and_the_others_are_read() -> None:
    text = (
        f"{HEADER}\ngood,1,1,0,amd64,1\nbad,x,1,0,amd64,1\n-,1,1,0,amd64,1\ndear,1,1,0,amd64,-1\ngood,1,1,0,amd64,1\n"
    )
    rows, faults = parse_table(text)
    assert [row.name for row in rows] == ["good"]
    assert [fault.row for fault in faults] == [3, 4, 5, 6]
    assert faults[0].detail == "vcpu must be a whole number"
    assert faults[3].detail == "type good is there twice"


def test_a_missing_column_is_named() -> None:
    assert parse_table("type,vcpu\na,1\n")[1][0].detail == "column missing: mem_mib, gpu, arch, usd_per_hour"


def test_rows_given_inline_may_hold_numbers() -> None:
    row = {"type": "a", "vcpu": 2, "mem_mib": 10, "gpu": 0, "arch": "arm64", "usd_per_hour": 0.25}
    assert parse_rows([row]) == ([TypeRow("a", 2, 10, 0, "arm64", 250_000_000)], [])


def test_types_are_chosen_by_glob_and_an_idle_glob_is_reported() -> None:
    rows, _ = parse_table(SHIPPED.read_text())
    chosen, idle = select(rows, ["m7g.*", "c6i.large", "c9x.*"])
    assert [row.name for row in chosen] == ["c6i.large", "m7g.large", "m7g.xlarge"]
    assert idle == ["c9x.*"]


def test_a_factor_scales_exactly_and_rounds_up() -> None:
    assert scaled_nanos(85_000_000, "0.8") == 68_000_000
    assert scaled_nanos(1, "0.5") == 1
    assert scaled_nanos(3, "0.333333333") == 1


@given(st.integers(0, 10**12), st.integers(0, 10**6))
def test_scaling_never_loses_a_nano_unit(price: int, thousandths: int) -> None:
    scaled = scaled_nanos(price, f"{thousandths / 1000:.3f}")
    assert 0 <= scaled * 1000 - price * thousandths < 1000
