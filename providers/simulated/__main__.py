"""The program: serves a daemon on its pipes, or prints the books of a simulated cloud.

Knows the command line; must not know anything else.
"""

import sys

import orjson

from provider_sdk.serve import serve
from providers.simulated import books
from providers.simulated.provider import SimulatedProvider
from providers.simulated.wire_faults import WireFaults

_USAGE = "usage: python -m providers.simulated [books STATE_DIR]\n"
_EXIT_USAGE = 64
_EXIT_NO_BOOKS = 66


def main() -> int:
    """Serve, or print all instances ever made in a cloud as JSON (`books PATH`); answers the exit code."""
    match sys.argv[1:]:
        case []:
            return serve(SimulatedProvider(), WireFaults().wiring())
        case ["books", path]:
            return _print_books(path)
        case _:
            sys.stderr.write(_USAGE)
            return _EXIT_USAGE


def _print_books(path: str) -> int:
    try:
        entries = books.read(path)
    except books.NoBooks as problem:
        sys.stderr.write(f"{problem}\n")
        return _EXIT_NO_BOOKS
    sys.stdout.buffer.write(orjson.dumps(entries, option=orjson.OPT_INDENT_2) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
