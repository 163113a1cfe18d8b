"""The rules of purity and of who may import what: pure functions from one source to findings."""

import ast
from collections.abc import Iterator

from tests.house.sources import Source

PURE_STDLIB = frozenset(
    """__future__ abc ast base64 binascii bisect calendar collections contextlib copy datetime decimal difflib enum
    fnmatch fractions functools graphlib hashlib heapq html http io itertools ipaddress json keyword math numbers
    operator pathlib posixpath re reprlib shlex statistics string struct textwrap types typing typing_extensions
    unicodedata urllib zlib""".split()
)

# Where purity is law, and what each place may import besides the pure standard library and itself.
PURE_PLACES: dict[str, frozenset[str]] = {
    "provisioner/core": frozenset({"attrs", "attr", "immutables"}),
    "provisioner/edge": frozenset(
        {"attrs", "attr", "cattrs", "immutables", "jsonrpcclient", "msgspec", "orjson", "ruamel", "provisioner.core"}
        | {"provider_sdk.contract"}
    ),
    "provider_sdk/contract": frozenset({"attrs", "attr", "cattrs", "msgspec", "orjson"}),
}

# Names whose use means a clock, a file, a socket, randomness or a hidden channel, whatever was imported.
IMPURE_NAMES = frozenset({"open", "print", "input", "exec", "eval", "breakpoint", "__import__"})
IMPURE_ATTRIBUTES = {
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "io": {"open", "open_code", "FileIO"},
    "pathlib": {"Path", "PosixPath"},
    "urllib": {"request"},
    "http": {"client", "server"},
}

# Which part of the SDK and of the providers each part of the daemon may know. Longest folder wins.
FOREIGN_TO_DAEMON: dict[str, tuple[str, ...]] = {
    "provisioner/core": (),
    "provisioner/edge": ("provider_sdk.contract",),
    "provisioner/runtime": ("provider_sdk.contract",),
    "provisioner/sim": ("provider_sdk", "providers"),
    "provisioner": ("provider_sdk.contract", "provider_sdk.testing"),
}

# A library that must be wrapped has one importer, so that there is one place to replace it.
SINGLE_IMPORTERS = ("jsonrpcserver", "jsonrpcclient")


def imports(found: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every import, absolute, in full: `from a import b` gives `a.b`, which may be a module or a name."""
    package = found.path.parent.parts
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node, f"{module}.{alias.name}") for alias in node.names)


def impurities(found: Source) -> list[str]:
    """What reaches outside from a place where purity is law; empty for every other place."""
    for place, allowed in PURE_PLACES.items():
        if found.is_under(place):
            own = place.replace("/", ".")
            return [*_impure_imports(found, allowed | {own}), *_impure_uses(found)]
    return []


def _impure_imports(found: Source, allowed: frozenset[str]) -> Iterator[str]:
    for node, name in imports(found):
        if not any(_is_in(name, prefix) for prefix in allowed | PURE_STDLIB):
            yield found.at(node, f"imports {name}: this place is pure")
        module, _, attribute = name.rpartition(".")
        if attribute in IMPURE_ATTRIBUTES.get(module, ()) or name in ("urllib.request", "http.client", "http.server"):
            yield found.at(node, f"imports {name}: this place is pure")


def _impure_uses(found: Source) -> Iterator[str]:
    for node in ast.walk(found.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_NAMES:
            yield found.at(node, f"calls {node.func.id}(): this place is pure")
        elif isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES.get(_last_name(node.value), ()):
            yield found.at(node, f"uses {_last_name(node.value)}.{node.attr}: time, files and ids come in as arguments")


def foreign_imports(found: Source) -> list[str]:
    """What a part of the daemon imports of the SDK or of a provider beyond what it may know."""
    places = [place for place in FOREIGN_TO_DAEMON if found.is_under(place)]
    if not places:
        return []
    allowed = FOREIGN_TO_DAEMON[max(places, key=len)]
    return [
        found.at(
            node, f"imports {name}: {max(places, key=len)} may know {', '.join(allowed) or 'neither SDK nor providers'}"
        )
        for node, name in imports(found)
        if name.split(".")[0] in ("provider_sdk", "providers") and not any(_is_in(name, prefix) for prefix in allowed)
    ]


def fork_risks(found: Source) -> list[str]:
    """Ways to start a process by fork in the daemon, whose threads forbid it: children start by posix_spawn."""
    if not found.is_under("provisioner/runtime"):
        return []
    risky = ("subprocess", "multiprocessing", "pty", "os.fork", "os.forkpty", "trio.run_process", "trio.open_process")
    by_import = [
        found.at(node, f"imports {name}: children start by posix_spawn")
        for node, name in imports(found)
        if any(_is_in(name, prefix) for prefix in (*risky, "trio.lowlevel.open_process"))
    ]
    by_use = [
        found.at(node, f"uses {_last_name(node.value)}.{node.attr}: children start by posix_spawn")
        for node in ast.walk(found.tree)
        if isinstance(node, ast.Attribute)
        and f"{_last_name(node.value)}.{node.attr}" in (*risky, "lowlevel.open_process")
    ]
    return by_import + by_use


def second_loops(found: Source) -> list[str]:
    """An import of asyncio: there is one loop, trio's."""
    return [
        found.at(node, f"imports {name}: the loop is trio's")
        for node, name in imports(found)
        if _is_in(name, "asyncio")
    ]


def importers(sources: tuple[Source, ...], library: str) -> list[str]:
    """The files that import a library."""
    return [str(found.path) for found in sources if any(_is_in(name, library) for _, name in imports(found))]


def _is_in(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
