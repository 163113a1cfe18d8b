"""Writes the pages printed from the settings table: `python -m provisioner.cli.settings_doc [ROOT]`.

It alone knows which files those are; what stands in them is edge/settings_page.py's and edge/settings_schema.py's.
"""

import json
import sys
from pathlib import Path

from provisioner.edge import settings_page, settings_schema


def pages() -> dict[str, str]:
    """The text of each file printed from the table, by its path below the root of the source tree."""
    return {
        "docs/reference/settings.md": settings_page.render(),
        "schemas/config/config.schema.json": json.dumps(settings_schema.render(), indent=2, ensure_ascii=False) + "\n",
    }


def main(arguments: list[str]) -> int:
    """Write the files below the first argument, or below the working folder; the exit code."""
    root = Path(arguments[0]) if arguments else Path()
    for name, text in pages().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {root / name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
