"""What the front page and the documentation say exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT, files

PAGES = tuple(
    ROOT / path for path in files() if path.suffix == ".md" and (path.parts[0] == "docs" or len(path.parts) == 1)
)
RECORDS = tuple(page for page in PAGES if page.parent.name == "decisions" and page.name != "index.md")
RECORD_HEADINGS = ["Question", "Decision", "Weighed against", "Follows from it"]

VERB = re.compile(r"\bmake (?:-C \S+ )?([a-z][a-z-]*)")
CODE = re.compile(r"```[a-z]*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
OUR_PATH = re.compile(r"^(?:provisioner|provider_sdk|providers|schemas|tests|docs|\.ci)/[\w./-]+$")


COMMAND = re.compile(r"^(?:\$ )?provisioner ([a-z][a-z-]*)", re.MULTILINE)


def command_exists(verb: str) -> bool:
    asked = [sys.executable, "-m", "provisioner", verb, "--help"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, timeout=30, check=False).returncode == 0


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def verbs_of_the_makefile() -> set[str]:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY:(.*)$", text, re.MULTILINE)
    assert phony is not None
    return set(phony[1].split())


def code_in(page: Path) -> list[str]:
    return [block or span for block, span in CODE.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_verb_a_page_names_is_in_the_makefile(page: Path) -> None:
    named = {verb for code in code_in(page) for verb in VERB.findall(code)}
    assert named <= verbs_of_the_makefile()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_a_page_names_or_links_is_there(page: Path) -> None:
    prose = CODE.sub("", page.read_text(encoding="utf-8"))
    linked = [page.parent / target for target in LINK.findall(prose)]
    named = [ROOT / code for code in code_in(page) if OUR_PATH.match(code) and "*" not in code]
    assert [str(path) for path in (*linked, *named) if not path.exists()] == []


def test_every_command_a_page_names_is_one_of_the_command_line() -> None:
    named = {verb for page in PAGES for code in code_in(page) for verb in COMMAND.findall(code)}
    unknown = [verb for verb in sorted(named) if not command_exists(verb)]
    assert unknown == []


def test_a_command_that_does_not_exist_would_be_seen() -> None:
    assert COMMAND.findall("$ provisioner run -c x.yaml") == ["run"]
    assert not command_exists("no-such-command")


def test_every_verb_of_the_makefile_is_in_the_reference_and_in_its_own_help() -> None:
    reference = (ROOT / "docs" / "reference" / "verbs.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = verbs_of_the_makefile()
    assert {verb for verb in verbs if f"| `make {verb}` |" not in reference} == set()
    gates = {verb for verb in verbs if verb.startswith("check-")}
    assert {verb for verb in verbs - gates if not re.search(rf"^{verb}:.*##", makefile, re.MULTILINE)} == set()


@pytest.mark.parametrize("record", RECORDS, ids=name_of)
def test_every_decision_record_has_the_form_of_the_first(record: Path) -> None:
    text = record.read_text(encoding="utf-8")
    number = record.name[:4]
    assert text.startswith(f"# {number}: ")
    assert re.search(r"^Status: (in force|replaced by \d{4})$", text, re.MULTILINE)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == RECORD_HEADINGS


def test_decision_records_are_numbered_without_gaps() -> None:
    assert sorted(record.name[:4] for record in RECORDS) == [f"{number + 1:04}" for number in range(len(RECORDS))]


def test_the_changelog_has_a_place_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## Unreleased$", text, re.MULTILINE)
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
