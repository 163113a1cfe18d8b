from pathlib import Path

import pytest

from provisioner.cli.rest_doc import main, pages

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_printed_schema_is_as_the_code_says(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name]


def test_printing_writes_every_page(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    assert all((tmp_path / name).read_text(encoding="utf-8") == text for name, text in pages().items())
