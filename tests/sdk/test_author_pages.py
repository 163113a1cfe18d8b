"""The pages for authors: what they show runs, what they name exists, and the face of the SDK is on them."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from provider_sdk import authoring, contract
from provider_sdk.testing import main as examine

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = (ROOT / "docs" / "how-to" / "write-a-provider.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "sdk.md").read_text(encoding="utf-8")
CLAUSES = "HS-4,HS-9,DS-1,RQ-1,RQ-4,RQ-5,RT-1,RT-4,LS-3,LS-6,ST-1,ST-2,EP-1,EP-4,PR-return.partial,PR-limits.min_units"


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def test_the_provider_on_the_page_is_under_100_lines_and_keeps_the_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = python_blocks(HOW_TO)[0]
    assert len(whole.splitlines()) < 100
    (tmp_path / "seats.py").write_text(whole, encoding="utf-8")
    (tmp_path / "subject.json").write_text('{"units": 3, "bad_config": {"seats": 0, "sets": 1}, "settle_s": 10}')
    kit = ["--config", str(tmp_path / "subject.json"), "--only", CLAUSES]
    code = examine([*kit, "--", sys.executable, str(tmp_path / "seats.py")])
    assert (code, "FAIL" in (shown := capsys.readouterr().out)) == (0, False), shown
    assert len(re.findall(r"^pass ", shown, re.M)) >= 14


def test_every_name_of_the_sdk_is_a_word_of_its_reference() -> None:
    own = set(authoring.__all__) - set(contract.__all__)
    assert {name for name in own if f"`{name}" not in REFERENCE} == set()


def test_every_method_of_the_sdk_a_page_shows_exists() -> None:
    for owner, method in re.findall(r"`([A-Z]\w+)\.(\w+)", REFERENCE + HOW_TO):
        if owner in authoring.__all__ and owner not in ("ErrorClass", "Capability", "Start", "Opened"):
            assert hasattr(getattr(authoring, owner), method), f"{owner}.{method}"


def test_the_face_of_the_sdk_is_chosen_by_hand() -> None:
    bound = {name for name, value in vars(authoring).items() if not name.startswith("_") and not is_module(value)}
    assert bound == set(authoring.__all__)


def is_module(value: object) -> bool:
    return isinstance(value, ModuleType)
