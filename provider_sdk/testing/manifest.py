"""The list of requirements: every clause of the contract, in a sentence, and why some can't be seen from outside.

Alone responsible for reading the list, which is data (schemas/provider/requirements.json). Knows no check.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from attrs import frozen

_FILE: Final = Path(__file__).parents[2] / "schemas" / "provider" / "requirements.json"


@frozen
class Requirement:
    """One clause: its id, the section of the contract, what it asks of a provider; `unseen` if no check can tell."""

    id: str
    clause: str
    sentence: str
    unseen: str | None = None


@cache
def requirements() -> dict[str, Requirement]:
    """Return all requirements by id, in the order of the contract."""
    listed = json.loads(_FILE.read_text(encoding="utf-8"))["requirements"]
    return {each["id"]: Requirement(**each) for each in listed}
