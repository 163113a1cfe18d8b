"""Runs the command line as typed, in this process, against a daemon served beside it."""

from pathlib import Path

import pytest
import trio
from attrs import frozen

from provisioner.cli.main import main


@frozen
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str


def typed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Ran:
    """One command, with no daemon of its own."""
    capsys.readouterr()
    code = main([str(word) for word in words])
    seen = capsys.readouterr()
    assert "Traceback" not in seen.err + seen.out
    return Ran(code, seen.out, seen.err)


async def typed_beside(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Ran:
    """One command, while this trio run serves."""

    def go() -> Ran:
        return typed(capsys, *words)

    return await trio.to_thread.run_sync(go)
