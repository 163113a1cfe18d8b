"""The daemon's command with its loop watched: `python -m … FILE run -c …` does what `provisioner run -c …` does.

Each second it writes to FILE the longest step of its one loop, in seconds of processor time (a busy machine does not
count), and, for each step over 30 ms, where it was in its middle. It changes nothing of what is run.
"""

import json
import sys
import threading
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any

import trio

from provisioner.cli.main import main

LONG_S = 0.03
LOOK_EVERY_S = 0.01
KEPT = 200
STARTING = "serve_rest"
"""Builds the REST application, before anybody can ask anything."""
_run = trio.run


class Steps(trio.abc.Instrument):
    """Measures each step between two checkpoints; a thread looks where long ones are."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._began_s: float | None = None
        self._wall_s = 0.0
        self._stacks: list[str] = []
        self._longest_s = 0.0
        self._found: list[dict[str, Any]] = []
        self._loop = threading.get_ident()
        threading.Thread(target=self._look, daemon=True).start()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """A step begins."""
        self._wall_s = time.monotonic()
        self._began_s = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """It is over."""
        if self._began_s is None:
            return
        took_s = time.thread_time() - self._began_s
        self._began_s = None
        stacks, self._stacks = self._stacks, []
        if task.name.endswith(STARTING):
            return
        self._longest_s = max(self._longest_s, took_s)
        if took_s > LONG_S and len(self._found) < KEPT:
            self._found.append({"took_s": took_s, "task": task.name, "stack": stacks[len(stacks) // 2 :][:1]})

    def _look(self) -> None:
        written_s = 0.0
        while True:
            time.sleep(LOOK_EVERY_S)
            began = self._began_s
            if began is not None and time.monotonic() - self._wall_s > LONG_S:
                frame = sys._current_frames().get(self._loop)
                self._stacks.append("".join(traceback.format_stack(frame)[-9:]))
            if time.monotonic() - written_s > 1:
                written_s = time.monotonic()
                self._file.write_text(json.dumps({"longest_s": self._longest_s, "long": self._found}))


if __name__ == "__main__":
    trio.run = partial(_run, instruments=[Steps(Path(sys.argv[1]))])  # type: ignore[assignment]
    sys.argv = ["provisioner", *sys.argv[2:]]
    sys.exit(main())
