"""The page of lives is what the tables say."""

from pathlib import Path

from provisioner.edge.lives_page import render

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "lives.md"


def test_the_page_of_lives_is_printed_from_the_tables() -> None:
    assert PAGE.read_text() == render(), "print it again: python -m provisioner.cli.lives_doc"
