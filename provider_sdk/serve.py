"""`serve(provider)`: the whole life of a provider process, from its descriptors to its exit code.

Knows the environment, signals and clocks; must not know frames or methods. Exit codes: 0 orderly, 64 started by hand,
78 faulty configuration or no common version, else a crash.
"""

import os
import signal
import time
import traceback
from collections.abc import Callable
from types import FrameType

import trio
from attrs import frozen

from provider_sdk.handshake import EXIT_CRASH
from provider_sdk.log import Form
from provider_sdk.pipes import input_stream, output_stream
from provider_sdk.provider import Provider
from provider_sdk.session import Session
from provider_sdk.stages import Ending
from provider_sdk.stdio import Claimed, Reaper, claim_descriptors, watch_for_hangup, write_log

EXIT_USAGE = 64
EXIT_WITHIN_S = 9.0
"""After the end of input or SIGTERM; the contract allows 10 s (HS-9)."""
EXIT_NOW_WITHIN_S = 4.0
"""After `exit`, or a refused handshake; the contract allows 5 s (HS-8)."""
CLOSE_S = 1.0
CONTRACT_VARIABLE = "PROVISIONER_CONTRACT"
LOG_VARIABLE = "PROVIDER_LOG"
"""Set to `json`, the log is lines of JSON; to reach a provider the operator must list it by name."""


def _same_input(stream: trio.abc.ReceiveStream) -> trio.abc.ReceiveStream:
    return stream


def _same_output(stream: trio.abc.SendStream) -> trio.abc.SendStream:
    return stream


def _never() -> bool:
    return False


@frozen
class Wiring:
    """What stands between the descriptors and the conversation: nothing, unless faults are to be injected.

    `input` and `output` may wrap the streams; `outlives_input` says, when the input has ended, whether the process
    breaks clause HS-9 on purpose.
    """

    input: Callable[[trio.abc.ReceiveStream], trio.abc.ReceiveStream] = _same_input
    output: Callable[[trio.abc.SendStream], trio.abc.SendStream] = _same_output
    outlives_input: Callable[[], bool] = _never


PLAIN = Wiring()


def serve(provider: Provider, wiring: Wiring = PLAIN) -> int:
    """Serve one daemon on descriptors 0 and 1 until it is done; answers the exit code: `sys.exit(serve(MyProvider()))`.

    To be called once, from the main thread. Nothing the provider prints reaches the daemon's frames.
    """
    if CONTRACT_VARIABLE not in os.environ and os.isatty(0):
        write_log(
            f"{provider.info.name} is a resource provider: the provisioner starts it and speaks to it over pipes."
        )
        return EXIT_USAGE
    claimed = claim_descriptors()
    reaper = Reaper()
    watch_for_hangup(claimed.input, lambda: None if wiring.outlives_input() else reaper.end_within(EXIT_WITHIN_S, 0))
    return trio.run(_serve, provider, wiring, claimed, reaper)


async def _serve(provider: Provider, wiring: Wiring, claimed: Claimed, reaper: Reaper) -> int:
    send = wiring.output(output_stream(claimed.output))
    receive = wiring.input(input_stream(claimed.input))

    def arm(ending: Ending, code: int) -> None:
        reaper.end_within(EXIT_WITHIN_S if ending.lets_calls_finish else EXIT_NOW_WITHIN_S, code)

    form: Form = "json" if os.environ.get(LOG_VARIABLE) == "json" else "text"
    session = Session(provider, send, boot_now=boot_now, log=write_log, on_ending=arm, log_form=form)

    def on_signal(number: int, frame: FrameType | None) -> None:
        # Armed here and not only by the session: a handler that blocks the trio run would keep it from hearing.
        reaper.end_within(EXIT_WITHIN_S, 0)
        session.end_from_anywhere(Ending.TERMINATED)

    signal.signal(signal.SIGTERM, on_signal)
    try:
        code = await session.run(receive)
    except Exception as bug:  # noqa: BLE001 - a background task of the author's; its text may hold a secret
        session.log.lines(f"provider: ended by a failure\n{''.join(traceback.format_exception(bug))}")
        return EXIT_CRASH
    if session.may_close:
        await _close(provider, session)
    return code


async def _close(provider: Provider, session: Session) -> None:
    with trio.move_on_after(CLOSE_S):
        try:
            await session.threads.run(provider.close)
        except Exception as bug:  # noqa: BLE001 - a foreign method, and nothing is left to be answered
            session.log.lines(f"provider: close failed\n{''.join(traceback.format_exception(bug))}")


def boot_now() -> float:
    """Seconds of CLOCK_BOOTTIME, the clock of `not_after`: it also counts the time this machine was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
