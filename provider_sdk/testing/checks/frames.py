"""Checks of §1: how lines are cut, what is no message, ids, notifications. Knows nothing of what is bought."""

import orjson

from provider_sdk.contract import DAEMON_FRAME_BYTES, ErrorClass, PingResult, frame, request_object
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation, shown_bytes
from provider_sdk.testing.saying import Params
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

SILENCE_S = 0.3
BATCH_ID = 2**50


async def _still_there(conversation: Conversation, clause: str, sent: bytes) -> None:
    """Ask once more: what was sent must not have cost the conversation."""
    try:
        reply = await conversation.call("ping")
    except Broken as found:
        raise Broken(clause, "the next call is answered", found.came, shown_bytes(sent)) from found
    if reply.error is not None:
        raise Broken(clause, "the next call is answered with a result", reply.text, shown_bytes(sent))


async def _answered(conversation: Conversation, call_id: int, clause: str) -> None:
    """Wait for a ping's answer, whose absence is a breach of this clause."""
    try:
        reply = await conversation.answer(call_id)
    except Broken as found:
        raise Broken(clause, found.expected, found.came, found.sent) from found
    reply.result(PingResult, clause)


async def _line_ends(stage: Stage) -> None:
    conversation = await stage.shared()
    call_id, data = conversation.announce("ping", {})
    await conversation.write(b"\n\r\n\n" + data[:-1] + b"\r\n\n")
    await _answered(conversation, call_id, "FR-1")
    texts = {"x-text": "a\u2028b\u2029c\u0085d\u0000e\U0001f600"}
    call_id, _ = conversation.announce("ping", texts)
    raw = orjson.dumps(request_object(call_id, "ping", texts)) + b"\n"
    await conversation.write(raw)
    await _answered(conversation, call_id, "FR-1")
    await _still_there(conversation, "FR-1", raw)


async def _torn(stage: Stage) -> None:
    conversation = await stage.shared()
    first, head = conversation.announce("ping", {"x-torn": "ü" * 40})
    second, tail = conversation.announce("ping", {})
    cut = head.index("ü".encode()) + 1  # in the middle of a character
    await conversation.write(head[:cut])
    await conversation.quiet(0.05)
    if conversation.promises.calls.in_flight == 1:
        await conversation.write(head[cut:])
        await _answered(conversation, first, "FR-1")
        await conversation.write(tail)
    else:
        await conversation.write(head[cut:] + tail)
        await _answered(conversation, first, "FR-1")
    await _answered(conversation, second, "FR-1")


async def _no_messages(stage: Stage) -> None:
    conversation = await stage.open()
    batch = orjson.dumps([request_object(BATCH_ID, "ping", {}), request_object(BATCH_ID + 1, "ping", {})]) + b"\n"
    await _provoke(conversation, batch)
    for raw in (b'{"jsonrpc":"2.0","id":NaN,"method":"ping","params":{}}\n', b"not JSON\n", b"\xff\xfe\n", b"17\n"):
        await _provoke(conversation, raw)
    nested = b'{"jsonrpc":"2.0","method":"x-deep","params":{"x":' + b"[" * 200 + b"]" * 200 + b"}}\n"
    await _provoke(conversation, nested)


async def _provoke(conversation: Conversation, raw: bytes) -> None:
    """Send what is no message: it may be skipped or refused, but not acted on and not fatal."""
    watch = conversation.watch
    before = len(watch.breaches)
    await conversation.write(raw)
    await _still_there(conversation, "FR-2", raw)
    # A refusal needs no id, so that it looks like an answer to nothing; only a *result* acts on what was sent.
    answers = [found for found in watch.breaches[before:] if found.clause == "FR-5"]
    watch.breaches[before:] = [found for found in watch.breaches[before:] if found.clause != "FR-5"]
    if any('"result"' in found.came and f'"id":{BATCH_ID}' in found.came for found in answers):
        raise Broken("FR-2", "nothing is done for a line that is no message", answers[0].came, shown_bytes(raw))


