"""One value of the configuration file, by the form its setting is written in.

It alone knows how single values are read and refused; it must not know any particular setting. A refused value is
REFUSED, and its faults are added to the findings.
"""

import ipaddress
import posixpath
import re
from typing import Final

from provisioner.core.setting_rows import Form, Row
from provisioner.core.settings import Address
from provisioner.edge import quantities
from provisioner.edge.config_collections import LIST_ADVICE, read_mapping, read_texts
from provisioner.edge.config_context import NAME_REMEDY, Context, is_name
from provisioner.edge.config_fault import Path, quoted
from provisioner.edge.config_where import read_where
from provisioner.edge.quantities import Complaint
from provisioner.edge.yaml_places import Listing, Node, Scalar

CURRENCY = re.compile(r"[A-Z]{3}")
ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})")
PORT_MOST: Final = 65_535
YAML_1_1_FLAGS: Final = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def read_value(node: Node, row: Row, path: Path, context: Context) -> object:
    """The value of one setting that is no section, or REFUSED."""
    if row.none_word is not None and isinstance(node, Scalar) and node.value == row.none_word:
        return None
    match row.form:
        case Form.NAMES | Form.FILE_NAMES | Form.VARIABLES | Form.COMMAND:
            return read_texts(node, row.form, path, context)
        case Form.WHERE:
            return read_where(node, path, context)
        case Form.ANYTHING:
            return read_mapping(node, path, context)
        case _:
            return _from_scalar(node, row, path, context)


def _from_scalar(node: Node, row: Row, path: Path, context: Context) -> object:
    if not isinstance(node, Scalar):
        kind = "a list" if isinstance(node, Listing) else "a mapping"
        return context.refuse(node, path, Complaint(f"{kind} stands where {row.form.value} is wanted", advice(row)))
    if node.value is None:
        return context.refuse(node, path, Complaint("has no value", f"{advice(row)}, or leave the setting out"))
    if row.form is Form.CHOICE and node.value in row.later_choices:
        return context.not_yet(
            node, path, f"{quoted(node.text)} is not yet supported by this version", _one_of(row.choices)
        )
    value = _scalar_value(node, row, context)
    return context.refuse(node, path, value) if isinstance(value, Complaint) else value


def _scalar_value(node: Scalar, row: Row, context: Context) -> object:
    match row.form:
        case Form.COUNT | Form.VERSION:
            return _count(node, row)
        case Form.FLAG:
            return _flag(node)
        case Form.DURATION | Form.SECONDS | Form.PERCENT | Form.SIZE:
            return _quantity(node.text, row)
        case Form.PRICE:
            return _price(node.text, context)
        case _:
            return _word(node, row, context)


def _word(node: Scalar, row: Row, context: Context) -> object:
    if row.form is Form.CHOICE:
        return _choice(node.text, row)
    if not isinstance(node.value, str):
        kind = "true or false" if isinstance(node.value, bool) else "a number"
        return Complaint(f"{node.text} is read as {kind}", f'write it in quotes: "{node.text}"')
    match row.form:
        case Form.PATH:
            return _path(node.value, context.folder)
        case Form.ADDRESS:
            return _address(node.value)
        case Form.CURRENCY:
            if CURRENCY.fullmatch(node.value):
                return node.value
            return Complaint(f"{quoted(node.value)} is no currency", 'write three capital letters, such as "USD"')
        case _:
            return node.value if is_name(node.value) else _no_name(node.value)


def _no_name(text: str) -> Complaint:
    return Complaint(f"{quoted(text)} is no name", NAME_REMEDY)


def _count(node: Scalar, row: Row) -> object:
    if isinstance(node.value, str) and re.fullmatch(r"[-+]?[0-9]+", node.value):
        return Complaint(f"{quoted(node.text)} is a text", f"write {node.text} without quotes")
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        return Complaint(f"{quoted(node.text)} is no whole number", advice(row))
    if row.form is Form.VERSION and node.value != 1:
        return Complaint(f"version {node.value} of the format is not known", "write 1")
    return _within(node.value, node.text, row)


