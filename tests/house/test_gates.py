"""The gates of `make check` close on what they are there for: planted imports, complexity, naive times."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.sources import PRODUCT, ROOT

BIN = Path(sys.executable).parent


def tree_with(folder: Path, planted: dict[str, str]) -> Path:
    """A small tree under the project's own rules, with the planted files in it."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    packages = [*PRODUCT, *(f"provisioner/{room}" for room in ("core", "edge", "runtime")), "provider_sdk/contract"]
    packages += ["providers/simulated", "providers/ec2"]
    for package in packages:
        (folder / package).mkdir(parents=True, exist_ok=True)
        (folder / package / "__init__.py").write_text('"""A room."""\n', encoding="utf-8")
    for path, text in planted.items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def gate(command: list[str], tree: Path) -> subprocess.CompletedProcess[str]:
    """Run one of the gates in a tree, with nothing of the real one on its path."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree), "LANG": "C.UTF-8", "PYTHONPATH": str(tree)}
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


IMPORTS = ["lint-imports", "--no-logo", "--no-cache"]


def test_the_import_gate_lets_an_honest_tree_pass(tmp_path: Path) -> None:
    planted = {
        "provisioner/runtime/rim.py": "import time\n\nfrom provisioner.core import ids\n",
        "provisioner/core/ids.py": "import re\n",
    }
    passed = gate(IMPORTS, tree_with(tmp_path, planted))
    assert passed.returncode == 0, passed.stdout


@pytest.mark.parametrize(
    ("path", "line", "broken"),
    [
        (
            "provisioner/core/planted.py",
            "import provisioner.runtime",
            "provisioner.core.planted -> provisioner.runtime",
        ),
        ("provisioner/edge/planted.py", "from provisioner import runtime", "provisioner.edge.planted ->"),
        ("provider_sdk/planted.py", "import provisioner.core", "provider_sdk.planted -> provisioner.core"),
        ("provider_sdk/contract/planted.py", "import trio", "provider_sdk.contract.planted -> trio"),
        ("providers/simulated/planted.py", "import provisioner.core", "providers.simulated.planted ->"),
        ("providers/simulated/planted.py", "import providers.ec2", "providers.simulated.planted -> providers.ec2"),
        ("provisioner/unplaced.py", "x = 1", "provisioner.unplaced"),
    ],
)
def test_the_import_gate_closes_on_a_planted_import(tmp_path: Path, path: str, line: str, broken: str) -> None:
    closed = gate(IMPORTS, tree_with(tmp_path, {path: f"{line}\n"}))
    assert closed.returncode != 0
    assert broken in closed.stdout


def test_the_lint_gate_closes_on_complexity_and_naive_times(tmp_path: Path) -> None:
    branches = "".join(f"    if x == {number}:\n        x += 1\n" for number in range(9))
    planted = {
        "provisioner/core/branches.py": f'"""A room."""\n\n\ndef decide(x):\n{branches}    return x\n',
        "provisioner/runtime/naive.py": '"""A room."""\n\nfrom datetime import datetime\n\nx = datetime.now()\n',
    }
    closed = gate(["ruff", "check", "--output-format", "concise", "."], tree_with(tmp_path, planted))
    assert closed.returncode != 0
    assert "provisioner/core/branches.py:4:5: C901" in closed.stdout
    assert "provisioner/runtime/naive.py:5:5: DTZ005" in closed.stdout


def test_the_type_gate_is_strict_and_asks_for_exhaustive_matches() -> None:
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert mypy["strict"] is True
    assert "exhaustive-match" in mypy["enable_error_code"]
    assert set(mypy["files"]) == {*PRODUCT, "tests"}