async def _sizes(stage: Stage) -> None:
    conversation = await stage.open()
    call_id, data = conversation.announce("ping", {"x-pad": ""})
    data = data.replace(b'""', b'"' + b"x" * (DAEMON_FRAME_BYTES - len(data) - 8) + b'"')
    await conversation.write(data)
    await _answered(conversation, call_id, "FR-3")
    over = b'{"jsonrpc":"2.0","method":"x-pad","params":{"x":"' + b"x" * (DAEMON_FRAME_BYTES + 65_536) + b'"}}\n'
    await conversation.write(over)
    await _still_there(conversation, "FR-3", over[:80])


async def _short_frames(stage: Stage) -> None:
    conversation = await stage.open(frame_bytes=DAEMON_FRAME_BYTES)
    for method in ("describe", "list"):
        reply = await conversation.call(method)
        if reply.error is not None and reply.error.error_class is not ErrorClass.TOO_LARGE:
            raise reply.broken("FR-3", "a shorter frame, a page, or too_large")


async def _ids(stage: Stage) -> None:
    conversation = await stage.shared()
    for call_id in (2**53 - 1, 900_000_000_001, 77_777, 10_000_019):
        await _answered(conversation, await conversation.ask("ping", call_id=call_id), "FR-5")
    stray = frame({"jsonrpc": "2.0", "id": 424_242, "result": {"health": "ok"}})
    await conversation.write(stray)
    await conversation.write(frame({"jsonrpc": "2.0", "id": 424_243, "error": {"code": -32600, "message": "x"}}))
    await _still_there(conversation, "FR-5", stray)
    await conversation.quiet(SILENCE_S)


async def _notifications(stage: Stage) -> None:
    conversation = await stage.shared()
    hints: tuple[tuple[str, Params], ...] = (
        ("x-nobody-knows", {"a": 1}),
        ("cancel_call", {"id": 123_456_789}),
        ("cancel_call", {}),
    )
    breaches, doubtful = conversation.watch.breaches, conversation.watch.is_broken("FR-5")
    before = len(breaches)
    for method, params in hints:
        await conversation.tell(method, dict(params))
    await _still_there(conversation, "FR-6", repr(hints).encode())
    await conversation.quiet(SILENCE_S)
    # What answers to nothing in this time answers to a notification, unless it does so at other times too.
    if doubtful:
        raise Inapplicable("not reached: FR-5 is broken")
    answers = [found for found in breaches[before:] if found.clause == "FR-5"]
    breaches[before:] = [found for found in breaches[before:] if found.clause != "FR-5"]
    if answers:
        raise Broken("NT-3", "no answer to a notification", answers[0].came, repr(hints))


async def _every_line(stage: Stage) -> None:
    """What every line of the run was held to as it came; here it is only said that there were any."""
    if not stage.watch.frames:
        raise Broken("FR-4", "frames on stdout", "none at all")
    if not stage.watch.hints:
        for clause in ("NT-2", "SH-notification"):
            stage.passed_over(clause, "no notification was sent")
    if not stage.watch.strict:
        stage.passed_over("GR-5", "not asked for (--strict)")


FRAMES: tuple[Check, ...] = (
    check("CR, empty lines and odd characters in frames", "FR-1")(_line_ends),
    check("a frame in pieces, two frames at once", "FR-1")(_torn),
    check("batches, NaN, junk and depth are not acted on", "FR-2")(_no_messages),
    check("frames of 1 MiB are taken, longer ones do no harm", "FR-3")(_sizes),
    check("answers fit the shortest frame_bytes", "FR-3")(_short_frames),
    check("ids large and out of order come back unchanged, once", "FR-5")(_ids),
    check("unknown notifications are dropped, none is answered", "FR-6", "NT-3")(_notifications),
)
EVERY_LINE: Check = check(
    "every line of the run",
    "FR-4", "FR-1", "FR-2", "FR-3", "FR-5", "FR-6", "NT-2", "TX-1", "ER-1", "SH-error", "SH-notification", "RP-3",
    "GR-5", "PR-calls.answer_s",
)(_every_line)  # fmt: skip
