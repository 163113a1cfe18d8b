"""What is wrong with a value's shape: faults with JSON pointers, gathered through nested values.

Alone responsible for how faults are named and collected. Knows no type of the contract but the fault itself.
"""

from collections.abc import Callable, Iterable

from provider_sdk.contract.types import ParamFault


class BadShape(Exception):
    """A value does not have the shape the contract gives; `faults` are all that were found, never with values."""

    def __init__(self, faults: Iterable[ParamFault]) -> None:
        """Hold the faults, in the order of the type's fields."""
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.path or 'it'} {fault.detail}" for fault in self.faults[:3]))


def fault(detail: str) -> BadShape:
    """Return the one fault of the value looked at."""
    return BadShape([ParamFault("", detail)])


class Gathering:
    """Collects the faults of the parts of one value."""

    def __init__(self) -> None:
        """Begin without faults."""
        self._faults: list[ParamFault] = []

    def read(self, step: str | int, read: Callable[[object], object], raw: object) -> object:
        """Return the part read, or None after taking down its faults under `step`."""
        try:
            return read(raw)
        except BadShape as bad:
            prefix = pointer(step)
            self._faults.extend(ParamFault(prefix + part.path, part.detail) for part in bad.faults)
            return None

    def miss(self, step: str) -> None:
        """Take down that a required part is absent."""
        self._faults.append(ParamFault(pointer(step), "is required"))

    def refuse_if_any(self) -> None:
        """Raise BadShape if any part had a fault."""
        if self._faults:
            raise BadShape(self._faults)


def pointer(step: str | int) -> str:
    """Return one step of a JSON pointer."""
    return "/" + str(step).replace("~", "~0").replace("/", "~1")
