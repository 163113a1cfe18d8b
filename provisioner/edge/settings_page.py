"""The reference page of all settings, printed from the table.

It alone knows how the page looks; it must not know any particular setting.
"""

from typing import Final

from provisioner.core.setting_rows import Form, Row, Setting
from provisioner.core.settings import settings_table
from provisioner.edge import quantities
from provisioner.edge.config_names import NOT_YET
from provisioner.edge.config_values import bound_text

HEAD: Final = """# Settings

<!-- Printed from the settings table by `python -m provisioner.cli.settings_doc`; do not edit. -->

Every setting of the configuration file, in the order of the file. `*` stands for a name of your own. How the file is
written, and what its forms look like, is told in [The configuration file](configuration.md).

"""

LATER_HEAD: Final = """## Not yet supported

The daemon knows these names and refuses a file that holds them: a setting is never ignored.

| setting | what it will say |
|---|---|
"""

TABLE_HEAD: Final = "| setting | form | default | meaning |\n|---|---|---|---|\n"

NUMERIC: Final = (Form.COUNT, Form.VERSION, Form.DURATION, Form.SECONDS, Form.PERCENT, Form.SIZE)


def render() -> str:
    """The whole page, as Markdown."""
    settings = [setting for setting in settings_table() if setting.name not in NOT_YET]
    parts = [HEAD]
    for top in dict.fromkeys(setting.name.split(".")[0] for setting in settings):
        parts.append(f"## {top}\n\n{TABLE_HEAD}")
        parts += [_line(setting) for setting in settings if setting.name.split(".")[0] == top]
        parts.append("\n")
    parts.append(LATER_HEAD)
    parts += [f"| `{name}` | {_cell(sentence)} |\n" for name, sentence in sorted(NOT_YET.items())]
    return "".join(parts)


def default_text(setting: Setting) -> str:
    """The default as the file would write it, or in words where it has no written form."""
    row, default = setting.row, setting.default
    if setting.is_required():
        return "must be written"
    if row.unstated is not None:
        return row.unstated
    if row.form in (Form.SECTION, Form.ENTRIES, Form.PATTERNS):
        return "see below" if default else "none"
    if default is None:
        return row.none_word or "the provider's word"
    return written(row, default)


def written(row: Row, value: object) -> str:
    """A value of one of the single forms as the file writes it."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float() if row.form in NUMERIC:
            return bound_text(row.form, value)
        case _:
            return str(value)


def _line(setting: Setting) -> str:
    cells = (f"`{setting.name}`", _form(setting.row), _cell(default_text(setting)), _cell(setting.row.sentence))
    return f"| {' | '.join(cells)} |\n"


def _form(row: Row) -> str:
    text = " or ".join(f"`{choice}`" for choice in row.choices) if row.form is Form.CHOICE else row.form.value
    least = f" from {_bound(row, row.least)}" if row.least else ""
    most = "" if row.most is None else f" to {_bound(row, row.most)}"
    none_word = "" if row.none_word is None else f", or `{row.none_word}`"
    return _cell(text + least + most + none_word)


def _bound(row: Row, bound: float) -> str:
    return quantities.grouped(int(bound)) if row.form is Form.COUNT else bound_text(row.form, bound)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
