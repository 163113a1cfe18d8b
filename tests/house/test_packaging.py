"""What is shipped and what runs it: entry points, the continuous run, the size of what is tracked."""

import os
import subprocess
import tomllib
from importlib import import_module
from operator import attrgetter

import pytest

from tests.house.sources import ROOT, files

SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
TRACKED_BYTES = 512 * 1024


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_console_script_has_something_to_call(script: str) -> None:
    module, _, name = SCRIPTS[script].partition(":")
    assert callable(attrgetter(name)(import_module(module)))


def test_the_continuous_run_is_executable_and_runs_what_the_front_page_says() -> None:
    run = ROOT / ".ci" / "run"
    text = run.read_text(encoding="utf-8")
    assert os.access(run, os.X_OK)
    assert subprocess.run(["bash", "-n", str(run)], check=False, timeout=10).returncode == 0
    assert "\nset -euo pipefail\n" in text
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make test" in readme
    assert text.index("make --no-print-directory check") < text.index("make --no-print-directory test")


def test_no_tracked_file_is_large() -> None:
    assert [str(path) for path in files() if (ROOT / path).stat().st_size > TRACKED_BYTES] == []
