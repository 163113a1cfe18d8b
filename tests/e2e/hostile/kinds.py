"""Every hostile provider: how it is started, and what an operator is told of it.

It alone lists them; the tests and `python -m tests.hostile` run what stands here.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.house.sources import ROOT

CALL_S = 2
QUIET_S = 1
LIMITS: Mapping[str, Any] = {"stop": "500ms", "call": f"{CALL_S}s", "start": "20s", "ping": f"{QUIET_S}s"}
ENDED = frozenset({"backing_off", "starting", "handshaking", "quarantined", "absent", "stopping"})


@frozen
class Kind:
    """One way of being hostile.

    `works`: the daemon goes on with it and buys from it. `says`: what its entry in REST must hold at some time, as
    text; `logs`: the name of an event that the daemon's log must hold with its name, and a text beside it.
    """

    name: str
    command: tuple[str, ...]
    works: bool = False
    says: str = ""
    logs: tuple[str, str] = ("", "")
    limits: Mapping[str, Any] = LIMITS

    def entry(self) -> dict[str, Any]:
        """Its entry in the configuration."""
        return {"command": list(self.command), "limits": dict(self.limits)}


def subject(module: str, name: str) -> tuple[str, ...]:
    """The command of one of the programs in `subjects`; they need nothing but the standard library."""
    run = (sys.executable, "-S", "-m", f"tests.e2e.hostile.subjects.{module}", name)
    return ("env", f"PYTHONPATH={ROOT}", *run)


def _kind(module: str, name: str, **told: Any) -> Kind:
    return Kind(name.replace("_", "-"), subject(module, name), **told)


JUNK = (
    _kind("junk", "banner", works=True, logs=("provider_stdout_junk", "Bait Cloud")),
    _kind("junk", "words", works=True, logs=("provider_stdout_junk", "working")),
    _kind("junk", "glued", says="no answer to list by its deadline", logs=("provider_stdout_junk", "debug: ")),
    _kind("junk", "no_messages", works=True, logs=("provider_stdout_junk", "not a JSON object")),
    _kind("junk", "chatter", says="20 lines on stdout within 60 s were no messages"),
)
SIZES = (
    _kind("sizes", "endless_line", says="frame too large (limit 16777216 bytes)"),
    _kind("sizes", "big_list", works=True, says='"strangers_count": 100'),
    _kind("sizes", "oversize", says="frame too large (limit 16777216 bytes)"),
    _kind("sizes", "half_frame", says="exit status 0"),
    _kind("sizes", "loud_stderr", works=True, logs=("provider_stderr", "eeee")),
    _kind("sizes", "stderr_flood", works=True, logs=("provider_stderr_not_logged", "")),
)
LIVES = (
    _kind("lives", "deaf", says="no answer"),
    _kind("lives", "stubborn", works=True),
    _kind("lives", "parent", says="exit status 0"),
    _kind("lives", "escaper", says="exit status 0", logs=("provider_left_processes", "ended")),
    _kind("lives", "bomb", works=True),
    _kind("lives", "closer", says="closed its stdout"),
    _kind("lives", "dies_opening", says="exit status 3"),
    _kind("lives", "dies_at_first", says="exit status 4"),
    _kind("lives", "dies_buying", says="SIGKILL"),
)
ANSWERS = (
    _kind("answers", "twice", works=True),
    _kind("answers", "late", works=True),
    _kind("answers", "never", says="no answer to"),
    _kind("answers", "unknown_ids", works=True),
    _kind("answers", "swapped", works=True),
    _kind("answers", "eager"),
    _kind("answers", "asker", works=True),
)
FLOODS = (
    _kind("answers", "changed", logs=("provider_says_too_much", "")),
    _kind("answers", "changed_named", logs=("provider_says_too_much", "")),
    _kind("answers", "log", logs=("provider_says_too_much", "")),
    _kind("answers", "notice", logs=("provider_says_too_much", "")),
    _kind("answers", "progress", logs=("provider_says_too_much", "")),
    _kind("answers", "unknown", logs=("provider_says_too_much", "")),
)
WORDS = (
    _kind("words", "wrong_types"),
    _kind("words", "wrong_things", works=True, logs=("answer_unreadable", "")),
    _kind("words", "absurd_money"),
    _kind("words", "bad_templates", says="its answer can't be read"),
    _kind("words", "other_marks", works=True, says='"strangers_count": 100'),
)
CROWDS = (
    _kind("words", "many_templates", works=True, says='"template_count": 20000'),
    _kind("words", "many_things", works=True, says='"strangers_count": 100'),
)
ENDLESS = (
    _kind("words", "endless_list", says="its list has no end"),
    _kind("words", "empty_pages", says="its list has no end"),
)
GREED = (
    _kind("answers", "spinner"),
    _kind("answers", "glutton", limits={**LIMITS, "memory": "256MiB"}, says='"memory_bytes": 268435456'),
)
FAMILIES: Mapping[str, tuple[Kind, ...]] = {
    "junk": JUNK,
    "sizes": SIZES,
    "lives": LIVES,
    "answers": ANSWERS,
    "floods": FLOODS,
    "words": WORDS,
    "crowds": CROWDS,
    "endless": ENDLESS,
    "greed": GREED,
}


def crash_loops(folder: Path, count: int = 50) -> tuple[Kind, ...]:
    """So many that can't even be started, or end at once."""
    idle = folder / "not-executable"
    idle.write_text("#!/bin/sh\n")
    idle.chmod(0o600)
    kinds = (
        Kind("missing", (str(folder / "no-such-program"),), says="no-such-program"),
        Kind("forbidden", (str(idle),), says="not-executable"),
        Kind("hasty", ("sh", "-c", "sleep 0.005; exit 7"), says="exit status 7"),
        _kind("lives", "dies_opening", says="exit status 3"),
    )
    return tuple(
        Kind(f"{kind.name}-{n}", kind.command, says=kind.says)
        for n in range(count)
        for kind in (kinds[n % len(kinds)],)
    )
