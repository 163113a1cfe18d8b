"""Checks of how a process ends (§2): shutdown, exit, the end of stdin, SIGTERM, also with a busy call."""

import os
import signal
from typing import Final

import trio

from provider_sdk.contract import ErrorClass, ShutdownResult
from provider_sdk.testing import acting
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

GRACE_S: Final = 6
AFTER_SHUTDOWN_S: Final = 5.0
AFTER_STDIN_S: Final = 10.0
SLACK_S: Final = 1.0
EXIT_BY_HAND: Final = 64
AT_ONCE_MOST: Final = 16


async def _shutdown(stage: Stage) -> None:
    conversation = await stage.open()
    await _ends_in_order(stage, conversation, ["ping", "list"])


async def _shutdown_busy(stage: Stage) -> None:
    if stage.subject.slow_config is None:
        raise Inapplicable("the subject file has no slow_config")
    conversation = await stage.open(config=stage.subject.slow_config)
    await _ends_in_order(stage, conversation, ["request"] * 3)


async def _ends_in_order(stage: Stage, conversation: Conversation, methods: list[str]) -> None:
    room = conversation.promises.calls.in_flight - 1
    calls = []
    for method in methods[:room]:
        params = stage.order(conversation) if method == "request" else {}
        calls.append(conversation.announce(method, params))
    last, data = conversation.announce("shutdown", {"grace_s": GRACE_S})
    await conversation.write(b"".join(frame for _, frame in calls) + data)
    began = trio.current_time()
    try:
        reply = await conversation.answer(last, within_s=GRACE_S + SLACK_S)
    except Broken as found:
        raise Broken("HS-8", f"shutdown answered within {GRACE_S} s", found.came, found.sent) from found
    reply.result(ShutdownResult, "HS-8")
    for call_id, _ in calls:
        if not conversation.has_answer(call_id):
            raise Broken("HS-8", "shutdown answered last", f"call {call_id} not answered before it", reply.sent)
        earlier = await conversation.answer(call_id)
        if earlier.error is not None and earlier.error.error_class is ErrorClass.INTERNAL:
            raise earlier.broken("HS-8", "a running call finishes or stops at a safe point, a queued one is refused")
    await conversation.process.close_stdin()
    await _ends(conversation, "HS-8", AFTER_SHUTDOWN_S, "the end of stdin after shutdown")
    if trio.current_time() - began > GRACE_S + AFTER_SHUTDOWN_S + SLACK_S:
        raise Broken("HS-8", "an end in time", f"{trio.current_time() - began:.1f} s", reply.sent)


async def _ends(conversation: Conversation, clause: str, within_s: float, sent: str, *, orderly: bool = True) -> None:
    status = await conversation.process.wait_end(within_s + SLACK_S)
    if status is None:
        raise Broken(clause, f"the end of the process within {within_s:g} s", "it still runs", sent)
    if orderly and status != 0:
        raise Broken("EX-1", "exit status 0 at an orderly end", f"status {status}: {conversation.how_it_is()}", sent)


async def _exit(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.tell("exit", {})
    await _ends(conversation, "HS-8", AFTER_SHUTDOWN_S, "exit")


async def _stdin_ends(stage: Stage) -> None:
    conversation = await stage.open()
    await conversation.process.close_stdin()
    await _ends(conversation, "HS-9", AFTER_STDIN_S, "the end of stdin")


async def _stdin_ends_early(stage: Stage) -> None:
    """Nothing was said, or half a frame: the end of stdin is the end all the same."""
    for said in (b"", b'{"jsonrpc":"2.0","id":1,"meth'):
        conversation = await stage.start()
        await conversation.write(said)
        await conversation.process.close_stdin()
        await _ends(conversation, "HS-9", AFTER_STDIN_S, repr(said), orderly=False)


async def _cut_in_a_request(stage: Stage) -> None:
    """A pipe cut inside a frame: the half frame is nothing."""
    conversation = await stage.open()
    params = stage.order(conversation)
    _, data = conversation.announce("request", params)
    await conversation.write(data[: len(data) - 40])
    await conversation.process.close_stdin()
    await _ends(conversation, "HS-9", AFTER_STDIN_S, "half a request, then the end of stdin")
    again = await stage.open(conversation.state_dir)
    report = await acting.status(again, params)
    if report.instances:
        raise Broken("FR-1", "nothing done for half a frame", str(report), "half a request, then the end of stdin")


async def _nobody_reads(stage: Stage) -> None:
    """The pipe for answers is cut: who notices that may end at once, and must at the end of stdin."""
    conversation = await stage.open()
    await conversation.process.stdout.aclose()
    try:
        for _ in range(min(conversation.promises.calls.in_flight, AT_ONCE_MOST)):
            await conversation.ask("describe")
        await conversation.process.close_stdin()
    except Broken:  # it has ended already
        pass
    await _ends(conversation, "HS-9", AFTER_STDIN_S, "stdout closed, then the end of stdin", orderly=False)


async def _busy(stage: Stage) -> Conversation:
    """Return a conversation with a purchase under way, slow if the subject knows how."""
    slow = stage.subject.slow_config
    conversation = await stage.open(config=slow) if slow is not None else await stage.open()
    await conversation.ask("request", stage.order(conversation))
    await conversation.quiet(0.3 if slow is not None else 0.0)
    return conversation


async def _stdin_ends_busy(stage: Stage) -> None:
    conversation = await _busy(stage)
    await conversation.process.close_stdin()
    await _ends(conversation, "HS-9", AFTER_STDIN_S, "the end of stdin during a request", orderly=False)


async def _terminated(stage: Stage) -> None:
    conversation = await _busy(stage)
    conversation.process.signal(signal.SIGTERM)
    await _ends(conversation, "HS-9", AFTER_STDIN_S, "SIGTERM during a request", orderly=False)


async def _by_hand(stage: Stage) -> None:
    """Started in a terminal, without the variable that says that a daemon speaks."""
    ours, theirs = os.openpty()
    try:
        status, said = await stage.started_by_hand(theirs, 10.0)
    finally:
        os.close(ours)
        os.close(theirs)
    if status != EXIT_BY_HAND or not said.strip():
        came = f"status {status}, {len(said)} characters"
        raise Broken("EX-2", f"a sentence and exit status {EXIT_BY_HAND}", came, "started with a terminal on stdin")


_SAME: Final = ("HS-9",)

ENDINGS: tuple[Check, ...] = (
    check("shutdown is answered last", "HS-8", "SH-shutdown", "EX-1")(_shutdown),
    check("shutdown with a busy call", "HS-8")(_shutdown_busy),
    check("exit", "HS-8", "EX-1")(_exit),
    check("the end of stdin", "HS-9", "EX-1")(_stdin_ends),
    check("the end of stdin before a whole frame", "HS-9", unless=_SAME)(_stdin_ends_early),
    check("a pipe cut inside a request", "HS-9", "FR-1", unless=_SAME)(_cut_in_a_request),
    check("a pipe cut before the answers are written", "HS-9", unless=_SAME)(_nobody_reads),
    check("the end of stdin during a request", "HS-9", unless=_SAME)(_stdin_ends_busy),
    check("started by hand", "EX-2")(_by_hand),
    check("SIGTERM during a request", "HS-9")(_terminated),
)