def _flag(node: Scalar) -> object:
    if isinstance(node.value, bool):
        return node.value
    meant = YAML_1_1_FLAGS.get(node.text.lower())
    if meant is not None:
        return Complaint(f"{quoted(node.text)} is a text in YAML 1.2", f"write {meant}")
    return Complaint(f"{quoted(node.text)} is neither true nor false", "write true or false")


def _quantity(text: str, row: Row) -> object:
    match row.form:
        case Form.PERCENT:
            share = quantities.permille(text)
            return share if isinstance(share, Complaint) else _within(share, quoted(text), row)
        case Form.SIZE:
            size = quantities.size_bytes(text)
            return size if isinstance(size, Complaint) else _within(size, quoted(text), row)
        case _:
            return _duration(text, row)


def _duration(text: str, row: Row) -> object:
    seconds = quantities.duration_s(text)
    if isinstance(seconds, Complaint):
        return seconds
    if row.form is Form.SECONDS and seconds != int(seconds):
        return Complaint(f"{quoted(text)} is not in whole seconds", "round it up")
    value = int(seconds) if row.form is Form.SECONDS else seconds
    return _within(value, quoted(text), row)


def _within(value: float, shown: str, row: Row) -> object:
    least = 0 if row.least is None else row.least
    if value < least:
        return Complaint(f"{shown} is too little", f"write at least {bound_text(row.form, least)}")
    if row.most is not None and value > row.most:
        return Complaint(f"{shown} is too much", f"write at most {bound_text(row.form, row.most)}")
    return value


def bound_text(form: Form, bound: float) -> str:
    """A bound of a numeric form as the file would write it."""
    match form:
        case Form.PERCENT:
            return quantities.permille_text(int(bound))
        case Form.SIZE:
            return quantities.size_text(int(bound))
        case Form.DURATION | Form.SECONDS:
            return quantities.duration_text(bound)
        case _:
            return str(int(bound))


def _price(text: str, context: Context) -> object:
    price = quantities.price(text, context.currency)
    if isinstance(price, Complaint) or price.currency == context.currency:
        return price
    return Complaint(
        f"{quoted(text)} is not in {context.currency}, the currency of all sums",
        f"write it in {context.currency}; exchange rates are not yet supported",
    )


def _choice(text: str, row: Row) -> object:
    if text not in row.choices:
        return Complaint(f"{quoted(text)} is not among its choices", _one_of(row.choices))
    return text


def _path(text: str, folder: str) -> object:
    if not text or "\0" in text:
        return Complaint(f"{quoted(text)} is no path", "write the path of a file")
    if text.startswith("~"):
        return Complaint(f"{quoted(text)} begins with ~, which means nothing here", "write the whole path")
    return posixpath.normpath(posixpath.join(folder, text))


def _address(text: str) -> object:
    match = ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > PORT_MOST:
        return Complaint(f"{quoted(text)} is no address", 'write address and port, such as "127.0.0.1:8642"')
    host = "127.0.0.1" if match[2] == "localhost" else match[1] or match[2]
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        return Complaint(
            f"{quoted(host)} is no IP address", f'write the address itself, such as "127.0.0.1:{match[3]}"'
        )
    if not is_loopback:
        remedy = f'write "127.0.0.1:{match[3]}"; listening on a network needs TLS, which is not yet supported'
        return Complaint(f"{quoted(text)} is open to the network", remedy)
    return Address(host=host, port=int(match[3]))


def advice(row: Row) -> str:
    """What to write for a setting, where nothing better can be said."""
    match row.form:
        case Form.CHOICE:
            return _one_of(row.choices)
        case form if form in LIST_ADVICE:
            return LIST_ADVICE[form]
        case Form.DURATION | Form.SECONDS:
            return 'write it like "90s" or "10m"'
        case Form.SIZE:
            return 'write it like "16GiB"'
        case Form.PERCENT:
            return 'write it like "80%"'
        case Form.PRICE:
            return 'write it like "3 USD/h"'
        case Form.ADDRESS:
            return 'write it like "127.0.0.1:8642"'
        case _:
            return f"write {row.form.value}"


def _one_of(choices: tuple[str, ...]) -> str:
    return "write " + " or ".join(quoted(choice) for choice in choices)
