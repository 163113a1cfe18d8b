"""The fields of one JSON object of a request's body, read one by one with all their faults.

It alone knows how single values are read and refused; it must not know what they are for. A refused value leaves a
fault and gives a stand-in: whoever reads must look at the faults before using anything.
"""

import difflib
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from attrs import frozen

from provisioner.core.model import Amounts
from provisioner.edge import quantities
from provisioner.edge.config_context import NAME_REMEDY, is_name
from provisioner.edge.quantities import Complaint
from provisioner.edge.rest_fault import FieldFaults, below, shown
from provisioner.edge.rest_times import read_time

SAFE_MOST: Final = 2**53 - 1
AMOUNT_MOST: Final = 10**15
TEXT_MOST: Final = 256
RESOURCES_MOST: Final = 64
ATTRIBUTE: Final = re.compile(r"[a-z][a-z0-9_.]{0,63}")
REF: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}")
ATTRIBUTE_REMEDY: Final = "begin with a-z and go on with at most 63 of a-z, 0-9, _ and dots"
REF_REMEDY: Final = "write at most 200 of letters, digits and . _ : @ = + / -, with a letter or digit first"


@frozen
class Fields:
    """The values of one object, where it stands in the body, and where faults go; absent and null mean the same."""

    values: Mapping[str, object]
    at: str
    faults: FieldFaults

    def states(self, key: str) -> bool:
        """Whether the field is stated."""
        return self.values.get(key) is not None

    def refuse(self, key: str, message: str, remedy: str) -> None:
        """Keep a fault at this field."""
        self.faults.add(below(self.at, key), message, remedy)

    def missing(self, key: str, remedy: str) -> None:
        """Keep the fault that a needed field is not stated."""
        self.refuse(key, f"{key} is missing", remedy)

    def whole(self, key: str, *, least: int = 0, most: int = SAFE_MOST) -> int | None:
        """A whole number within its bounds, None if it is not stated."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(key, f"{shown(value)} is no whole number", f"write a number such as {max(least, 1)}")
            return None
        if not least <= value <= most:
            self.refuse(key, f"{shown(value)} is out of bounds", f"write {least:,} to {most:,}")
            return None
        return value

    def flag(self, key: str) -> bool:
        """True or false; false if it is not stated."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value is True
        self.refuse(key, f"{shown(value)} is neither true nor false", "write true or false without quotes")
        return False

    def text(self, key: str, *, most: int = TEXT_MOST) -> str | None:
        """A text of 1 to `most` printable characters, None if it is not stated."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(key, f"{shown(value)} is no text", "write a text in quotes")
        elif not value or len(value) > most or not value.isprintable():
            self.refuse(key, f"{shown(value)} is no text of 1 to {most} printable characters", "write another text")
        else:
            return value
        return None

    def ref(self, key: str) -> str | None:
        """An identifier in the form of a provider's refs, None if it is not stated."""
        value = self.text(key)
        if value is not None and not REF.fullmatch(value):
            self.refuse(key, f"{shown(value)} is no identifier", REF_REMEDY)
            return None
        return value

    def name(self, key: str) -> str | None:
        """A name as clusters, providers and consumers have it, None if it is not stated."""
        value = self.text(key)
        if value is not None and not is_name(value):
            self.refuse(key, f"{shown(value)} is no name", NAME_REMEDY)
            return None
        return value

    def time(self, key: str) -> float | None:
        """Epoch seconds, None if it is not stated."""
        value = self.values.get(key)
        if value is None:
            return None
        found = read_time(value) if isinstance(value, str) else None
        if found is None:
            remedy = "write RFC 3339 with an offset, such as 2031-03-04T17:58:12Z"
            self.refuse(key, f"{shown(value)} is no time between the years 1970 and 2999", remedy)
        return found

    def choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        """One of the choices, None if it is not stated."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or value not in choices:
            self.refuse(
                key, f"{shown(value)} is not among its choices", f"write {' or '.join(choices)}{_meant(value, choices)}"
            )
            return None
        return value

    def amounts(self, key: str) -> Amounts:
        """Sorted (resource, thousandths) pairs of a map from resource to number or size; empty if it is not stated."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, dict) or len(value) > RESOURCES_MOST:
            remedy = f'write an object of at most {RESOURCES_MOST} resources, such as {{"cores": 4, "memory": "16GiB"}}'
            self.refuse(key, f"{shown(value)} is no bundle of resources", remedy)
            return ()
        inner = Fields(value, below(self.at, key), self.faults)
        return tuple(sorted((resource, inner.resource(resource)) for resource in value))

    def resource(self, resource: str) -> int:
        """Thousandths of one resource, bigger than zero."""
        if not ATTRIBUTE.fullmatch(resource):
            self.refuse(resource, f"{shown(resource)} is no resource", ATTRIBUTE_REMEDY)
        amount = thousandths(self.values[resource])
        if isinstance(amount, Complaint):
            self.refuse(resource, amount.sentence, amount.remedy)
            return 0
        if amount == 0:
            self.refuse(resource, "nothing of a resource is no part of a bundle", "leave it out, or write more than 0")
        return amount


def open_object(
    value: object, at: str, faults: FieldFaults, known: tuple[str, ...], later: Mapping[str, str] | None = None
) -> Fields | None:
    """The fields of an object, unknown ones refused with the nearest known name, later ones as "not yet"."""
    if not isinstance(value, dict):
        faults.add(at, f"{shown(value)} stands where an object is wanted", 'write an object: {"…": …}')
        return None
    fields = Fields(value, at, faults)
    for key in value:
        if key in known:
            continue
        sentence = (later or {}).get(key)
        if sentence is not None:
            fields.refuse(key, f"{key} is not yet supported by this version ({sentence})", "leave it out")
        else:
            remedy = f"leave it out{_meant(key, known)}"
            fields.refuse(key, f"{shown(key)} is not known here", remedy)
    return fields


def thousandths(value: object) -> int | Complaint:
    """Thousandths of a number, or of a size such as "16GiB" in bytes."""
    if isinstance(value, str) and not quantities.PLAIN_NUMBER.fullmatch(value):
        size = quantities.size_bytes(value)
        return size if isinstance(size, Complaint) else size * 1000
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Complaint(f"{shown(value)} is no amount", 'write a number such as 4 or 0.5, or a size such as "16GiB"')
    if not 0 <= value <= AMOUNT_MOST:
        return Complaint(f"{shown(value)} is out of bounds", f"write 0 to {AMOUNT_MOST:,}")
    exact = Decimal(repr(value)) * 1000
    if exact != exact.to_integral_value():
        return Complaint(f"{shown(value)} has more than three decimals", "round it")
    return int(exact)


def _meant(key: object, known: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(str(key)[:TEXT_MOST], known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
