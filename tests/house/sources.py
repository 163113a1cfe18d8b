"""Reads the tree for the house rules: which files there are, parsed once. Knows no rule."""

import ast
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath

from attrs import frozen

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ("provisioner", "provider_sdk", "providers")


@frozen
class Source:
    """One Python file: its path from the root, its text and its syntax tree."""

    path: PurePosixPath
    text: str
    tree: ast.Module

    @property
    def lines(self) -> list[str]:
        """The text cut at line ends, as editors number it."""
        return self.text.split("\n")

    def at(self, node: ast.AST, sentence: str) -> str:
        """A finding in the form editors can jump to."""
        return f"{self.path}:{getattr(node, 'lineno', 1)} {sentence}"

    def is_under(self, *folders: str) -> bool:
        """Whether the file lies in one of the folders, named from the root."""
        return any(self.path.is_relative_to(folder) for folder in folders)


def source(path: str, text: str) -> Source:
    """A source that need not exist, to plant a fault in."""
    return Source(PurePosixPath(path), text, ast.parse(text, filename=path))


@cache
def product() -> tuple[Source, ...]:
    """Every Python file of the daemon, the SDK and the providers we ship."""
    return tuple(_read(PRODUCT))


@cache
def tests() -> tuple[Source, ...]:
    """Every Python file under tests."""
    return tuple(_read(("tests",)))


@cache
def files() -> tuple[PurePosixPath, ...]:
    """Every file that is tracked or would be: from git, or by walking where there is no git (a source archive)."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
            timeout=30,
            text=True,
        ).stdout.split("\0")
    except (FileNotFoundError, subprocess.CalledProcessError):
        skipped = {".venv", "build", ".git", "__pycache__"}
        walked = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
        listed = [path.as_posix() for path in walked if not skipped.intersection(path.parts)]
    return tuple(PurePosixPath(name) for name in listed if name and (ROOT / name).is_file())


def text_of(path: PurePosixPath) -> str | None:
    """The text of a file from the root, or None where it is no text."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _read(folders: Iterable[str]) -> Iterable[Source]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
