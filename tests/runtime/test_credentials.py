"""Which credential files a provider is given."""

from pathlib import Path

import pytest

from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.credentials import hand_on_files, missing_files


@pytest.fixture
def daemons(tmp_path: Path) -> dict[str, str]:
    """The environment of a daemon that was given two credential files."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "aws.ini").write_text("first")
    (folder / "gcp.json").write_text("not for everybody")
    return {"CREDENTIALS_DIRECTORY": str(folder)}


def test_a_provider_sees_the_files_it_names_and_no_others(tmp_path: Path, daemons: dict[str, str]) -> None:
    own = tmp_path / "own"
    hand_on_files(("aws.ini", "gcp.json"), daemons, own)
    hand_on_files(("aws.ini",), daemons, own)
    assert [p.name for p in own.iterdir()] == ["aws.ini"]
    assert own.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_replaced_later_is_seen(tmp_path: Path, daemons: dict[str, str]) -> None:
    own = tmp_path / "own"
    hand_on_files(("aws.ini",), daemons, own)
    fresh = tmp_path / "fresh"
    fresh.write_text("second")
    fresh.replace(Path(daemons["CREDENTIALS_DIRECTORY"], "aws.ini"))
    assert (own / "aws.ini").read_text() == "second"


def test_a_missing_file_is_named_and_keeps_the_provider_from_starting(tmp_path: Path, daemons: dict[str, str]) -> None:
    with pytest.raises(SpawnRefused, match=r"lsf\.key are not in"):
        hand_on_files(("aws.ini", "lsf.key"), daemons, tmp_path / "own")
    with pytest.raises(SpawnRefused, match="no CREDENTIALS_DIRECTORY to find aws"):
        hand_on_files(("aws.ini",), {}, tmp_path / "own")
    assert not (tmp_path / "own").exists()


def test_who_names_no_file_lacks_none() -> None:
    assert missing_files((), {}) is None
