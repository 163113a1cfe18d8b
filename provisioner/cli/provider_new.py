"""`provisioner provider new`: writes a provider that works, for its author to change.

It alone knows the files of the skeleton (texts with @NAME@, @MODULE@ and @CLASS@ in them) and which names are no use.
"""

import keyword
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.show import print_lines

SKELETON = Path(__file__).parent / "skeleton"
FILES = {
    "provider.py.in": "@MODULE@.py",
    "far_side.py.in": "far_side.py",
    "config.schema.json.in": "config.schema.json",
    "test_provider.py.in": "test_@MODULE@.py",
    "subject.json.in": "subject.json",
    "provisioner.yaml.in": "provisioner.yaml",
    "README.md.in": "README.md",
}
_NAME = re.compile(r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?\Z")
_TAKEN = frozenset({"far_side", "conftest"})


def provider_new(name: str, folder: Path | None) -> Exit:
    """Write the skeleton into `folder` (default: a new one of that name here) and say the next commands."""
    module = checked_module(name)
    target = Path(name) if folder is None else folder
    write_skeleton(target, name, module)
    print_lines(_next_steps(target, module))
    return Exit.OK


def checked_module(name: str) -> str:
    """The name of the Python module for a provider of this name; CommandEnds with a sentence if the name is no use."""
    if not _NAME.match(name):
        raise CommandEnds(
            Exit.USAGE,
            "a provider's name has up to 40 of a-z, 0-9 and inner hyphens, a letter first; name it so, like my-cloud",
        )
    module = name.replace("-", "_")
    # The program's own folder is searched first, so its name would hide a module that it needs itself.
    if module in _TAKEN or keyword.iskeyword(module) or module in sys.stdlib_module_names or find_spec(module):
        raise CommandEnds(Exit.USAGE, f"{module} is the name of a Python module already; take another, like {name}-x")
    return module


def write_skeleton(target: Path, name: str, module: str) -> None:
    """Write all files into a folder that is absent or empty; CommandEnds, with nothing overwritten, if it is not."""
    words = {
        "@NAME@": name,
        "@MODULE@": module,
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")) + "Provider",
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise CommandEnds(Exit.USAGE, f"{target} is not empty, and nothing is overwritten; name another with --dir")
        for source, named in FILES.items():
            file = target / _filled(named, words)
            with file.open("x", encoding="utf-8") as stream:
                stream.write(_filled((SKELETON / source).read_text(encoding="utf-8"), words))
            file.chmod(0o755 if source == "provider.py.in" else 0o644)
        (target / "run").mkdir(mode=0o700)
    except OSError as problem:
        why = (problem.strerror or "unknown reason").lower()
        raise CommandEnds(Exit.USAGE, f"{target} can't be written: {why}; name another with --dir") from None


def _filled(text: str, words: dict[str, str]) -> str:
    for word, meant in words.items():
        text = text.replace(word, meant)
    return text


def _next_steps(target: Path, module: str) -> list[str]:
    return [
        f"{target} holds a provider that works: it sells machines that exist in a JSON file.",
        "",
        f"  cd {shlex.quote(str(target))}",
        "  python -m pytest",
        f"  python -m provider_sdk.testing --config subject.json -- python {module}.py",
        "  provisioner run -c provisioner.yaml",
        "",
        f"Then look for CHANGE in {module}.py and far_side.py. README.md says what each file is.",
    ]
