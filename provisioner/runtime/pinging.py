"""Asks a provider that says nothing whether it still lives (CC-7), and says so when it does not answer.

It must not know streams or processes; it ends nothing itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import trio

from provisioner.runtime.conversation import Conversation, Late
from provisioner.runtime.supervision import (
    Answered,
    Failed,
    HeardAgain,
    Lost,
    PingAnswered,
    Pings,
    Quiet,
    Reporter,
    Unwritten,
)

__all__ = ["keep_pinging"]

_TOGETHER_S: Final = 1.0
"""Whoever falls due within the same second is asked at its end: a thousand that are asked one by one wake the daemon a
thousand times."""
_EXACT_BELOW_S: Final = 10.0
"""A shorter silence is measured exactly."""


async def keep_pinging(
    conversation: Conversation,
    pings: Pings,
    heard_at: Callable[[], float],
    report: Reporter,
    break_off: Callable[[str], None],
) -> None:
    """For ever: pings after `quiet_s` of silence if a slot is free, reports Quiet after `degraded_s` without an answer.

    `break_off(reason)` is called after `end_s`. `heard_at` tells when the last good frame came, in trio's time.
    """
    while not conversation.is_closed:
        await trio.sleep_until(_due_at(heard_at(), pings.quiet_s))
        if trio.current_time() < heard_at() + pings.quiet_s:
            continue
        if conversation.has_free_slot:
            await _ping(conversation, pings, report, break_off)
        else:  # the deadline of the running calls is the only clock; the answer that frees a slot is heard too
            await trio.sleep(pings.quiet_s)


def _due_at(heard_at: float, quiet_s: float) -> float:
    due_at = heard_at + quiet_s
    return due_at if quiet_s < _EXACT_BELOW_S else math.ceil(due_at / _TOGETHER_S) * _TOGETHER_S


async def _ping(conversation: Conversation, pings: Pings, report: Reporter, break_off: Callable[[str], None]) -> None:
    was_quiet = False

    async def tell_quiet() -> None:
        nonlocal was_quiet
        was_quiet = True
        await report(Quiet(pings.degraded_s))

    late = Late(pings.degraded_s, tell_quiet)
    match await conversation.call("ping", {}, pings.end_s, cancel_grace_s=0.0, late=late):
        case Answered(result=answer) | Failed(error=answer):
            if was_quiet:  # first, since it says nothing of the far side: the answer's word stands last
                await report(HeardAgain())
            await report(PingAnswered(answer))
        case Unwritten():
            if not conversation.is_closed:
                break_off(f"no ping could be written for {pings.end_s:g} s: the provider does not read its stdin")
        case Lost():
            pass
