import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provider_sdk.errors import StateFull, StateLocked, StateUnreadable
from provider_sdk.state import StateFolder

MEMORY = "sdk-memory.json"


@contextmanager
def full_disk(room_bytes: int = 8) -> Iterator[None]:
    """A disk that takes no more than this many bytes a file."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_making_the_object_touches_nothing(tmp_path: Path) -> None:
    StateFolder(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_a_record_is_read_as_it_was_written_and_an_absent_one_is_none(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    assert state.read_json("ledger.json") is None
    state.write_json("ledger.json", {"tokens": ["tk-1"]})
    state.write_json("ledger.json", {"tokens": ["tk-1", "tk-2"]})
    assert StateFolder(tmp_path).read_json("ledger.json") == {"tokens": ["tk-1", "tk-2"]}
    assert os.listdir(tmp_path) == ["ledger.json"]
    assert (tmp_path / "ledger.json").stat().st_mode & 0o777 == 0o600
    state.remove("ledger.json")
    state.remove("ledger.json")
    assert state.read_json("ledger.json") is None


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "x\n", "a\0b"])
def test_a_name_never_leaves_the_folder(tmp_path: Path, name: str) -> None:
    state = StateFolder(tmp_path)
    with pytest.raises(ValueError, match="not a plain file name"):
        state.write_json(name, {})
    with pytest.raises(ValueError, match="not a plain file name"):
        state.read_json(name)


def test_st_2_a_full_disk_keeps_the_old_record_and_leaves_no_litter(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.write_json("ledger.json", {"a": 1})
    with full_disk(), pytest.raises(StateFull, match=r"ledger\.json can't be stored"):
        state.write_json("ledger.json", {"a": "much longer than there is room for"})
    assert state.read_json("ledger.json") == {"a": 1}
    assert os.listdir(tmp_path) == ["ledger.json"]


def test_st_2_an_unreadable_record_is_set_aside_reported_and_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    assert state.damage() == ()
    for number in (1, 2):
        (tmp_path / "ledger.json").write_bytes(b'{"tokens": ["tk-')
        with pytest.raises(StateUnreadable, match=f"set aside as ledger.json.unreadable-{number}"):
            state.read_json("ledger.json")
    assert StateFolder(tmp_path).damage() == ("ledger.json.unreadable-1", "ledger.json.unreadable-2")
    assert (tmp_path / "ledger.json.unreadable-1").read_bytes() == b'{"tokens": ["tk-'


def test_what_a_died_process_left_half_written_is_swept_by_the_next_holder(tmp_path: Path) -> None:
    (tmp_path / ".ledger.json.99-1.tmp").write_bytes(b"half")
    state = StateFolder(tmp_path)
    state.lock()
    assert ".ledger.json.99-1.tmp" not in os.listdir(tmp_path)
    state.unlock()


def test_hs_6_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    first, second = StateFolder(tmp_path / "new"), StateFolder(tmp_path / "new")
    first.lock()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    with pytest.raises(StateLocked, match=f"process {os.getpid()} holds"):
        second.lock()
    first.unlock()
    second.lock()
    second.unlock()


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from provider_sdk.state import StateFolder\n"
        "folder = StateFolder(Path(sys.argv[1])); folder.lock(); print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(StateLocked, match=f"process {holder.pid} holds"):
            StateFolder(tmp_path).lock()
        holder.kill()
        holder.wait(timeout=10)
    state = StateFolder(tmp_path)
    state.lock()
    state.unlock()


def test_a_folder_that_can_not_be_made_is_told_clearly(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StateFull, match="can't be used"):
        StateFolder(tmp_path / "file" / "folder").lock()


def test_st_4_an_unreadable_memory_makes_another_state_id_and_stays_reported(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    before = state.remember().state_id
    assert state.remember().state_id == before
    (tmp_path / MEMORY).write_bytes(b'{"state_id": 5, "epochs": {}}')
    assert state.remember().state_id != before
    assert state.damage() == (f"{MEMORY}.unreadable-1",)


def test_ep_1_a_claim_that_can_not_be_stored_is_no_claim(tmp_path: Path) -> None:
    state = StateFolder(tmp_path)
    state.claim_epoch("l-1", 3)
    with full_disk(), pytest.raises(StateFull):
        state.claim_epoch("l-1", 4)
    assert state.highest_epoch("l-1") == 3


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["l-1", "l-2"]), st.integers(0, 9)), max_size=12))
def test_ep_1_the_highest_epoch_of_each_lineage_is_never_forgotten(claims: list[tuple[str, int]]) -> None:
    seen = {"l-1": 0, "l-2": 0}
    with tempfile.TemporaryDirectory() as folder:
        for lineage, epoch in claims:
            claim = StateFolder(Path(folder)).claim_epoch(lineage, epoch)
            assert claim.granted == (epoch >= seen[lineage])
            assert claim.highest == seen[lineage]
            seen[lineage] = max(seen[lineage], epoch)
            assert StateFolder(Path(folder)).highest_epoch(lineage) == seen[lineage]
