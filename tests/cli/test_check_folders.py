"""`check` has nothing against a folder that the daemon makes, and names one that it could not make."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from provisioner.cli.check import surroundings
from provisioner.cli.exits import Exit
from provisioner.edge.config_file import Faults, read_settings
from provisioner.runtime.links.places import settle_place
from tests.cli.typed import typed

CONFIG = """
version: 1
cluster: clu
controller: {{sqlite: {facts}}}
listen: {{socket: {socket}}}
budgets: none
providers:
  east: {{command: [{program}]}}
"""
NOBODY = 65_534


def checked(folder: Path, facts: Path, socket: Path) -> list[str]:
    """What the machine lacks for such places."""
    text = CONFIG.format(facts=facts, socket=socket, program=sys.executable)
    settings = read_settings(text, file="clu.yaml", folder=str(folder))
    assert not isinstance(settings, Faults)
    return surroundings(settings)


def test_the_folder_that_the_daemon_makes_for_its_facts_is_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "clu.yaml"
    config.write_text(
        CONFIG.format(facts="new/facts.db", socket="new/api.sock", program=sys.executable), encoding="utf-8"
    )
    assert typed(capsys, "check", config).code == Exit.OK
    assert not (tmp_path / "new").exists()
    settle_place(tmp_path / "new" / "facts.db")
    assert typed(capsys, "check", config).code == Exit.OK


def test_a_folder_above_that_is_missing_is_named(tmp_path: Path) -> None:
    assert checked(tmp_path, tmp_path / "a" / "b" / "facts.db", tmp_path / "api.sock") == [
        f"controller.sqlite: the folder {tmp_path / 'a'} does not exist; make it"
    ]


def test_another_folder_for_the_socket_is_not_made_by_the_daemon(tmp_path: Path) -> None:
    assert checked(tmp_path, tmp_path / "new" / "facts.db", tmp_path / "run" / "api.sock") == [
        f"listen.socket: the folder {tmp_path / 'run'} does not exist; make it"
    ]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    assert checked(tmp_path, tmp_path / "file" / "facts.db", tmp_path / "api.sock") == [
        f"controller.sqlite: {tmp_path / 'file'} is no folder; name another place"
    ]


def test_a_parent_in_which_one_may_not_write_is_named() -> None:
    with TemporaryDirectory() as root:
        shut = Path(root) / "shut"
        shut.mkdir(mode=0o555)
        Path(root).chmod(0o755)
        told = checked_without_rights(shut, shut / "new" / "facts.db", shut / "api.sock")
    assert told == [
        f"controller.sqlite: the folder {shut / 'new'} can't be made in {shut}; make it, or let this user write there"
    ]


def checked_without_rights(folder: Path, facts: Path, socket: Path) -> list[str]:
    """The same as somebody whom modes bind, which root is not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        return [told for told in checked(folder, facts, socket) if told.startswith("controller.")]
    finally:
        os.seteuid(before)
