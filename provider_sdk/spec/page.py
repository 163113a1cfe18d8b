"""The page of the contract: prose, with clauses made to be linked to, and what schemas and types say filled in.

Alone responsible for the marks by which the prose (schemas/provider/v2/contract.md) asks for something: a paragraph
that begins with the id of a clause, and lines in double braces. Reads and writes no file.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from attrs import frozen

from provider_sdk.contract import METHODS, NOTIFICATIONS, Capability
from provider_sdk.spec import wire
from provider_sdk.spec.fields import Tables, table
from provider_sdk.spec.sources import Json, Sources

PAGE: Final = "docs/reference/contract-v2.md"
_CLAUSE: Final = re.compile(r"^([A-Z]{2}-[\w.]+): (.*)\Z", re.DOTALL)
_ASKED: Final = re.compile(r"^\{\{(\w+) ?([^}\n]*?)(?:\}\})?$")
_END: Final = "{{end}}"


class UnknownMark(Exception):
    """The prose asks for something that there is not, or leaves something out that there is."""


def render(sources: Sources) -> str:
    """Return the page as Markdown; raises UnknownMark."""
    printer = _Printer(sources, Tables(sources.schemas))
    method = ""
    parts: list[str] = []
    for block in sources.prose.strip().split("\n\n"):
        asked = _ASKED.match(block.split("\n")[0])
        if asked is not None and asked[1] == "method":
            method = asked[2]
        parts += printer.block(block, method)
    return _linked("\n\n".join(parts) + "\n", sources.clauses)


@frozen
class _Printer:
    """Turns one block of the prose into Markdown."""

    sources: Sources
    tables: Tables

    def block(self, block: str, method: str) -> Iterator[str]:
        clause = _CLAUSE.match(block)
        if clause is not None:
            yield self._clause(clause[1], clause[2])
        elif not block.startswith("{{"):
            yield block
        elif block.endswith(_END):
            first, *entries, _ = block.split("\n")
            yield self._listed(first, _entries(entries))
        else:
            for line in block.split("\n"):
                yield self._filled(line, method)

    def _clause(self, name: str, text: str) -> str:
        if name not in self.sources.clauses:
            raise UnknownMark(f"{name} is no clause of schemas/provider/requirements.json")
        form = self._promise_form(name.removeprefix("PR-")) if name.startswith("PR-") else ""
        return f"({name.lower()})=\n\n**{name}** {form}{text}"

    def _promise_form(self, promise: str) -> str:
        group, _, field = promise.partition(".")
        part = self.tables.shared[f"{group}Promise"]["properties"][field]
        weakest = f"`{str(part['default']).lower()}`" if "default" in part else "not stated"
        return f"({self.tables.type_text(part)}; weakest: {weakest}) "

    def _filled(self, line: str, method: str) -> str:
        asked = _ASKED.match(line)
        ways: Mapping[str, Callable[[str], str]] = {
            "scalars": lambda _: self.tables.scalars(),
            "types": lambda names: "\n\n".join(map(self.tables.of_shared, names.split())),
            "fields": lambda name: self.tables.of(self.sources.schemas[name]),
            "methods": lambda _: _methods(self.sources.schemas),
            "method": self._method,
            "params": lambda _: f"Params:\n\n{self.tables.of(self.sources.schemas[f'{method}.params'])}",
            "result": lambda _: f"Result:\n\n{self.tables.of(self.sources.schemas[f'{method}.result'])}",
            "example": lambda _: wire.example(method, self.sources.good),
            "refusal": lambda name: wire.refusal(name, self.sources.good),
            "notifications": lambda _: _notifications(self.sources.schemas),
            "notification": self._notification,
            "versions": lambda _: wire.versions(),
            "weaker": lambda _: wire.weaker_words(),
        }
        if asked is None or asked[1] not in ways:
            raise UnknownMark(f"{line} asks for nothing that there is")
        return ways[asked[1]](asked[2])

    def _listed(self, first: str, entries: Mapping[str, str]) -> str:
        asked = _ASKED.match(first)
        match asked and asked[1]:
            case "capabilities":
                told = _whole(entries, [str(each) for each in Capability], first)
                return table(("capability", "what it adds"), ((f"`{name}`", text) for name, text in told.items()))
            case "errors":
                return wire.errors(_whole(entries, wire.error_classes(), first))
            case "words" if asked is not None:
                words = self._words(asked[2])
                told = _whole(entries, words, first)
                return table(("word", "meaning"), ((f"`{word}`", told[word]) for word in words))
            case _:
                raise UnknownMark(f"{first} asks for nothing that there is")

    def _words(self, path: str) -> list[str]:
        name, _, field = path.partition(".")
        schema = self.tables.shared[name]
        found: list[str] = (schema["properties"][field] if field else schema)["enum"]
        return found

    def _method(self, name: str) -> str:
        method = METHODS[name]
        needs = "Required." if method.capability is None else f"Needs the capability `{method.capability}`."
        changes = " May change the far side." if method.changing else ""
        params = self.sources.schemas[f"{name}.params"]
        return f"(method-{name})=\n\n### {name}\n\n{params['description']} {needs}{changes}"

    def _notification(self, name: str) -> str:
        schema = self.sources.schemas[f"{name}.notification"]
        head = f"(notification-{name})=\n\n**{name}**, from the {NOTIFICATIONS[name].sender}: {schema['description']}"
        return f"{head}\n\n{self.tables.of(schema)}\n\n{wire.example(name, self.sources.good)}"


def _entries(lines: list[str]) -> dict[str, str]:
    return {word: text for word, _, text in (line.partition(": ") for line in lines)}


def _whole(entries: Mapping[str, str], words: list[str], asked: str) -> Mapping[str, str]:
    if set(entries) != set(words):
        raise UnknownMark(f"{asked}: {', '.join(sorted(set(entries) ^ set(words)))} stand on one side only")
    return entries


def _methods(schemas: Mapping[str, Json]) -> str:
    rows = (
        (
            f"[{name}](#method-{name})",
            "required" if method.capability is None else f"capability `{method.capability}`",
            schemas[f"{name}.params"]["description"],
        )
        for name, method in METHODS.items()
    )
    return table(("method", "", "what it asks"), rows)


def _notifications(schemas: Mapping[str, Json]) -> str:
    rows = (
        (f"[{name}](#notification-{name})", kind.sender, schemas[f"{name}.notification"]["description"])
        for name, kind in NOTIFICATIONS.items()
    )
    return table(("notification", "from", "what it says"), rows)


def _linked(text: str, clauses: tuple[str, ...]) -> str:
    """Return the text with each mention of a clause as a link; code and the clauses' own paragraphs stay."""
    names = "|".join(sorted(map(re.escape, clauses), key=len, reverse=True))
    mention = re.compile(rf"(?<![\w*`#\[-])(?:{names})(?!\w|-\w|\.\w)")
    pieces = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    pieces[::2] = [mention.sub(lambda found: f"[{found[0]}](#{found[0].lower()})", piece) for piece in pieces[::2]]
    return "".join(pieces)
