"""The pinned requirements: whole, by hash, from no named index, and in step with pyproject.toml."""

import re
import tomllib
from importlib.metadata import version

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.sources import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
BUILD = [*PROJECT["dependency-groups"]["build"], *PROJECT["build-system"]["requires"]]
NEEDED = {
    "requirements.txt": RUNTIME,
    "requirements-build.txt": BUILD,
    "requirements-dev.txt": [*RUNTIME, *EXTRAS["dev"], *EXTRAS["docs"], *BUILD],
}
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(name: str) -> list[str]:
    """The requirements of a file, one a string, hashes included."""
    return (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ").strip().split("\n")


def pins(name: str) -> dict[str, set[str]]:
    """Package to the versions pinned for it; more than one where Pythons differ."""
    pinned: dict[str, set[str]] = {}
    for entry in entries(name):
        package, _, rest = entry.partition("==")
        pinned.setdefault(canonicalize_name(package), set()).add(rest.split()[0])
    return pinned


@pytest.mark.parametrize("name", NEEDED)
def test_every_requirement_is_pinned_with_hashes_and_names_no_index(name: str) -> None:
    unpinned = [entry for entry in entries(name) if not re.match(r"^[\w.-]+==\S+ ", entry) or not HASH.search(entry)]
    assert unpinned == []
    assert not re.search(r"://|--index|--find-links", (ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NEEDED)
def test_every_pin_meets_what_the_project_asks_for(name: str) -> None:
    pinned = pins(name)
    for text in NEEDED[name]:
        asked = Requirement(text)
        found = pinned.get(canonicalize_name(asked.name), set())
        assert found, f"{asked.name} is not pinned: run make lock"
        assert all(asked.specifier.contains(one) for one in found), f"{asked} against {found}: run make lock"


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt"])
def test_the_smaller_files_pin_what_the_whole_one_pins(name: str) -> None:
    whole = pins("requirements-dev.txt")
    assert {package: found for package, found in pins(name).items() if whole.get(package) != found} == {}


def test_this_environment_has_the_pinned_versions() -> None:
    for text in NEEDED["requirements-dev.txt"]:
        package = canonicalize_name(Requirement(text).name)
        assert version(package) in pins("requirements-dev.txt")[package], f"{package} differs: run make setup"
