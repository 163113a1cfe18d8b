"""Reads the text of a configuration file, never more of it than the reader takes: it may be a pipe or a device.

It must not know what the text means, nor what is said where it can't be read.
"""

import codecs
from pathlib import Path
from typing import Final

__all__ = ["config_text"]

BYTES_MOST: Final = 8 * 1024 * 1024
"""More than the most characters that are read, so that a longer file is told as one."""


def config_text(config: Path) -> str:
    """The beginning of the file, all of it unless it is far too long; raises OSError, UnicodeDecodeError."""
    with config.open("rb") as file:
        content = file.read(BYTES_MOST)
    return codecs.getincrementaldecoder("utf-8")().decode(content, final=len(content) < BYTES_MOST)
