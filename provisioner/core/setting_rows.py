"""What one row of the settings table holds, and how the table is read off the settings classes.

It alone knows the forms a value is written in; it must not know any particular setting, nor how a form is parsed.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from attrs import NOTHING, Attribute, Factory, fields, frozen

ROW = "row"
UNIT_SUFFIXES = ("_s", "_bytes", "_permille", "_nanos")


class Form(Enum):
    """How a value is written in the file; the value is what people are told to write."""

    SECTION = "a section"
    ENTRIES = "named entries"
    PATTERNS = "entries by template pattern"
    ENTRY_NAME = "the name of the entry"
    NAME = "a name"
    NAMES = "a list of names"
    VERSION = "1"
    COUNT = "a whole number"
    FLAG = "true or false"
    CHOICE = "one word"
    DURATION = "a duration"
    SECONDS = "a duration in whole seconds"
    PERCENT = "a percentage"
    SIZE = "a size"
    PRICE = "a price"
    RATES = "exchange rates"
    CURRENCY = "a currency"
    ZONE = "a time zone"
    PATH = "a path"
    ADDRESS = "an address"
    COMMAND = "a command"
    FILE_NAMES = "a list of file names"
    VARIABLES = "a list of environment variables"
    BUDGETS = "a list of limits"
    WHERE = "conditions"
    ANYTHING = "any mapping"


@frozen(kw_only=True)
class Row:
    """One setting as its class states it: where it stands in the file, its form, its bounds and one sentence.

    `least` and `most` bound the value in the unit of its field (s, bytes, per-mille); `none_word` stands for None in
    the file. `unstated` is how the default is printed where the field's own does not say it; `must_be_written` keeps
    the field's default for code alone. `later` marks a field whose setting no code obeys yet: the file may not hold it;
    `later_choices` does so for words of a choice.
    """

    key: str
    form: Form
    sentence: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    later_choices: tuple[str, ...] = ()
    none_word: str | None = None
    of: type[Any] | None = None
    unstated: str | None = None
    example: str | None = None
    must_be_written: bool = False
    later: bool = False


@frozen(kw_only=True)
class Setting:
    """One row of the flat table: the dotted name, the field it fills and its default (NOTHING: it must be written)."""

    name: str
    row: Row
    field: str
    default: object

    def is_required(self) -> bool:
        """True if the file must hold it wherever its section stands."""
        return self.default is NOTHING or self.row.must_be_written


Tree = Mapping[str, "Setting | Tree"]
"""Settings by key, as the file nests them."""


def row(
    form: Form,
    sentence: str,
    *,
    key: str = "",
    least: float | None = None,
    most: float | None = None,
    choices: tuple[str, ...] = (),
    later_choices: tuple[str, ...] = (),
    none_word: str | None = None,
    of: type[Any] | None = None,
    unstated: str | None = None,
    example: str | None = None,
    must_be_written: bool = False,
    later: bool = False,
) -> dict[str, Row]:
    """The metadata of a field that is a setting; without `key` the field's name without its unit is the key."""
    given = Row(
        key=key, form=form, sentence=sentence, least=least, most=most, choices=choices, later_choices=later_choices,
        none_word=none_word, of=of, unstated=unstated, example=example, must_be_written=must_be_written, later=later,
    )  # fmt: skip
    return {ROW: given}


def default_of(attribute: "Attribute[Any]") -> object:
    """The default of a field, made if it is made anew each time; NOTHING if there is none."""
    default: object = attribute.default
    if isinstance(default, Factory):  # type: ignore[arg-type]
        return default.factory()  # type: ignore[attr-defined]
    return default


def own_settings(cls: type[Any]) -> tuple[Setting, ...]:
    """The settings one class states itself, keys as inside its section; LookupError for a field without a row."""
    found = []
    for attribute in fields(cls):
        if ROW not in attribute.metadata:
            raise LookupError(f"{cls.__name__}.{attribute.name} has no row: a setting needs a form and a sentence")
        given: Row = attribute.metadata[ROW]
        name = given.key or _without_unit(attribute.name)
        found.append(Setting(name=name, row=given, field=attribute.name, default=default_of(attribute)))
    return tuple(found)


def setting_tree(cls: type[Any]) -> Tree:
    """The settings of a class by key; a dotted name such as `retry.first` makes an inner level."""
    root: dict[str, Any] = {}
    for setting in own_settings(cls):
        if setting.row.form is Form.ENTRY_NAME:
            continue
        *outer, last = setting.name.split(".")
        level = root
        for key in outer:
            level = level.setdefault(key, {})
        level[last] = setting
    return root


def all_settings(cls: type[Any], prefix: str = "") -> Iterator[Setting]:
    """Every setting below a class, sections included, in the order of the file; `*` stands for the name of an entry."""
    for setting in own_settings(cls):
        if setting.row.form is Form.ENTRY_NAME:
            continue
        name = f"{prefix}{setting.name}"
        yield Setting(name=name, row=setting.row, field=setting.field, default=setting.default)
        if setting.row.of is not None:
            inner = "" if setting.row.form is Form.SECTION else "*."
            yield from all_settings(setting.row.of, f"{name}.{inner}")


def _without_unit(field: str) -> str:
    for suffix in UNIT_SUFFIXES:
        if field.endswith(suffix):
            return field.removesuffix(suffix)
    return field
