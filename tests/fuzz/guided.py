"""`python -m tests.fuzz.guided`: the same cases, with bytes chosen by what code they reach, where atheris is installed.

atheris is no requirement of this project: it is a large compiled package that only this uses. It has to be there before
the product is imported, so that it sees what the product's code reaches; hence the late imports.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "build" / "fuzz"
CORPUS_MOST = 40
"""Seeds of one scene that go into the corpus; the rest only makes the start slow."""
ABSENT = 2
WHAT_TO_DO = (
    "atheris is not installed. It has wheels for CPython 3.11 to 3.13 on x86-64 Linux: "
    "run `.venv/bin/python -m pip install atheris`, then this again. `make fuzz` needs nothing more."
)


def places(cases: ModuleType) -> tuple[tuple[str, str], ...]:
    """Target and scene by number, as the first byte of an input chooses them."""
    return tuple((name, scene) for name, target in cases.TARGETS.items() for scene in target.streams())


def entry(cases: ModuleType) -> Callable[[bytes], None]:
    """What runs one input: its first byte says where, the rest is said there."""
    where = places(cases)

    def run_bytes(data: bytes) -> None:
        if data:
            target, scene = where[data[0] % len(where)]
            cases.run(cases.Case(target, scene, data[1:]))

    return run_bytes


def write_corpus(cases: ModuleType, folder: Path) -> None:
    """Writes seeds of every scene as inputs."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (target, scene) in enumerate(places(cases)):
        for place, stream in enumerate(cases.TARGETS[target].streams()[scene][:CORPUS_MOST]):
            (folder / f"{target}-{number}-{place}").write_bytes(bytes([number]) + stream)


def main(arguments: list[str]) -> int:
    """Runs until something breaks, or as long as the arguments for libFuzzer say; 2 where atheris is absent."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.stderr.write(WHAT_TO_DO + "\n")
        return ABSENT
    with atheris.instrument_imports(include=["provider_sdk", "provisioner"]):
        cases = importlib.import_module("tests.fuzz.case")
    write_corpus(cases, FOLDER / "corpus")
    given = ["guided", str(FOLDER / "corpus"), f"-artifact_prefix={FOLDER}/", "-max_len=65536", *arguments]
    atheris.Setup(given, entry(cases))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
