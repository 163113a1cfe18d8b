"""Recorded conversations as seeds: what a real provider process and a daemon said to each other, line by line.

A file in seeds/conversations has one line for each frame: `>` from the daemon or `<` from the provider, then the frame.
"""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "seeds" / "conversations"


@cache
def of_providers() -> tuple[bytes, ...]:
    """What providers said, one stream for each conversation."""
    return _said(b"<")


@cache
def of_daemons() -> tuple[bytes, ...]:
    """What daemons said, one stream for each conversation."""
    return _said(b">")


def both_ways() -> tuple[bytes, ...]:
    """All streams of either side."""
    return (*of_providers(), *of_daemons())


def _said(side: bytes) -> tuple[bytes, ...]:
    files = sorted(FOLDER.glob("*.txt"))
    return tuple(
        b"".join(text[2:] + b"\n" for text in file.read_bytes().split(b"\n") if text.startswith(side)) for file in files
    )
