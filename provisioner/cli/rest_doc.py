"""Writes the schemas of what sources push, printed from the code: `python -m provisioner.cli.rest_doc [ROOT]`.

It alone knows which files those are; what stands in them is edge/rest_schema.py's.
"""

import json
import sys
from pathlib import Path

from provisioner.edge import rest_schema


def pages() -> dict[str, str]:
    """The text of each file by its path below the root of the source tree."""
    schemas = {
        "schemas/demand/demand.schema.json": rest_schema.demand_schema(),
        "schemas/demand/cluster.schema.json": rest_schema.cluster_schema(),
        "schemas/supply/supply.schema.json": rest_schema.supply_schema(),
    }
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}


def main(arguments: list[str]) -> int:
    """Write the files below the first argument, or below the working folder; the exit code."""
    root = Path(arguments[0]) if arguments else Path()
    for name, text in pages().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
        print(f"wrote {root / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
