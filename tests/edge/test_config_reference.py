"""The reference page and the editor's schema are those of the settings table, and what they say holds."""

import io
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from provisioner.cli.settings_doc import pages
from provisioner.core.setting_rows import Form, Setting
from provisioner.core.settings import Settings, settings_table
from provisioner.core.settings_later import LATER
from provisioner.edge import settings_page, settings_schema
from provisioner.edge.config_context import Context
from provisioner.edge.config_fault import Findings
from provisioner.edge.config_values import read_value
from provisioner.edge.yaml_places import read_yaml
from tests.edge.config_texts import MINIMAL, settings_of

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = (Form.SECTION, Form.ENTRIES, Form.PATTERNS, Form.BUDGETS)


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(io.StringIO(text))


def printed_defaults() -> list[Setting]:
    """The settings whose printed default is a text the file may hold."""
    return [
        setting
        for setting in settings_table()
        if setting.row.form not in SECTIONS
        and not setting.is_required()
        and setting.row.unstated is None
        and not setting.row.later
        and (setting.default is not None or setting.row.none_word is not None)
    ]


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_printed_files_are_those_of_the_table(name: str) -> None:
    advice = "run `python -m provisioner.cli.settings_doc`"
    assert (ROOT / name).read_text(encoding="utf-8") == pages()[name], advice


def test_the_page_names_every_setting() -> None:
    page = settings_page.render()
    for name in [setting.name for setting in settings_table()] + [later.name for later in LATER]:
        assert page.count(f"| `{name}` |") == 1, name


@pytest.mark.parametrize("setting", printed_defaults(), ids=lambda setting: setting.name)
def test_a_printed_default_written_into_the_file_is_the_default(setting: Setting) -> None:
    findings = Findings("c.yaml")
    node = read_yaml(settings_page.default_text(setting), findings)
    assert node is not None
    value = read_value(node, setting.row, (), Context("/etc/p", findings, currency="USD", providers=()))
    assert findings.in_order() == ()
    assert value == setting.default


def test_a_file_that_writes_out_defaults_means_the_same_as_one_that_does_not() -> None:
    assert settings_of(
        MINIMAL + "policy: {tick: 10s, reclaim: {min_hold: declared}, cover: {unless_learned: 10m}}\norphans: report\n"
    ) == settings_of(MINIMAL)


def test_the_schema_is_a_json_schema_that_takes_a_good_file() -> None:
    schema = settings_schema.render()
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(plain(MINIMAL))) == []


def example_of_the_configuration_page() -> str:
    page = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")
    return page.split("```yaml\n")[1].split("```")[0]


def test_the_example_of_the_configuration_page_is_read_and_fits_the_schema() -> None:
    example = example_of_the_configuration_page()
    assert isinstance(settings_of(example), Settings)
    assert list(Draft202012Validator(settings_schema.render()).iter_errors(plain(example))) == []


@pytest.mark.parametrize(
    "appended",
    [
        "polcy: {}",
        "policy: {tick: 10}",
        "policy: {tick: 10 m}",
        "policy: {step: []}",
        "keep: {gone: 1h}",
        "orphans: confirm",
        "consumers: {dv: {exclusive: 'yes'}}",
        "consumers: {DV: {}}",
        "policy: {request: {max_units: 0}}",
        "policy: {back_off: {jitter: 0.2}}",
        "return: {retry: {frist: 1s}}",
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(appended: str) -> None:
    text = MINIMAL + appended
    assert list(Draft202012Validator(settings_schema.render()).iter_errors(plain(text))) != []


def test_the_schema_asks_for_what_must_be_written() -> None:
    errors = Draft202012Validator(settings_schema.render()).iter_errors({})
    asked = {error.message.split("'")[1] for error in errors}
    assert asked == {"cluster", "controller", "listen", "budgets", "providers"}
