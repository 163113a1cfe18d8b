"""The kit's command line when it can't come to its end: a sentence, an exit code, and nothing left behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from provider_sdk.testing.command import EXIT_STOPPED, EXIT_USAGE
from tests.conformance.examined import FOLDER, subject

KIT = "import sys; from provider_sdk.testing import main; sys.exit(main(sys.argv[1:]))"
WITHIN_S = 120


def ran(folder: Path, *arguments: str, kit: str = KIT) -> subprocess.CompletedProcess[str]:
    """The kit in a process of its own, whose files for the time being are in `folder`."""
    return subprocess.run(
        [sys.executable, "-c", kit, *arguments],
        env={"TMPDIR": str(folder), "PATH": "/usr/bin:/bin"},
        cwd=FOLDER.parent.parent,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_ended_by_a_signal_leaves_nothing_and_judges_nothing(name: str, tmp_path: Path) -> None:
    ends_the_kit = f"import os, signal, sys; os.kill(os.getppid(), signal.{name}); sys.stdin.read()"
    found = ran(tmp_path, "--", sys.executable, "-c", ends_the_kit)
    assert (found.returncode, found.stdout) == (EXIT_STOPPED, "")
    assert found.stderr == "python -m provider_sdk.testing: ended before its end; nothing is said of any clause\n"
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_could_not_be_written_is_told_before_anything_is_examined(tmp_path: Path) -> None:
    began = tmp_path / "began"
    command = f"open({str(began)!r}, 'w')"
    found = ran(tmp_path, "--json", str(tmp_path / "absent" / "r.json"), "--", sys.executable, "-c", command)
    assert (found.returncode, "r.json can't be written" in found.stderr) == (EXIT_USAGE, True)
    assert not began.exists()


def test_a_folder_of_the_kit_that_is_gone_is_told_in_a_sentence_and_no_clause_is_judged(tmp_path: Path) -> None:
    takes_it_away = ("sh", "-c", 'rm -r "$CREDENTIALS_DIRECTORY"; exec "$@"', "sh")
    config = str(FOLDER / "subjects" / "honest.json")
    found = ran(tmp_path, "--only", "SC-1", "--config", config, "--", *takes_it_away, *subject("honest").command)
    assert (found.returncode, found.stdout) == (EXIT_USAGE, "")
    assert found.stderr.endswith("can't be written: No such file or directory\n")
    assert "Traceback" not in found.stderr
