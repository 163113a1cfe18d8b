"""Plays the daemon's half of a recorded conversation to a provider again, in an empty folder, and says how it answers.

It alone says which calls may be played and what of their parameters is of this run. It must not know who compares, nor
how a recording is read. Without leave to change things nothing but reads is sent, in the mode that changes nothing.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import trio
from attrs import frozen

from provider_sdk.contract.methods import METHODS
from provisioner.edge.recorded import Call, came_to
from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.supervision import Answered, Failed, Graces, Log, Outcome, ProcessSpec, Report
from provisioner.runtime.supervisor import ProviderProcess, open_process

__all__ = ["Played", "SpawnRefused", "replay"]

CHECKED: Final = frozenset({"describe", "list", "ping"})
"""What a provider may be asked in the mode that changes nothing (HS-7)."""
_NEVER: Final = frozenset({"shutdown", "exit"})
_FENCE_S: Final = 600.0


@frozen
class Played:
    """One recorded call: what it came to then and now, or why it was not played."""

    call: Call
    then: str
    now: str | None = None
    skipped: str | None = None

    @property
    def is_same(self) -> bool:
        """False only for a call that was played and came to something else."""
        return self.now is None or self.now == self.then


async def replay(
    calls: Sequence[Call],
    argv: Sequence[str],
    folder: Path,
    *,
    changing: bool,
    timeout_s: float,
    log: Log,
    env_names: Sequence[str] = (),
    credential_files: Sequence[str] = (),
) -> list[Played]:
    """Plays `calls` in their order, each after the answer to the last, to `argv` started in `folder`.

    Raises SpawnRefused with a sentence where it can't be started.
    """
    spec = ProcessSpec(
        provider="replay",
        argv=tuple(argv),
        marker=f"replay-{uuid.uuid4().hex[:16]}",
        run_dir=str(folder / "run"),
        state_dir=str(folder / "state"),
        credentials_dir=str(folder / "credentials") if credential_files else None,
        credential_files=tuple(credential_files),
        env_names=tuple(env_names),
        program_dir=str(Path(sys.executable).parent),
        graces=Graces(shutdown_s=5.0, exit_s=5.0, stdin_end_s=5.0),
    )
    refused: SpawnRefused | None = None
    played: list[Played] = []
    async with trio.open_nursery() as nursery:
        try:
            process = await open_process(spec, nursery, _unheard, log=log)
        except SpawnRefused as why:
            refused = why
        else:
            played = await _play(process, spec, calls, changing=changing, timeout_s=timeout_s)
            await process.stop("everything was played")
    if refused is not None:
        raise refused
    return played


async def _unheard(_: Report) -> None:
    """What is said unasked plays no part."""
    await trio.lowlevel.checkpoint()


async def _play(
    process: ProviderProcess, spec: ProcessSpec, calls: Sequence[Call], *, changing: bool, timeout_s: float
) -> list[Played]:
    played: list[Played] = []
    broken: str | None = None
    for call in calls:
        then = came_to(call, call.answer)
        skipped = _why_skipped(call, changing=changing) or broken
        if skipped is not None:
            played.append(Played(call, then, skipped=skipped))
            continue
        outcome = await process.call(call.method, _params(call, spec, changing=changing), timeout_s)
        played.append(Played(call, then, now=_word(call, outcome)))
        if call.method == "initialize":
            if isinstance(outcome, Answered):
                process.handshake_done(1)
            else:
                broken = "the handshake failed"
        elif process.ended is not None or not isinstance(outcome, Answered | Failed):
            broken = "the provider was gone by then"
    return played


def _why_skipped(call: Call, *, changing: bool) -> str | None:
    method = METHODS.get(call.method)
    if call.params is None:
        return "its frame is not kept whole"
    if call.method in _NEVER:
        return "the end is not played"
    if not changing and call.method not in {*CHECKED, "initialize"}:
        if method is not None and not method.changing:
            return "without --changing the provider is only checked"
        return "it changes things: only with --changing"
    if call.params.get("cursor") is not None:
        return "its cursor is another process's"
    if call.answer is None and call.heard is None:
        return "it was never answered then"
    return None


def _params(call: Call, spec: ProcessSpec, *, changing: bool) -> dict[str, object]:
    params = dict(call.params or {})
    if call.method == "initialize":
        params["state_dir"] = spec.state_dir
        params.pop("credentials_dir", None)
        if spec.credentials_dir is not None:
            params["credentials_dir"] = spec.credentials_dir
        if not changing:
            params |= {"mode": "check", "epoch": 0}
    if "not_after" in params:  # a moment of a boot clock that is long past, or of another machine
        params["not_after"] = time.clock_gettime(time.CLOCK_BOOTTIME) + _FENCE_S
    return params


def _word(call: Call, outcome: Outcome) -> str:
    match outcome:
        case Answered(result=result):
            return came_to(call, {"result": result})
        case Failed(error=error):
            return f"error {error.error_class.value}"
        case _:
            return "no answer"
