"""`provisioner provider new` writes a whole skeleton, or nothing."""

import json
import os
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from provider_sdk.config_check import config_faults
from provider_sdk.testing import read_subject
from provisioner.cli.main import main
from provisioner.cli.provider_new import FILES, SKELETON
from provisioner.edge.config_file import Faults, read_settings


def test_everything_is_written_with_the_name_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "folder"
    assert main(["provider", "new", "my-cloud-2", "--dir", str(folder)]) == 0
    assert {path.name for path in folder.iterdir()} == {
        "my_cloud_2.py",
        "far_side.py",
        "config.schema.json",
        "test_my_cloud_2.py",
        "subject.json",
        "provisioner.yaml",
        "README.md",
        "run",
    }
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.is_file()}
    assert [name for name, text in texts.items() if re.search("@[A-Z]+@", text)] == []
    assert "class MyCloud2Provider(" in texts["my_cloud_2.py"]
    assert os.access(folder / "my_cloud_2.py", os.X_OK)
    shown = capsys.readouterr().out
    assert "python -m provider_sdk.testing --config subject.json -- python my_cloud_2.py" in shown


def test_every_file_of_the_skeleton_is_written() -> None:
    assert {path.name for path in SKELETON.iterdir()} == set(FILES)


def test_the_skeletons_own_files_are_right(tmp_path: Path) -> None:
    assert main(["provider", "new", "rack", "--dir", str(tmp_path / "rack")]) == 0
    folder = tmp_path / "rack"
    schema = json.loads((folder / "config.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    subject = read_subject(("python", str(folder / "rack.py")), folder / "subject.json", {})
    assert config_faults(schema, subject.config) == ()
    assert config_faults(schema, subject.bad_config or {}) != ()
    settings = read_settings((folder / "provisioner.yaml").read_text(), file="x", folder=str(folder))
    assert not isinstance(settings, Faults)
    assert settings.providers["rack"].command == (str(folder / "rack.py"),)


def test_nothing_is_ever_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["provider", "new", "rack", "--dir", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["Rack", "my_rack", "-rack", "rack-", "9rack", "r" * 41, "", "a/b", "../x", "rück"])
def test_a_name_that_the_contract_does_not_take_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["provider", "new", "--dir", str(tmp_path / "x"), "--", name]) == 2
    assert "a provider's name has" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("name", ["json", "trio", "class", "far-side", "provider-sdk"])
def test_a_name_that_would_hide_a_python_module_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["provider", "new", name, "--dir", str(tmp_path / "x")]) == 2
    assert "the name of a Python module" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["provider", "new", "rack", "--dir", str(tmp_path / "file")]) == 2
    assert "can't be written" in capsys.readouterr().err
