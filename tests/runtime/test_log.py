"""The log's lines: written as they come, and lost without harm where nobody takes them."""

import contextlib
import json
import os
import pty
import re
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from provisioner.runtime.log import LossyLines
from provisioner.runtime.unblocked import write_when_ready


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


def pipe_pair() -> tuple[int, int]:
    return os.pipe()


def socket_pair() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return theirs.detach(), ours.detach()


def terminal_pair() -> tuple[int, int]:
    return pty.openpty()


@pytest.mark.parametrize("pair", [pipe_pair, socket_pair, terminal_pair], ids=lambda pair: pair.__name__)
def test_a_reader_that_stays_and_never_reads_costs_lines_and_holds_nobody_up(
    pair: Callable[[], tuple[int, int]],
) -> None:
    reading, writing = pair()
    lines = LossyLines(writing)
    with alarm_after_s(20):
        for number in range(5000):
            lines.info(f"{number} {'x' * 500}")
    read = b""
    with alarm_after_s(20):
        while not read.rstrip().endswith(b"again"):
            read += drained(reading)
            lines.info("again")
    # A terminal takes a line now and then even while nobody reads, and tells each time.
    assert sum(map(int, re.findall(rb'"log_lines_lost", "lines": ([0-9]+)', read))) > 1000
    assert os.get_blocking(writing), "the mode is that of whoever else holds the descriptor too"
    os.close(reading)
    os.close(writing)


def test_a_pipe_that_may_not_be_opened_again_is_asked_for_room_first() -> None:
    reading, writing = os.pipe()
    write = write_when_ready(writing)
    taken = 0
    with alarm_after_s(20), contextlib.suppress(BlockingIOError):
        while taken < 1 << 24:
            taken += write(b"x" * 10_000)
    assert 32768 <= len(drained(reading)) == taken < 1 << 24
    os.close(reading)
    os.close(writing)


def drained(reading: int) -> bytes:
    os.set_blocking(reading, False)
    read = bytearray()
    with contextlib.suppress(BlockingIOError):
        while data := os.read(reading, 65536):
            read += data
    return bytes(read)


@contextlib.contextmanager
def alarm_after_s(seconds: int) -> Iterator[None]:
    """A write that waits for its reader would wait for ever: the alarm ends the test instead."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _too_long(*_: object) -> None:
    raise TimeoutError
