"""Lists of texts and the provider's own mapping, from the configuration file to plain values.

It alone knows that lists of names and commands may hold what must not be shown; it must not know any one setting.
"""

import json
import math
import posixpath
import re
from typing import Final

from provisioner.core.setting_rows import Form
from provisioner.edge.config_context import NAME_REMEDY, REFUSED, Context, Refusal, is_name
from provisioner.edge.config_fault import Path, quoted
from provisioner.edge.quantities import Complaint
from provisioner.edge.yaml_places import Listing, Node, Scalar, Table

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
INTEGER_MOST: Final = 2**53 - 1
CONFIG_BYTES_MOST: Final = 512 * 1024
"""Contract v2, `initialize`."""
CONFIG_DEPTH_MOST: Final = 28
"""The contract nests at most 32 deep, and the configuration travels inside a message."""


LIST_ADVICE: Final = {
    Form.NAMES: "write it like [first, second]",
    Form.FILE_NAMES: "write the name of a file, never the secret itself",
    Form.VARIABLES: "write names of variables like [AWS_PROFILE], never the secret itself",
    Form.COMMAND: "write the program and its arguments like [program, argument]",
}


def read_texts(node: Node, form: Form, path: Path, context: Context) -> object:
    """A tuple of texts, or REFUSED; credentials and commands are never quoted in a fault: a secret may stand there."""
    if isinstance(node, Scalar) and form is Form.FILE_NAMES and isinstance(node.value, str):
        node = Listing((node,), node.place, 1)
    if not isinstance(node, Listing) or (form is Form.COMMAND and not node.items):
        return context.refuse(node, path, Complaint("is no list in brackets", LIST_ADVICE[form]))
    texts = [_list_text(item, form, (*path, n), context) for n, item in enumerate(node.items)]
    if any(text is REFUSED for text in texts):
        return REFUSED
    return tuple(texts)


def _list_text(item: Node, form: Form, path: Path, context: Context) -> str | Refusal:
    if not isinstance(item, Scalar):
        return context.refuse(item, path, Complaint("is no text", LIST_ADVICE[form]))
    match form:
        case Form.NAMES:
            complaint = None if is_name(item.text) else Complaint(f"{quoted(item.text)} is no name", NAME_REMEDY)
        case Form.FILE_NAMES:
            complaint = _unless(FILE_NAME.fullmatch(item.text), "is no plain name of a credential file", form)
        case Form.VARIABLES:
            complaint = _unless(VARIABLE.fullmatch(item.text), "is no name of an environment variable", form)
        case _:
            return _argument(item, path, context)
    return item.text if complaint is None else context.refuse(item, path, complaint)


def _unless(good: object, sentence: str, form: Form) -> Complaint | None:
    return None if good else Complaint(sentence, LIST_ADVICE[form])


def _argument(item: Scalar, path: Path, context: Context) -> str | Refusal:
    """One word of a command; a program given with a slash is found from the file's folder: it is started elsewhere."""
    is_program = path[-1] == 0
    if "\0" in item.text or (is_program and not item.text):
        return context.refuse(item, path, Complaint("is no text a program can be given", LIST_ADVICE[Form.COMMAND]))
    if is_program and "/" in item.text:
        return posixpath.normpath(posixpath.join(context.folder, item.text))
    return item.text


def read_mapping(node: Node, path: Path, context: Context) -> object:
    """The provider's own configuration as plain JSON values, or REFUSED if it could not travel in a message."""
    if isinstance(node, Scalar) and node.value is None:
        return {}
    if not isinstance(node, Table):
        return context.refuse(node, path, Complaint("is no mapping", "write the provider's settings as key: value"))
    found = _plain(node, path, context, len(path))
    if found is REFUSED:
        return found
    size = len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    if size > CONFIG_BYTES_MOST:
        sentence = f"is {size:,} bytes long, over the {CONFIG_BYTES_MOST:,} a provider can be told"
        return context.refuse(node, path, Complaint(sentence, "put what is long into a file, and its path here"))
    return found


def _plain(node: Node, path: Path, context: Context, start: int) -> object:
    if len(path) - start > CONFIG_DEPTH_MOST:
        return context.refuse(node, path, Complaint("is nested too deep for a message", "write it flatter"))
    match node:
        case Table():
            pairs = {e.key: _plain(e.value, (*path, e.key), context, start) for e in node.entries}
            return REFUSED if REFUSED in pairs.values() else pairs
        case Listing():
            items = [_plain(item, (*path, n), context, start) for n, item in enumerate(node.items)]
            return REFUSED if REFUSED in items else items
        case Scalar():
            return _plain_scalar(node, path, context)


def _plain_scalar(node: Scalar, path: Path, context: Context) -> object:
    value = node.value
    if isinstance(value, float) and not math.isfinite(value):
        return context.refuse(
            node, path, Complaint(f"{node.text} cannot be sent to a provider", "write a finite number")
        )
    if isinstance(value, int) and abs(value) > INTEGER_MOST:
        return context.refuse(
            node, path, Complaint(f"{node.text} is beyond 2^53", f'write it in quotes: "{node.text}"')
        )
    return value
