"""Schemas as tables for people: a row for each field, with its type, whether it must be there, and its meaning.

Alone responsible for how a type is written in a table. Knows no prose and no example.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from attrs import frozen

from provider_sdk.spec.sources import SUFFIX, Json

PATTERN_CHARS: Final = 60
WORDS_SHOWN: Final = 12
_INT_MAX: Final = 2**53 - 1


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """Return a Markdown table; bars inside cells are escaped."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


@frozen
class Tables:
    """Tables of the schemas; types that several fields share are linked to."""

    schemas: Mapping[str, Json]

    @property
    def shared(self) -> Json:
        """The types that messages share, by name."""
        found: Json = self.schemas["common"]["$defs"]
        return found

    def of(self, schema: Json) -> str:
        """Return the table of an object's fields, or a sentence where there are none."""
        if "$ref" in schema:
            return f"A {self.type_text(schema)}."
        if not schema.get("properties"):
            return "No fields."
        required = schema.get("required", [])
        rows = (
            (f"`{name}`", self.type_text(part), "req" if name in required else "", self.meaning(part))
            for name, part in schema["properties"].items()
        )
        return table(("field", "type", "", "meaning"), rows)

    def of_shared(self, name: str) -> str:
        """Return a shared type: where links to it lead, what it is, and its fields."""
        schema = self.shared[name]
        head = f"(type-{name.lower()})=\n\n**{name}**: {schema['description']}"
        if "properties" in schema:
            return f"{head}\n\n{self.of(schema)}"
        return f"{head} It is {self.map_text(schema)}."

    def scalars(self) -> str:
        """Return the table of the shared types that hold one value."""
        rows = (
            (f"`{name}`", self.form_text(schema), schema["description"])
            for name, schema in self.shared.items()
            if self.is_scalar(name)
        )
        return table(("type", "form", "meaning"), rows)

    def is_scalar(self, name: str) -> bool:
        """Return whether a shared type holds one value."""
        return self._resolved(name).get("type") not in {"object", "array"}

    def is_list(self, name: str) -> bool:
        """Return whether a shared type is a list, which is written out where it is used."""
        return bool(self._resolved(name).get("type") == "array")

    def meaning(self, part: Json) -> str:
        """Return what a field means, with the value it has when it is not stated."""
        text: str = part["description"]
        if "default" not in part:
            return text
        default = part["default"]
        return f"{text} Not stated: `{default if isinstance(default, str) else str(default).lower()}`."

    def type_text(self, part: Json) -> str:
        """Return how a field's type is written in a table."""
        if "$ref" in part:
            return self._reference_text(part["$ref"])
        if "enum" in part:
            return _words(part["enum"])
        match part.get("type"):
            case "array":
                return f"list of {_span(part, 'Items')}{self.type_text(part['items'])}"
            case "object":
                return self.map_text(part) if "additionalProperties" in part else "object"
            case _:
                return self.form_text(part)

    def map_text(self, schema: Json) -> str:
        """Return how a map is written: how many entries, what names, what values."""
        values = schema["additionalProperties"]
        several = [self.type_text(value) for value in values.get("anyOf", [values])]
        names = schema.get("propertyNames", {}).get("pattern")
        span = _span(schema, "Properties")
        return f"a map of {span}names{f' (`{names}`)' if names else ''} to {', or '.join(several)}"

    def form_text(self, schema: Json) -> str:
        """Return how one value is written."""
        if "$ref" in schema:
            return self._reference_text(schema["$ref"])
        if "enum" in schema:
            return _words(schema["enum"])
        pattern = schema.get("pattern", "")
        match schema.get("type"):
            case "string" if pattern:
                return f"text, `{pattern}`" if len(pattern) <= PATTERN_CHARS else "text, `2031-03-04T17:58:12Z`"
            case "string":
                return f"text of {_span(schema, 'Length')}characters"
            case "integer":
                return "int" + _range(schema)
            case "number":
                return "number"
            case kind:
                return {"boolean": "true or false", "null": "null"}[str(kind)]

    def _reference_text(self, reference: str) -> str:
        file, _, name = reference.partition("#/$defs/")
        if not name:
            return file.removesuffix(SUFFIX)
        if self.is_list(name):
            return self.type_text(self.shared[name])
        return name if self.is_scalar(name) else f"[{name}](#type-{name.lower()})"

    def _resolved(self, name: str) -> Json:
        schema: Any = self.shared[name]
        while "$ref" in schema:
            schema = self.shared[schema["$ref"].partition("#/$defs/")[2]]
        found: Json = schema
        return found


def _words(words: list[object]) -> str:
    return ", ".join(f"`{word}`" for word in words) if len(words) <= WORDS_SHOWN else f"one of {len(words)} words"


def _span(schema: Json, of: str) -> str:
    least, most = schema.get(f"min{of}", 0), schema.get(f"max{of}")
    if most is None:
        return ""
    return f"{least}–{most:,} " if least else f"up to {most:,} "


def _range(schema: Json) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if most in (None, _INT_MAX):
        return "" if least is None or least < 0 else f", from {least:,} up"
    return f", {least:,}–{most:,}"
