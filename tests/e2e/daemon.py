"""A real daemon with real providers in a folder of its own: written, started, killed, ended, and asked."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from providers.simulated.books import NoBooks, read
from tests.e2e.processes import MARK, belonging_to, end_all
from tests.e2e.rest import Json, Rest
from tests.e2e.waiting import wait_until
from tests.house.sources import ROOT

END_WITHIN_S = 60.0
TAIL_CHARACTERS = 6000
LONGEST_FOLDER = 60
"""A Unix socket's path has room for 107 bytes."""


def short_folder() -> Path:
    """A new folder whose path is short enough for a socket in it."""
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="e2e-", dir=usual if len(usual) < LONGEST_FOLDER else "/tmp"))


@define(eq=False)
class Daemon:
    """`python -m provisioner run` on the configuration in `folder`; everything it writes lies there too."""

    folder: Path
    wrapper: Sequence[str] = ()
    program: Sequence[str] = ("-m", "provisioner")
    child: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def config(self) -> Path:
        """Its configuration file."""
        return self.folder / "p.yaml"

    @property
    def rest(self) -> Rest:
        """Its REST interface."""
        return Rest(self.folder / "api.sock")

    @property
    def facts(self) -> Path:
        """The file of its facts."""
        return self.folder / "facts.db"

    def configure(self, settings: Json) -> None:
        """Writes the configuration; JSON is YAML."""
        self.config.write_text(json.dumps(settings, indent=1))

    def launch(self, log: int | None = None) -> "subprocess.Popen[bytes]":
        """Starts it and waits for nothing; its log goes to a descriptor, or to a file."""
        command = [*self.wrapper, sys.executable, *self.program, "run", "-c", str(self.config)]
        with (self.folder / "daemon.log").open("ab") as file:
            out = file.fileno() if log is None else log
            self.child = subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, MARK: str(self.folder)}, stdout=out, stderr=out
            )
        return self.child

    def start(self, *, providers_too: bool = True) -> None:
        """Starts it and waits until it answers, and until every provider can be bought from."""
        child = self.launch()

        def is_ready() -> bool:
            assert child.poll() is None, f"the daemon ended with {child.returncode}: {self.log}"
            # Asking for the world: health is answered sooner, while facts are still being loaded.
            providers = self.rest.get("/v1/providers")["providers"]
            return not providers_too or all(provider["ready"] for provider in providers)

        wait_until("the daemon is ready", is_ready)

    def kill(self) -> None:
        """kill -9."""
        assert self.child is not None
        self.child.kill()
        self.child.wait()

    def stop(self) -> int:
        """SIGTERM; the exit status of an end in order."""
        assert self.child is not None
        self.child.terminate()
        return self.child.wait(timeout=END_WITHIN_S)

    def clean_up(self) -> None:
        """Ends whatever still runs, in whatever state a test has left it."""
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        end_all(self.folder)

    @property
    def log(self) -> str:
        """The end of its log."""
        path = self.folder / "daemon.log"
        return path.read_text()[-TAIL_CHARACTERS:] if path.exists() else ""

    @property
    def processes(self) -> list[int]:
        """Living processes of its own and of its providers."""
        return belonging_to(self.folder)

    # --- providers

    def provider(self, name: str) -> dict[str, Any]:
        """How a provider stands."""
        return self.rest.get(f"/v1/providers/{name}")

    def pid_of(self, name: str) -> int:
        """The process of a provider, once it has one."""
        return int(wait_until(f"{name} has a process", lambda: self.provider(name)["pid"]))

    def signal_provider(self, name: str, number: signal.Signals) -> int:
        """Signals a provider's process alone; its pid."""
        pid = self.pid_of(name)
        os.kill(pid, number)
        return pid

    def books(self, name: str) -> list[dict[str, Any]]:
        """What a simulated cloud itself says it has ever made."""
        try:
            return read(self.folder / "providers" / name / "state")
        except NoBooks:
            return []

    # --- what it knows

    def live(self) -> list[dict[str, Any]]:
        """Every instance not proven gone."""
        return self.rest.every("/v1/instances?live=true")

    def instances(self) -> list[dict[str, Any]]:
        """Every instance ever known."""
        return self.rest.every("/v1/instances")

    def open_requests(self) -> list[dict[str, Any]]:
        """Purchases and give-backs not settled yet."""
        return self.rest.every("/v1/requests?open=true")

    def purchases(self) -> list[dict[str, Any]]:
        """Every purchase."""
        return self.rest.every("/v1/requests?kind=acquire")

    def give_backs(self) -> list[dict[str, Any]]:
        """Every give-back."""
        return self.rest.every("/v1/requests?kind=return")

    def decisions(self, what: str = "") -> list[dict[str, Any]]:
        """Every decision, oldest first."""
        return self.rest.every("/v1/decisions" + (f"?what={what}" if what else ""))[::-1]
