import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.errors import StateFull, StateUnreadable
from provider_sdk.journal import Journal
from provider_sdk.state import StateFolder
from tests.sdk.test_state import full_disk

NAME = "ledger.jsonl"
RECORDS = st.lists(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc\n", max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=8,
)


def read(folder: Path) -> list[object]:
    journal = Journal(StateFolder(folder), NAME)
    try:
        return journal.open()
    finally:
        journal.close()


@given(RECORDS, st.integers(0, 400))
def test_st_1_a_crash_loses_at_most_the_record_being_written(records: list[object], cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = Journal(StateFolder(folder), NAME)
        assert journal.open() == []
        ends = [0]
        for record in records:
            journal.append(record)
            ends.append((folder / NAME).stat().st_size)
        journal.close()
        assert read(folder) == records
        (folder / NAME).write_bytes((folder / NAME).read_bytes()[:cut])
        whole = max(number for number, end in enumerate(ends) if end <= max(0, cut))
        assert read(folder) == records[:whole]
        again = Journal(StateFolder(folder), NAME)
        again.open()
        again.append("next")
        again.close()
        assert read(folder) == [*records[:whole], "next"]


def test_st_2_a_record_that_finds_no_room_is_not_added_and_harms_no_later_one(tmp_path: Path) -> None:
    journal = Journal(StateFolder(tmp_path), NAME)
    journal.open()
    journal.append({"token": "tk-1"})
    with full_disk(25), pytest.raises(StateFull, match="can't be extended"):
        journal.append({"token": "tk-2"})
    journal.append(3)  # shorter than what was written of the refused one
    journal.close()
    assert read(tmp_path) == [{"token": "tk-1"}, 3]


def test_st_2_a_line_that_makes_no_sense_is_damage(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"a":1}\n\x00\x00\n{"a":2}\n')
    with pytest.raises(StateUnreadable, match="set aside"):
        read(tmp_path)
    assert StateFolder(tmp_path).damage() == (f"{NAME}.unreadable-1",)


def test_a_rewritten_journal_holds_the_new_records_and_goes_on(tmp_path: Path) -> None:
    journal = Journal(StateFolder(tmp_path), NAME)
    journal.open()
    for number in range(5):
        journal.append(number)
    journal.rewrite([4])
    journal.append(5)
    journal.close()
    assert read(tmp_path) == [4, 5]
    with pytest.raises(StateUnreadable, match="is not open"):
        journal.append(6)
