"""The JSON Schema of the configuration file for editors, printed from the table.

It alone knows how a form looks in JSON Schema; it must not know any particular setting. The schema helps while writing;
the arbiter of a file is the reader, which also holds values against each other.
"""

from typing import Any, Final

from provisioner.core.setting_rows import Form, Row, Setting, Tree, setting_tree
from provisioner.core.settings import Settings
from provisioner.edge.config_names import NOT_YET

Schema = dict[str, Any]

NAME: Final = "[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?"
PATTERNS: Final = {
    Form.NAME: NAME,
    Form.DURATION: r"([0-9]{1,15}(\.[0-9]{1,3})?(ms|s|m|h|d))+",
    Form.SECONDS: r"([0-9]{1,15}(\.[0-9]{1,3})?(ms|s|m|h|d))+",
    Form.PERCENT: r"[0-9]{1,4}(\.[0-9])?%",
    Form.SIZE: r"[0-9]{1,15}(\.[0-9]{1,3})? ?(B|KiB|MiB|GiB|TiB)",
    Form.PRICE: r"[0-9]{1,12}(\.[0-9]{1,9})? [A-Z]{3}/(h|unit-hour|purchase)",
    Form.CURRENCY: "[A-Z]{3}",
    Form.ADDRESS: r"(localhost|127\.[0-9.]+|\[::1\]):[0-9]{1,5}",
    Form.PATH: "[^~].*",
}
ITEMS: Final = {
    Form.NAMES: NAME,
    Form.VARIABLES: "[A-Za-z_][A-Za-z0-9_]{0,127}",
    Form.FILE_NAMES: "[A-Za-z0-9][A-Za-z0-9._-]{0,127}",
}


def render() -> Schema:
    """The whole schema, as plain JSON values."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration file of the resource provisioner",
        **_mapping(setting_tree(Settings), ""),
    }


def _mapping(tree: Tree, prefix: str) -> Schema:
    properties = {key: _property(known, f"{prefix}{key}") for key, known in tree.items() if prefix + key not in NOT_YET}
    for name, sentence in NOT_YET.items():
        key = name.removeprefix(prefix)
        if name.startswith(prefix) and "." not in key:
            properties[key] = {"description": f"Not yet supported: {sentence}", "not": {}}
    required = [key for key, known in tree.items() if isinstance(known, Setting) and known.is_required()]
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": required} if required else schema


def _property(known: "Setting | Tree", name: str) -> Schema:
    if not isinstance(known, Setting):
        return _mapping(known, f"{name}.")
    return {"description": known.row.sentence, **_or_none_word(known.row, _value(known.row, name))}


def _value(row: Row, name: str) -> Schema:
    if row.of is None:
        return _single(row)
    if row.form is Form.SECTION:
        return _mapping(setting_tree(row.of), f"{name}.")
    inner = _mapping(setting_tree(row.of), f"{name}.*.")
    if row.form is Form.BUDGETS:
        return {"anyOf": [{"const": "none"}, {"type": "array", "items": inner, "minItems": 1}]}
    entry = {"anyOf": [inner, {"type": "null"}]} if "required" not in inner else inner
    names: Schema = {"propertyNames": {"pattern": f"^{NAME}$"}} if row.form is Form.ENTRIES else {}
    return {"type": "object", "additionalProperties": entry, **names}


def _single(row: Row) -> Schema:
    match row.form:
        case Form.VERSION:
            return {"const": 1}
        case Form.FLAG:
            return {"type": "boolean"}
        case Form.CHOICE:
            return {"enum": list(row.choices)}
        case Form.COUNT:
            return _count(row)
        case Form.COMMAND:
            return {"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}
        case Form.WHERE | Form.ANYTHING:
            return {"type": "object"}
        case Form.NAMES | Form.VARIABLES:
            return {"type": "array", "items": _text(ITEMS[row.form])}
        case Form.FILE_NAMES:
            return {"anyOf": [_text(ITEMS[row.form]), {"type": "array", "items": _text(ITEMS[row.form])}]}
        case _:
            return _text(PATTERNS[row.form])


def _count(row: Row) -> Schema:
    schema: Schema = {"type": "integer", "minimum": int(row.least or 0)}
    return schema if row.most is None else {**schema, "maximum": int(row.most)}


def _text(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^({pattern})$"}


def _or_none_word(row: Row, schema: Schema) -> Schema:
    return schema if row.none_word is None else {"anyOf": [{"const": row.none_word}, schema]}
