"""Good providers keep every clause: the simulated one, and one on the bare wire without the SDK."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import trio

from provider_sdk.testing import Outcome, Status, as_text, examine, read_subject
from tests.conformance.examined import FOLDER, subject

pytestmark = pytest.mark.e2e

SIMULATED = (sys.executable, "-m", "providers.simulated")


def kept(outcome: Outcome) -> set[str]:
    return {each.requirement.id for each in outcome.verdicts if each.status in (Status.PASS, Status.MEASURED)}


def test_the_provider_on_the_bare_wire_keeps_every_clause_strictly() -> None:
    outcome = trio.run(partial(examine, subject("honest", sequences=4), strict=True))
    assert outcome.failed == (), as_text(outcome)
    assert outcome.left_over == ()
    assert not outcome.unfinished
    passed_over = {each.requirement.id for each in outcome.verdicts if each.status is Status.SKIPPED}
    assert passed_over == {"RT-3", "NT-2", "SH-notification", "PR-memory.where", "PR-list.covers"}


def test_the_simulated_provider_keeps_every_clause() -> None:
    found = read_subject(SIMULATED, FOLDER / "simulated.json", os.environ)
    outcome = trio.run(partial(examine, found, strict=True))
    assert outcome.failed == (), as_text(outcome)
    assert outcome.left_over == ()
    passed_over = {each.requirement.id for each in outcome.verdicts if each.status is Status.SKIPPED}
    of_what_it_does_not_have = {"RT-3", "CN-2", "CC-4"}
    assert passed_over == of_what_it_does_not_have | {"PR-memory.where", "PR-list.covers"}


def test_the_simulated_provider_keeps_what_it_promises_of_a_cloud_of_its_own(tmp_path: Path) -> None:
    stated = json.loads((FOLDER / "simulated.json").read_text(encoding="utf-8"))
    stated["config"]["cloud_dir"] = str(tmp_path / "cloud")
    stated["config"]["fulfil_time"] = "150ms"
    file = tmp_path / "subject.json"
    file.write_text(json.dumps(stated), encoding="utf-8")
    only = {"PR-memory.where", "PR-list.covers", "CN-2", "CN-1", "RQ-1", "PR-token.replay", "ST-1"}
    found = read_subject(SIMULATED, file, os.environ)
    outcome = trio.run(partial(examine, found, only=only))
    assert (outcome.failed, outcome.beside) == ((), ()), as_text(outcome)
    assert {"PR-memory.where", "PR-list.covers", "RQ-1", "PR-token.replay", "ST-1"} <= kept(outcome)


KIT = ("provider_sdk.testing",)
COMMAND = ("provisioner", "conformance")


def run_kit(*arguments: str, folder: Path, module: tuple[str, ...] = KIT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def play(name: str) -> tuple[str, ...]:
    return ("--config", str(FOLDER / "subjects" / "honest.json"), "--only", "FR-4,DS-1", "--", *subject(name).command)


@pytest.mark.parametrize("module", [KIT, COMMAND], ids=" ".join)
def test_the_command_writes_all_reports_and_its_exit_code_tells(tmp_path: Path, module: tuple[str, ...]) -> None:
    files = ("--json", "report.json", "--junit", "report.xml")
    good = run_kit(*files, *play("honest"), folder=tmp_path, module=module)
    assert good.returncode == 0, good.stdout + good.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["passed"] is True
    assert {each["id"]: each["status"] for each in report["clauses"]} == {"FR-4": "pass", "DS-1": "pass"}
    assert Xml.fromstring((tmp_path / "report.xml").read_text(encoding="utf-8"))[0].get("failures") == "0"  # noqa: S314
    bad = run_kit(*files, *play("Chatty"), folder=tmp_path, module=module)
    assert bad.returncode == 1
    assert "FAIL      FR-4" in bad.stdout
    assert "pinged at last" in bad.stdout
    case = Xml.fromstring((tmp_path / "report.xml").read_text(encoding="utf-8"))[0][0]  # noqa: S314
    assert (case.get("name"), case[0].tag) == ("FR-4", "failure")


def test_what_can_not_be_started_or_is_misused_has_its_own_exit_code(tmp_path: Path) -> None:
    refused = tmp_path / "refused.json"
    refused.write_text('{"config": {"size": 3}}', encoding="utf-8")
    assert run_kit("--", str(tmp_path / "absent"), folder=tmp_path).returncode == 3
    assert run_kit("--config", str(refused), "--", *subject("honest").command, folder=tmp_path).returncode == 3
    assert run_kit(folder=tmp_path).returncode == 2
    assert run_kit("--only", "XX-1", "--", "true", folder=tmp_path).returncode == 2
    assert run_kit("--config", "absent.json", "--", "true", folder=tmp_path).returncode == 2


def test_the_pytest_plugin_makes_one_test_of_each_clause(tmp_path: Path) -> None:
    command = " ".join(subject("Chatty").command)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    subject_file = str(FOLDER / "subjects" / "honest.json")
    options = ["-p", "provider_sdk.testing.plugin"] if not _installed() else []
    named = ["--provider-cmd", command, "--provider-config", subject_file, "-k", "FR-4 or DS-1 or QT-1"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-q", *options, *named],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parents[1])},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
    assert "1 failed" in ran.stdout
    assert "frames only on stdout" in ran.stdout


def _installed() -> bool:
    from importlib.metadata import entry_points  # noqa: PLC0415

    return any(each.value == "provider_sdk.testing.plugin" for each in entry_points(group="pytest11"))
