"""The settings classes and the table read off them."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import NOTHING, fields, frozen

from provisioner.core.model import BillingStart, Constraint, Per, Price
from provisioner.core.provider_settings import BillingOverride, ProviderSettings, TemplateOverride
from provisioner.core.setting_rows import ROW, Form, all_settings, setting_tree
from provisioner.core.settings import Consumer, Settings, SourceSettings, SqliteController, settings_table
from provisioner.core.settings_later import LATER


def classes_below(cls: type[Any]) -> Iterator[type[Any]]:
    yield cls
    for attribute in fields(cls):
        inner = attribute.metadata[ROW].of
        if inner is not None:
            yield from classes_below(inner)


def test_every_field_of_every_settings_class_has_a_row_with_a_sentence() -> None:
    root: type[Any] = Settings
    for cls in classes_below(root):
        for attribute in fields(cls):
            row = attribute.metadata[ROW]
            assert row.sentence[0].isupper(), attribute.name
            assert row.sentence.endswith("."), attribute.name


def test_a_field_without_a_row_is_named() -> None:
    @frozen
    class Planted:
        secret_knob: int = 3

    with pytest.raises(LookupError, match=r"Planted\.secret_knob has no row"):
        list(all_settings(Planted))


def test_names_in_the_table_are_unique_and_no_later_name_hides_a_present_one() -> None:
    names = [setting.name for setting in settings_table()]
    later = [entry.name for entry in LATER]
    assert len(names) == len(set(names))
    assert len(later) == len(set(later))
    assert not set(names) & set(later)


def test_every_later_name_stands_in_a_section_that_exists() -> None:
    known = {setting.name for setting in settings_table()}
    for entry in LATER:
        section = entry.name.rpartition(".")[0].removesuffix(".*")
        assert section == "" or section in known, entry.name


def test_a_later_field_keeps_a_default_so_that_code_may_read_it() -> None:
    assert all(setting.default is not NOTHING for setting in settings_table() if setting.row.later)


def test_a_dotted_key_makes_an_inner_level() -> None:
    root: type[Any] = Settings
    tree = setting_tree(root)
    assert isinstance(tree["list"], dict)
    assert set(tree["list"]) == {"every"}


def test_defaults_are_the_documented_figures() -> None:
    settings = Settings(cluster="c", controller=SqliteController(path="f.db"))
    assert settings.policy.reclaim.idle_time_s == 600.0
    assert settings.policy.reclaim.min_hold_s is None
    assert settings.policy.drain.answer_within_s == 120.0
    assert settings.policy.cover_s == 600.0
    assert settings.policy.back_off.jitter_permille == 200
    assert settings.policy.request.max_units == 300
    assert settings.return_retry.most_s == 600.0
    assert settings.list_every_s == 60.0
    assert settings.default_source == SourceSettings(fresh_for_s=300.0, netting_window_s=60.0, handshake="drain")


def test_a_source_or_consumer_that_is_not_listed_gets_the_defaults() -> None:
    settings = Settings(
        cluster="c",
        controller=SqliteController(path="f.db"),
        sources={"ops": SourceSettings(fresh_for_s=None)},
        consumers={"default": Consumer(exclusive=True), "dv": Consumer(priority=7)},
    )
    assert settings.source("ops").fresh_for_s is None
    assert settings.source("lsf") == SourceSettings()
    assert settings.consumer("dv").priority == 7
    assert settings.consumer("asic") == Consumer(exclusive=True)
    assert settings.consumer("default").exclusive


def test_only_the_default_consumer_shares_its_hosts_unless_said() -> None:
    settings = Settings(cluster="c", controller=SqliteController(path="f.db"))
    assert not settings.consumer("default").exclusive
    assert settings.consumer("asic").exclusive


def override(pattern: str, **stated: Any) -> TemplateOverride:
    return TemplateOverride(pattern=pattern, **stated)


def test_the_first_matching_pattern_that_states_a_value_wins_and_conditions_add_up() -> None:
    arch, zone = Constraint("arch", one_of=("x86_64",)), Constraint("zone", one_of=("a",))
    provider = ProviderSettings(
        name="east",
        command=("p",),
        templates=(
            override("c6i.*", price=Price(1, "USD", Per.HOUR), where=(zone,)),
            override("*-spot", priority=30),
            override("*", price=Price(2, "USD", Per.HOUR), priority=1, max_units=9, where=(arch,)),
        ),
    )
    assert provider.override("c6i.large") == override(
        "c6i.large", price=Price(1, "USD", Per.HOUR), priority=1, max_units=9, where=(zone, arch)
    )
    assert provider.override("m5-spot").priority == 30
    assert provider.override("m5-spot").price == Price(2, "USD", Per.HOUR)


def test_a_template_no_pattern_matches_is_left_to_the_provider() -> None:
    provider = ProviderSettings(name="east", command=("p",), templates=(override("c6i.*", priority=3),))
    assert provider.override("C6I.large") == override("C6I.large")


def test_billing_words_become_the_words_of_the_core() -> None:
    assert BillingOverride(starts="made").starts is BillingStart.MADE
    with pytest.raises(ValueError, match="sooner"):
        BillingOverride(starts="sooner")


def test_the_forms_that_nest_name_their_class() -> None:
    nesting = (Form.SECTION, Form.ENTRIES, Form.PATTERNS, Form.BUDGETS)
    assert all((setting.row.of is not None) == (setting.row.form in nesting) for setting in settings_table())
