"""Sends what a notifier holds, when it may leave.

Knows trio's clock and the writer; must not know who says what.
"""

from collections.abc import Callable

import trio

from provider_sdk.contract.codec import encode
from provider_sdk.contract.envelope import notification_object
from provider_sdk.contract.messages import Changed, Log, Notice, Progress
from provider_sdk.errors import ContractError
from provider_sdk.notify import Hint, Notifier
from provider_sdk.writer import FrameWriter


async def send_hints(
    notifier: Notifier,
    writer: FrameWriter,
    *,
    soon: Callable[[Callable[[], None]], None],
    log: Callable[[str], None],
) -> None:
    """Send until cancelled; `soon` runs a function in the trio thread, from any thread."""
    woken = trio.Event()

    def ring() -> None:
        woken.set()  # the event of the moment it runs, not of the moment it was asked for

    def wake() -> None:
        soon(ring)

    notifier.attach(wake)
    while True:
        hints, due = notifier.take(trio.current_time())
        for hint in hints:
            await _send(hint, writer, log)
        if hints:
            continue
        with trio.CancelScope() if due is None else trio.move_on_at(due):
            await woken.wait()
        woken = trio.Event()


async def _send(hint: Hint, writer: FrameWriter, log: Callable[[str], None]) -> None:
    name = _name_of(hint)
    try:
        content = writer.encode(notification_object(name, encode(hint)))
    except ContractError as refusal:
        log(f"provider: a {name} notification can't be sent: {refusal.data.detail}")
        return
    await writer.write(content)


def _name_of(hint: Hint) -> str:
    match hint:
        case Changed():
            return "changed"
        case Notice():
            return "notice"
        case Progress():
            return "progress"
        case Log():
            return "log"
