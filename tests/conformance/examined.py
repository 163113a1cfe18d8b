"""Runs the kit on the test subjects, a few at a time, in one trio run."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import trio
from attrs import evolve

from provider_sdk.testing import Outcome, Subject, examine, read_subject
from tests.conformance.subjects.broken import FAULTS

FOLDER = Path(__file__).parent
AT_ONCE = 3


def subject(name: str, sequences: int = 0) -> Subject:
    """The honest provider, or a broken one by name."""
    command = (sys.executable, "-S", "-E", str(FOLDER / "subjects" / "play.py"), name)
    return evolve(read_subject(command, FOLDER / "subjects" / "honest.json", os.environ), sequences=sequences)


def clause_of(name: str) -> str:
    """The clause that a broken provider breaks, as its first line says."""
    return (FAULTS[name].__doc__ or "").partition(":")[0]


def examine_all(names: Iterable[str], *, whole: bool) -> dict[str, Outcome]:
    """The outcome of each broken provider: of the whole kit, or of the checks that can judge its clause."""
    found: dict[str, Outcome] = {}
    free = trio.CapacityLimiter(AT_ONCE)

    async def one(name: str) -> None:
        clause = clause_of(name)
        only = () if whole else (clause,)
        async with free:
            broken = subject(name, sequences=6 if clause == "SQ-1" else 0)
            found[name] = await examine(broken, strict=clause == "GR-5", only=only)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            for name in names:
                nursery.start_soon(one, name)

    trio.run(run)
    return found
