"""Prints docs/reference/lives.md from the tables of the lives: `python -m provisioner.cli.lives_doc [ROOT]`."""

import sys
from pathlib import Path

from provisioner.edge.lives_page import render


def main(root: Path) -> None:
    """Writes the page below the given checkout."""
    (root / "docs" / "reference" / "lives.md").write_text(render())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
