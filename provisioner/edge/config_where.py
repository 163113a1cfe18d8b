"""The conditions of `where`, from the configuration file to the core's constraints.

It alone knows how a condition is written; it must not know what it is compared with.
"""

import math
import re
from typing import Final

from provisioner.core.model import Constraint
from provisioner.edge import quantities
from provisioner.edge.config_context import REFUSED, Context
from provisioner.edge.config_fault import Path, quoted
from provisioner.edge.quantities import Complaint
from provisioner.edge.yaml_places import Listing, Node, Scalar, Table

ATTRIBUTE = re.compile(r"[a-z][a-z0-9_.]{0,63}")
WORD_MOST: Final = 256


def read_where(node: Node, path: Path, context: Context) -> object:
    """A tuple of constraints that must all hold, or REFUSED."""
    if not isinstance(node, Table):
        return context.refuse(node, path, Complaint("is no mapping", "write it like {arch: x86_64}"))
    constraints: list[Constraint] = []
    for entry in node.entries:
        here = (*path, entry.key)
        if not ATTRIBUTE.fullmatch(entry.key):
            remedy = "begin with a letter and go on with a-z, 0-9, _ and dots"
            context.findings.add(entry.place, here, f"{quoted(entry.key)} is no attribute", remedy)
            continue
        constraint = _constraint(entry.key, entry.value)
        if isinstance(constraint, Complaint):
            context.refuse(entry.value, here, constraint)
        else:
            constraints.append(constraint)
    return tuple(constraints) if len(constraints) == len(node.entries) else REFUSED


_WHERE_ADVICE: Final = "write a word, a list of words, a number, a size, or {min: 4, max: 16}"


def _constraint(attribute: str, node: Node) -> Constraint | Complaint:
    match node:
        case Table():
            return _range(attribute, node)
        case Listing():
            words = tuple(i.value for i in node.items if isinstance(i, Scalar) and isinstance(i.value, str))
            if not words or len(words) != len(node.items):
                return Complaint("is no list of words", _WHERE_ADVICE)
            return Constraint(attribute, one_of=words)
        case Scalar(value=bool()):
            return Constraint(attribute, one_of=(node.text.lower(),))
        case Scalar(value=None):
            return Complaint("has no value", _WHERE_ADVICE)
        case Scalar():
            return _exactly(attribute, node)


def _exactly(attribute: str, node: Scalar) -> Constraint | Complaint:
    amount = quantities.thousandths(node.text)
    if not isinstance(amount, Complaint):
        return Constraint(attribute, least=amount, most=amount)
    if not isinstance(node.value, str):
        return Complaint(f"{quoted(node.text)} is no amount", _WHERE_ADVICE)
    if len(node.value) > WORD_MOST or not node.value:
        return Complaint(f"{quoted(node.text)} is empty or longer than {WORD_MOST} characters", _WHERE_ADVICE)
    return Constraint(attribute, one_of=(node.value,))


def _range(attribute: str, node: Table) -> Constraint | Complaint:
    bounds: dict[str, int] = {}
    for entry in node.entries:
        if entry.key not in ("min", "max") or not isinstance(entry.value, Scalar):
            return Complaint(f"{quoted(entry.key)} is no bound", _WHERE_ADVICE)
        amount = quantities.thousandths(entry.value.text)
        if isinstance(amount, Complaint):
            return amount
        bounds[entry.key] = amount
    if not bounds or bounds.get("min", 0) > bounds.get("max", math.inf):
        return Complaint("no amount can meet it", "write min no bigger than max")
    return Constraint(attribute, least=bounds.get("min"), most=bounds.get("max"))
