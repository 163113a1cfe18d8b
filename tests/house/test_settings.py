"""Every setting is documented, and what is printed from the settings table is fresh."""

from collections.abc import Iterable

import pytest
from attrs import field, frozen

from provisioner.cli.settings_doc import pages
from provisioner.core.setting_rows import Form, Setting, all_settings, own_settings, row
from provisioner.core.settings import Settings, settings_table
from tests.house.sources import ROOT

PAGE = "docs/reference/settings.md"


def undocumented(settings: Iterable[Setting], page: str) -> list[str]:
    """The settings that have no line of their own on the page of settings."""
    return [setting.name for setting in settings if f"\n| `{setting.name}` |" not in page]


def test_every_setting_has_its_line_in_the_reference() -> None:
    assert undocumented(settings_table(), (ROOT / PAGE).read_text(encoding="utf-8")) == []


def test_every_setting_says_what_it_is_for_in_a_sentence() -> None:
    assert [setting.name for setting in settings_table() if not setting.row.sentence.endswith(".")] == []


@pytest.mark.parametrize("name", pages())
def test_what_is_printed_from_the_table_is_fresh(name: str) -> None:
    kept = (ROOT / name).read_text(encoding="utf-8")
    assert kept == pages()[name], "run: .venv/bin/python -m provisioner.cli.settings_doc"


def test_a_planted_setting_without_a_line_is_found() -> None:
    @frozen(kw_only=True)
    class Planted(Settings):
        patience_s: float = field(default=60.0, metadata=row(Form.DURATION, "How long it waits."))

    assert undocumented(all_settings(Planted), (ROOT / PAGE).read_text(encoding="utf-8")) == ["patience"]


def test_a_planted_field_that_is_no_setting_is_refused() -> None:
    @frozen
    class Planted:
        patience_s: float = 60.0

    with pytest.raises(LookupError, match="patience_s has no row"):
        own_settings(Planted)
