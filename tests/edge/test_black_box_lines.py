"""The lines of the black box read back what was written, whatever a provider says."""

from hypothesis import given
from hypothesis import strategies as st

from provisioner.edge.black_box import Direction, Record, read_records, record_line

RECORDS = st.builds(
    Record,
    at=st.floats(1.7e9, 3e9).map(lambda s: round(s, 6)),
    boot_s=st.floats(0, 1e8).map(lambda s: round(s, 6)),
    number=st.integers(0, 10**9),
    direction=st.sampled_from(Direction),
    size=st.integers(0, 2**40),
    body=st.binary(max_size=300).map(lambda body: body.replace(b"\n", b"")),
    is_cut=st.booleans(),
    is_hidden=st.booleans(),
    is_torn=st.booleans(),
)


@given(st.lists(RECORDS, max_size=6))
def test_records_are_read_back_as_they_were_written(records: list[Record]) -> None:
    assert list(read_records(b"".join(map(record_line, records)))) == records


@given(RECORDS, st.integers(1, 400))
def test_a_line_without_its_end_loses_no_other_record(record: Record, missing: int) -> None:
    whole = record_line(record)
    torn = whole[: max(0, len(whole) - missing)]
    first, *_, last = read_records(whole + torn + b"\n" + whole)
    assert first == last == record


@given(st.binary(max_size=300))
def test_what_is_no_black_box_is_read_as_nothing_or_as_records_and_never_fails(data: bytes) -> None:
    assert all(isinstance(record, Record) for record in read_records(data))


def test_a_line_end_inside_a_note_does_not_break_the_line() -> None:
    (record,) = read_records(record_line(Record(1.0, 2.0, 3, Direction.NOTE, 3, b"a\nb")))
    assert record.text == "a b"
