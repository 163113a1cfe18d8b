"""Ordered misbehaviour of the provider as a process: floods, leftover children, deafness to signals, sudden ends.

Knows the operating system; must not know frames or the cloud. To be begun from the main thread, inside the trio run.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable

import trio

from providers.simulated.faults import ProcessFaults

_FLOOD_PIECE = 4096
_CRASH_CODE = 70


def misbehave(faults: ProcessFaults, output_fd: int | None, exit_now: Callable[[int], None]) -> None:
    """Begin everything that was ordered."""
    if faults.ignore_sigterm:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if faults.stderr_bytes_per_s:
        threading.Thread(target=_flood, args=(faults,), name="flood", daemon=True).start()
    if faults.grandchild_s:
        _leave_grandchild(faults, output_fd)
    if faults.crash_after_ms is not None:
        trio.lowlevel.spawn_system_task(_crash, faults.crash_after_ms / 1000, exit_now)


def _flood(faults: ProcessFaults) -> None:
    piece = b"x" * (_FLOOD_PIECE - 1) + (b"\n" if faults.stderr_newlines else b"x")
    pause_s = len(piece) / faults.stderr_bytes_per_s
    due = time.monotonic()
    while True:
        try:
            os.write(2, piece)
        except OSError:
            return  # nobody reads stderr any more
        due += pause_s
        time.sleep(max(0.0, due - time.monotonic()))


def _leave_grandchild(faults: ProcessFaults, output_fd: int | None) -> None:
    # It holds the pipe of the frames open after this process has ended, which is the fault.
    subprocess.Popen(
        ["/bin/sleep", str(faults.grandchild_s)],
        stdin=subprocess.DEVNULL,
        stdout=output_fd,
        start_new_session=faults.grandchild_leaves_group,
    )


async def _crash(after_s: float, exit_now: Callable[[int], None]) -> None:
    await trio.sleep(after_s)
    exit_now(_CRASH_CODE)
