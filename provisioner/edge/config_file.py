"""The text of a configuration file, to Settings or to all its faults.

It alone knows what the whole file is; how its sections and values are read is its neighbours' knowledge, which settings
exist is core/settings.py's, and the file itself is read at the rim.
"""

from attrs import frozen

from provisioner.core.settings import Settings
from provisioner.edge.config_context import Context
from provisioner.edge.config_fault import Fault, Findings
from provisioner.edge.config_sections import Section, read_section
from provisioner.edge.yaml_places import START, Node, Scalar, Table, read_yaml

__all__ = ["Fault", "Faults", "read_settings"]

DEFAULT_CURRENCY = "USD"


@frozen
class Faults:
    """Why a file was refused: every fault found, in the order of the file; never empty."""

    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        """One line a fault."""
        return "\n".join(str(fault) for fault in self.faults)


def read_settings(text: str, *, file: str, folder: str) -> Settings | Faults:
    """Settings of a configuration file, or all its faults.

    `file` is how the file is named in faults; `folder` is the absolute folder it stands in, against which the paths of
    the daemon's own settings, and a program given with a slash, are resolved. What is not written has the table's
    default.
    """
    findings = Findings(file)
    root = read_yaml(text, findings)
    if root is None or (isinstance(root, Scalar) and root.value is None):
        if not findings.in_order():
            findings.add(START, (), "the file is empty", "write cluster, controller, listen, budgets and providers")
        return Faults(findings.in_order())
    context = Context(folder, findings, currency=_currency(root), providers=_provider_names(root))
    settings = read_section(Section(Settings, (), "", context), root)
    faults = findings.in_order()
    if faults:
        return Faults(faults)
    if not isinstance(settings, Settings):
        raise AssertionError("the file was refused without a fault")
    return settings


def _currency(root: Node) -> str:
    """The currency of the file, read ahead because prices are held to it wherever they stand."""
    money = _under(root, "money")
    currency = None if money is None else _under(money, "currency")
    return currency.text if isinstance(currency, Scalar) else DEFAULT_CURRENCY


def _provider_names(root: Node) -> tuple[str, ...]:
    """The names of the file's providers, read ahead because others name them, also when a provider has faults."""
    providers = _under(root, "providers")
    return tuple(entry.key for entry in providers.entries) if isinstance(providers, Table) else ()


def _under(node: Node, key: str) -> Node | None:
    if not isinstance(node, Table):
        return None
    return next((entry.value for entry in node.entries if entry.key == key), None)
