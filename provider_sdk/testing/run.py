"""One run of the kit: all checks one after another on one subject, and a verdict for each clause.

Alone responsible for the order of a run and its bounds. Knows no clause.
"""

import secrets
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import trio

from provider_sdk.testing.check import Check, perform
from provider_sdk.testing.checks.order import EVERY_LINE, GATES, MEASURES, ORDINARY
from provider_sdk.testing.manifest import requirements
from provider_sdk.testing.process import NotStarted
from provider_sdk.testing.saying import Identity
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.subject import Subject
from provider_sdk.testing.verdict import Outcome, Status, judge
from provider_sdk.testing.watch import Watch

TIME_S: Final = 300.0


class Refused(Exception):
    """The subject refuses its own configuration, so that nothing can be examined; the text says what it said."""


async def examine(
    subject: Subject,
    *,
    strict: bool = False,
    only: Collection[str] = (),
    time_s: float = TIME_S,
    say: Callable[[str], None] = lambda name: None,
) -> Outcome:
    """Run all checks (or those that can judge `only` these clauses) and return the verdicts.

    `say` is told the name of each check as it begins. After `time_s` seconds no further check is begun. Raises
    NotStarted if the program can't be executed, Refused if it does not take its configuration.
    """
    watch = Watch(strict=strict)
    began = trio.current_time()
    refusals: list[NotStarted | Refused] = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        async with trio.open_nursery() as nursery:
            stage = Stage(subject, watch, Identity(secrets.token_hex(3)), Path(folder), nursery)
            stage.ends_at = began + time_s
            try:
                await _all_checks(stage, _chosen(only), say)
            except (NotStarted, Refused) as refusal:  # told outside of the nursery, which would wrap it
                refusals.append(refusal)
            nursery.cancel_scope.cancel()
    if refusals:
        raise refusals[0]
    wanted = [each for each in requirements().values() if not only or each.id in only]
    verdicts = tuple(judge(each, watch.breaches, watch.findings) for each in wanted)
    return Outcome(
        command=subject.command,
        provider=stage.provider,
        verdicts=verdicts,
        seconds=trio.current_time() - began,
        beside=tuple(dict.fromkeys(each.clause for each in watch.breaches if only and each.clause not in only)),
        left_over=tuple(sorted(stage.left_over)),
        unfinished=any(each.text == TIME_OVER for each in watch.findings),
        strict=strict,
        counts={"processes": watch.processes, "calls": watch.calls, "frames": watch.frames},
    )


TIME_OVER: Final = "the time of the run was over"


def _chosen(only: Collection[str]) -> tuple[Check, ...]:
    if not only:
        return MEASURES
    wanted = set(only)
    for each in MEASURES:
        wanted.difference_update(each.clauses)
    watched = ORDINARY if wanted.intersection(EVERY_LINE.clauses) else ()
    return tuple(each for each in MEASURES if each in watched or set(only).intersection(each.clauses))


async def _all_checks(stage: Stage, chosen: tuple[Check, ...], say: Callable[[str], None]) -> None:
    watch = stage.watch
    try:
        for gate in GATES:
            say(gate.name)
            await perform(gate, stage)
            if any(each.check == gate.name for each in watch.breaches):
                _refused(stage)
                _pass_over((*GATES, *chosen), watch, f"not reached: the check {gate.name!r} failed")
                return
        for each in chosen:
            if trio.current_time() > stage.ends_at:
                _pass_over((each,), watch, TIME_OVER)
                continue
            say(each.name)
            await perform(each, stage)
        await perform(EVERY_LINE, stage)
    finally:
        with trio.CancelScope(shield=True):
            await stage.tidy(everything=True)


def _pass_over(checks: tuple[Check, ...], watch: Watch, reason: str) -> None:
    for each in checks:
        watch.begin(each.name, each.clauses[0])
        for clause in each.clauses:
            if not watch.has_said(clause):
                watch.say(clause, Status.SKIPPED, reason)


def _refused(stage: Stage) -> None:
    for each in stage.watch.breaches:
        if '"error_class":"config"' in each.came:
            raise Refused(each.came)
