"""The steps of ending a provider's process, each with its bound: shutdown, end of stdin, SIGTERM, SIGKILL.

It alone orders them. It must not know why the process is ended, nor what becomes of its calls.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Protocol

import trio

from provisioner.runtime.conversation import Conversation
from provisioner.runtime.pipes import ByteSink, ReadStream
from provisioner.runtime.spawn import ExitStatus
from provisioner.runtime.supervision import Graces, Log

__all__ = ["ChildProcess", "end_by_steps", "say_goodbye"]

_EXIT_NOTICE_S = 1.0


class ChildProcess(Protocol):
    """What is needed of a started child; spawn.Child is one."""

    @property
    def pid(self) -> int: ...
    @property
    def start_ticks(self) -> int: ...
    @property
    def boot_id(self) -> str: ...
    @property
    def stdin(self) -> ByteSink: ...
    @property
    def stdout(self) -> ReadStream: ...
    @property
    def stderr(self) -> ReadStream: ...

    async def wait_exit(self) -> ExitStatus:
        """How it ended, once it did and is reaped."""

    def signal_group(self, number: signal.Signals) -> bool:
        """Signals its whole group."""

    async def close_pipes(self) -> None:
        """Closes our ends."""


async def say_goodbye(
    conversation: Conversation, *, given_up_at: Sequence[trio.Event], shutdown_s: float | None, is_ready: bool
) -> bool:
    """True if the provider answered `shutdown` within `shutdown_s` (None: it is not asked).

    Before the handshake is over only `exit` is said (HS-2). Given up at once when one of `given_up_at` happens.
    """
    answered = False

    async def give_up(event: trio.Event) -> None:
        await event.wait()
        nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for event in given_up_at:
            nursery.start_soon(give_up, event)
        if not is_ready:
            await conversation.notify("exit", {}, _EXIT_NOTICE_S)
        elif shutdown_s is not None:
            answered = await conversation.last_call("shutdown", {"grace_s": int(shutdown_s)}, shutdown_s)
        nursery.cancel_scope.cancel()
    return answered


async def end_by_steps(
    child: ChildProcess, exited: trio.Event, graces: Graces, log: Log, *, said_goodbye: bool
) -> None:
    """Closes stdin and waits, then signals the group, harder each time, until `exited` or the last bound is over."""
    child.stdin.close()
    await _wait(exited, graces.exit_s if said_goodbye else graces.stdin_end_s)
    for number, wait_s in ((signal.SIGTERM, graces.term_s), (signal.SIGKILL, graces.kill_s)):
        if not exited.is_set():
            log.warning("provider_signalled", pid=child.pid, signal=number.name)
            child.signal_group(number)
            await _wait(exited, wait_s)


async def _wait(event: trio.Event, wait_s: float) -> None:
    with trio.move_on_after(wait_s):
        await event.wait()
