"""The log's lines: written as they come, and lost without harm where nobody takes them."""

import json
import os
import resource
from pathlib import Path

from provisioner.runtime.log import LossyLines


def test_a_reader_that_is_gone_costs_lines_and_raises_nothing() -> None:
    reading, writing = os.pipe()
    lines = LossyLines(writing)
    lines.info("one")
    assert os.read(reading, 100) == b"one\n"
    os.close(reading)
    lines.warning("two")
    lines.error("three")
    os.close(writing)
    lines.info("four")


def test_what_was_lost_is_told_once_lines_can_be_written_again(tmp_path: Path) -> None:
    """A limit on the size of files is a disk that is full; it is lifted again before anybody else can meet it."""
    path = tmp_path / "log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    lines = LossyLines(descriptor)
    lines.info("whole")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        lines.info("torn apart")
        lines.info("lost")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    lines.info("again")
    os.close(descriptor)
    first, torn, told, last = path.read_text().splitlines()
    assert (first, torn, last) == ("whole", "to", "again")
    assert json.loads(told) == {"event": "log_lines_lost", "lines": 2, "level": "warning"}
