"""A file that has no end is told as one that is too long, at once."""

from pathlib import Path

import pytest

from tests.cli.typed import typed


def test_a_device_without_an_end_is_told_as_a_file_that_is_too_long(capsys: pytest.CaptureFixture[str]) -> None:
    said = typed(capsys, "check", "/dev/zero")
    assert said.code == 1
    assert "/dev/zero:1:1: the file is longer than 1 MiB" in said.out


def test_a_character_that_is_cut_at_the_bound_is_no_fault_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "p.yaml"
    config.write_text("# " + "é" * (5 * 1024 * 1024), encoding="utf-8")
    config.write_bytes(b"#" + config.read_bytes())
    said = typed(capsys, "check", config)
    assert said.code == 1
    assert "the file is longer than 1 MiB" in said.out
