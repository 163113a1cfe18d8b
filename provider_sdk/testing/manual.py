"""Prints the table of requirements into docs/reference/conformance.md: `python -m provider_sdk.testing.manual [ROOT]`.

Alone responsible for the form of that table.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from provider_sdk.testing.checks import order
from provider_sdk.testing.manifest import Requirement, requirements

BEGIN: Final = "<!-- the table below is printed by python -m provider_sdk.testing.manual -->\n"


def table() -> str:
    """Return the requirements by section as Markdown, each with its checks or why it can't be seen."""
    lines: list[str] = []
    section = ""
    for each in requirements().values():
        if each.clause != section:
            section = each.clause
            lines += ["", f"### {section}", "", "| id | what it asks | seen by |", "|---|---|---|"]
        seen = "; ".join(_checks(each)) or f"not from outside: {each.unseen}"
        lines.append(f"| [{each.id}](contract-v2.md#{each.id.lower()}) | {each.sentence} | {seen} |")
    return "\n".join(lines).strip() + "\n"


def _checks(requirement: Requirement) -> Iterator[str]:
    return (each.name for each in order.ALL if requirement.id in each.clauses)


def main(root: Path) -> None:
    """Write the table into the page below the given checkout."""
    page = root / "docs" / "reference" / "conformance.md"
    head, _, _ = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n{table()}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
