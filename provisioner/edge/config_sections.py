"""Sections of the configuration file, nested as the settings classes nest, to filled-in classes.

It alone knows how sections, named entries, missing and unknown keys are read; it must not know any particular
setting, but for what an entry's name decides.
"""

from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from provisioner.core.setting_rows import Form, Row, Setting, Tree, own_settings, setting_tree
from provisioner.core.settings import Budget, Consumer, is_exclusive_unless_said
from provisioner.edge.config_context import NAME_REMEDY, REFUSED, Context, is_name
from provisioner.edge.config_fault import Path, Place, quoted
from provisioner.edge.config_names import has_later_keys, meant_elsewhere, meant_key, not_yet_sentence
from provisioner.edge.config_rules import breaches
from provisioner.edge.config_values import advice, read_value
from provisioner.edge.quantities import Complaint
from provisioner.edge.yaml_places import Entry, Listing, Node, Scalar, Table

PATTERN_MOST: Final = 200


@frozen
class Section:
    """A mapping being read: its class, where it stands in the file and in the table, and what was found so far."""

    cls: type[Any]
    path: Path
    name: str
    context: Context
    values: dict[str, object] = field(factory=dict)
    written: set[str] = field(factory=set)
    """The settings somebody wrote, well or badly, or probably meant."""
    refused: list[str] = field(factory=list)
    later: list[str] = field(factory=list)

    def inner(self, cls: type[Any], path: Path, name: str) -> "Section":
        """A section inside this one."""
        return Section(cls, path, name, self.context)

    def is_whole(self) -> bool:
        """True if nothing in it was refused."""
        return not self.refused and not self.later


def read_section(section: Section, node: Node, entry: str | None = None) -> object:
    """The section's class filled in, or REFUSED; `entry` is its name if it has one."""
    table = _as_table(node)
    if table is None:
        return section.context.refuse(node, section.path, _no_mapping(section.cls))
    _read_keys(section, setting_tree(section.cls), table, section.path, section.name)
    _name_entry(section, entry)
    _require(section, table)
    if not section.is_whole():
        return REFUSED
    made = section.cls(**section.values)
    for breach in breaches(made, section.context.providers):
        place = _place_below(table, breach.below)
        section.context.findings.add(place, (*section.path, *breach.below), breach.sentence, breach.remedy)
    return made


def _as_table(node: Node) -> Table | None:
    """A mapping; nothing at all (`default:`) is an empty one."""
    if isinstance(node, Scalar) and node.value is None:
        return Table((), node.place, 1)
    return node if isinstance(node, Table) else None


def _no_mapping(cls: type[Any]) -> Complaint:
    keys = ", ".join(s.name for s in own_settings(cls) if s.row.form is not Form.ENTRY_NAME and not s.row.later)
    return Complaint("is no mapping", f"write it as key: value, with the keys {keys}")


def _read_keys(section: Section, tree: Tree, table: Table, path: Path, prefix: str) -> None:
    for entry in table.entries:
        here, name = (*path, entry.key), f"{prefix}{entry.key}"
        known = tree.get(entry.key)
        not_yet = not_yet_sentence(name)
        if not_yet is not None:
            section.later.append(name)
            section.context.findings.add(entry.place, here, not_yet, "leave it out", not_yet=True)
        elif isinstance(known, Setting):
            _keep(section, known, _read_setting(section, known.row, entry.value, here, name))
        elif known is not None:
            _read_group(section, known, entry.value, here, name)
        else:
            _refuse_unknown(section, entry, here, prefix, tree)


def _keep(section: Section, setting: Setting, value: object) -> None:
    section.written.add(setting.name)
    if value is REFUSED:
        section.refused.append(setting.name)
    else:
        section.values[setting.field] = value


def _read_group(section: Section, tree: Tree, node: Node, path: Path, name: str) -> None:
    if isinstance(node, Table):
        _read_keys(section, tree, node, path, f"{name}.")
        return
    section.refused.append(name)
    section.context.refuse(node, path, Complaint("is no mapping", f"write it with the keys {', '.join(tree)}"))


def _refuse_unknown(section: Section, entry: Entry, path: Path, prefix: str, tree: Tree) -> None:
    section.refused.append(f"{prefix}{entry.key}")
    meant = meant_key(entry.key, prefix, tuple(tree))
    elsewhere = meant_elsewhere(entry.key)
    if meant is not None:
        section.written.add(f"{prefix}{meant}".removeprefix(section.name))
        remedy = f"did you mean {quoted(meant)}?"
    elif elsewhere is not None:
        remedy = f"did you mean {elsewhere}?"
    else:
        remedy = f"known here: {', '.join(tree)}" if tree else "leave it out"
    section.context.findings.add(entry.place, path, "is no setting", remedy)


