import os
import queue
import socket

import pytest

from provider_sdk.stdio import Reaper, watch_for_hangup

LIMIT_S = 10


def test_the_earliest_word_on_the_end_counts_and_brings_its_code() -> None:
    exits: queue.Queue[int] = queue.Queue()
    reaper = Reaper(exits.put)
    reaper.end_within(60, 1)
    reaper.end_within(0.01, 2)
    reaper.end_within(60, 3)
    assert exits.get(timeout=LIMIT_S) == 2


def test_a_hangup_is_noticed_though_what_was_written_is_not_read() -> None:
    seen: queue.Queue[str] = queue.Queue()
    read_end, write_end = os.pipe()
    try:
        watch_for_hangup(read_end, lambda: seen.put("gone"))
        os.write(write_end, b"never read\n")
        with pytest.raises(queue.Empty):
            seen.get(timeout=0.05)
    finally:
        os.close(write_end)
    assert seen.get(timeout=LIMIT_S) == "gone"
    os.close(read_end)


def test_a_half_closed_socket_has_hung_up_too() -> None:
    seen: queue.Queue[str] = queue.Queue()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        watch_for_hangup(ours.fileno(), lambda: seen.put("gone"))
        theirs.shutdown(socket.SHUT_WR)
        assert seen.get(timeout=LIMIT_S) == "gone"
