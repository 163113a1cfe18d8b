"""What the published contract is made from: the schemas, their examples, the prose and the list of clauses.

Alone responsible for reading these files, which stand in `schemas` beside the package. Knows nothing of what is made
from them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

ROOT: Final = Path(__file__).parents[2]
SUFFIX: Final = ".schema.json"

Json = dict[str, Any]


@frozen
class Sources:
    """Schemas and good examples by name (without folder and ending), the prose, and the clauses' ids in order."""

    schemas: Mapping[str, Json]
    good: Mapping[str, Any]
    prose: str
    version: str
    clauses: tuple[str, ...]


def read(root: Path = ROOT) -> Sources:
    """Return the sources below a checkout."""
    folder = root / "schemas" / "provider"
    listed = json.loads((folder / "requirements.json").read_text(encoding="utf-8"))
    return Sources(
        schemas={path.name.removesuffix(SUFFIX): _json(path) for path in sorted((folder / "v2").glob("*" + SUFFIX))},
        good={path.stem: _json(path) for path in sorted((folder / "v2" / "examples" / "good").glob("*.json"))},
        prose=(folder / "v2" / "contract.md").read_text(encoding="utf-8"),
        version=listed["contract"],
        clauses=tuple(each["id"] for each in listed["requirements"]),
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
