"""Writes the OpenRPC document and the page of the contract: `python -m provider_sdk.spec [ROOT]`."""

import json
import sys
from pathlib import Path

from provider_sdk.spec import openrpc, page
from provider_sdk.spec.sources import ROOT, read


def pages(root: Path = ROOT) -> dict[str, str]:
    """Return the text of each file that is made, by its path below the root of the source tree."""
    sources = read(root)
    return {
        "schemas/provider/v2/openrpc.json": json.dumps(openrpc.document(sources), indent=1, ensure_ascii=False) + "\n",
        page.PAGE: page.render(sources),
    }


def main(root: Path) -> None:
    """Write the files below the given checkout."""
    for name, text in pages(root).items():
        (root / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {root / name}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