def _read_setting(section: Section, row: Row, node: Node, path: Path, name: str) -> object:
    if row.of is not None:
        return _read_sections(section, row, row.of, node, path, name)
    if isinstance(node, Table) and has_later_keys(name):
        _read_keys(section, {}, node, path, f"{name}.")
        return REFUSED
    return read_value(node, row, path, section.context)


def _read_sections(section: Section, row: Row, cls: type[Any], node: Node, path: Path, name: str) -> object:
    if row.form is Form.SECTION:
        return read_section(section.inner(cls, path, f"{name}."), node)
    if row.form is Form.BUDGETS:
        return _read_budgets(section, node, path, name)
    return _read_entries(section, row.form, cls, node, path, name)


def _read_entries(section: Section, form: Form, cls: type[Any], node: Node, path: Path, name: str) -> object:
    table = _as_table(node)
    if table is None:
        return section.context.refuse(node, path, Complaint("is no mapping", "write names, each with its settings"))
    found: dict[str, object] = {}
    for entry in table.entries:
        here = (*path, entry.key)
        if _is_entry_name(section.context, form, entry, here):
            found[entry.key] = read_section(section.inner(cls, here, f"{name}.*."), entry.value, entry.key)
    if len(found) < len(table.entries) or any(value is REFUSED for value in found.values()):
        return REFUSED
    return tuple(found.values()) if form is Form.PATTERNS else MappingProxyType(found)


def _is_entry_name(context: Context, form: Form, entry: Entry, path: Path) -> bool:
    if form is Form.PATTERNS:
        good, remedy = 0 < len(entry.key) <= PATTERN_MOST, f"write 1 to {PATTERN_MOST} characters"
    else:
        good, remedy = is_name(entry.key), NAME_REMEDY
    if not good:
        what = "pattern" if form is Form.PATTERNS else "name"
        context.findings.add(entry.place, path, f"{quoted(entry.key)} is no {what}", remedy)
    return good


def _name_entry(section: Section, entry: str | None) -> None:
    if entry is None:
        return
    if section.cls is Consumer:
        section.values.setdefault("exclusive", is_exclusive_unless_said(entry))
    for setting in own_settings(section.cls):
        if setting.row.form is Form.ENTRY_NAME:
            section.values[setting.field] = entry


def _require(section: Section, table: Table) -> None:
    """Report what must be written and is not; a later alternative (`{etcd: …}`) has been answered already."""
    if section.later and section.path:
        return
    for setting in own_settings(section.cls):
        if not setting.is_required() or setting.name in section.written or setting.field in section.values:
            continue
        section.refused.append(setting.name)
        remedy = advice(setting.row) if setting.row.example is None else f"write `{setting.row.example}`"
        section.context.findings.add(table.place, (*section.path, setting.name), "is missing", remedy)


def _read_budgets(section: Section, node: Node, path: Path, name: str) -> object:
    """`none` alone, or a list of limits among which one is for `all`."""
    if isinstance(node, Scalar) and node.value == "none":
        return (Budget(scope="all", limit="none"),)
    if not isinstance(node, Listing):
        advice = Complaint(
            "is no list of limits", "write `budgets: none`, or a list such as [{scope: all, limit: none}]"
        )
        return section.context.refuse(node, path, advice)
    if not any(_is_for_all(item) for item in node.items):
        section.context.refuse(node, path, Complaint("has no limit for `all`", "add {scope: all, limit: none}"))
    limits = [read_section(section.inner(Budget, (*path, n), f"{name}.*."), item) for n, item in enumerate(node.items)]
    return REFUSED if any(limit is REFUSED for limit in limits) else tuple(limits)


def _is_for_all(node: Node) -> bool:
    entries = node.entries if isinstance(node, Table) else ()
    return any(e.key == "scope" and isinstance(e.value, Scalar) and e.value.value == "all" for e in entries)


def _place_below(node: Node, below: Path) -> Place:
    for step in below:
        inner: Node | None = None
        if isinstance(node, Table):
            inner = next((entry.value for entry in node.entries if entry.key == step), None)
        elif isinstance(node, Listing) and isinstance(step, int):
            inner = node.items[step]
        if inner is None:
            break
        node = inner
    return node.place
