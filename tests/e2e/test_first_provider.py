"""The tutorial for authors, followed literally in an empty folder: every command of the page, in its order."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "first-provider.md").read_text(encoding="utf-8")
COMMAND_S = 400
SOON_S = 60
DAEMON = "provisioner run -c provisioner.yaml"
LIST = "provisioner instances -c provisioner.yaml"


def commands(section: str) -> list[str]:
    """What the page has one type in a section."""
    text = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    chosen = next(part for part in text if part.startswith(section))
    return [line[2:] for block in re.findall(r"```console\n(.*?)```", chosen, re.DOTALL) for line in block.splitlines()]


class Reader:
    """Types commands into a shell, one after another; `cd` counts for those that follow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def type(self, command: str) -> tuple[int, str]:
        """The exit status and everything printed."""
        if command.startswith("cd "):
            self.folder /= command[3:]
            return 0, ""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        return done.returncode, done.stdout

    def type_all(self, section: str, *, fails: int = 0) -> str:
        """Every command of a section; `fails` of them end with another status than 0, the last one's output."""
        codes, output = [], ""
        for command in commands(section):
            code, output = self.type(command)
            codes.append(code)
        assert sum(code != 0 for code in codes) == fails, output
        return output

    def see(self, command: str, *, machines: int) -> None:
        """Type it again and again until so many machines are shown."""
        ends_at = time.monotonic() + SOON_S
        while (output := self.type(command)[1]).count("my-rack/machine") != machines:
            assert time.monotonic() < ends_at, output
            time.sleep(0.5)

    @contextmanager
    def running(self, command: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that goes on in a terminal of its own until Ctrl-C."""
        log = self.folder / "daemon.log"
        with log.open("wb") as output:
            daemon = subprocess.Popen(
                command.split(), cwd=self.folder, env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )
        try:
            ends_at = time.monotonic() + SOON_S
            while '"event": "ready"' not in log.read_text():
                assert time.monotonic() < ends_at, log.read_text()
                time.sleep(0.1)
            yield daemon
            daemon.send_signal(signal.SIGINT)
            assert daemon.wait(SOON_S) == 0, log.read_text()
        finally:
            daemon.kill()
            daemon.wait()


def test_the_tutorial_ends_with_a_passing_conformance_run_and_machines_bought_by_the_daemon(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    assert "3 passed" in reader.type_all("1. Write it")
    reader.type_all("3. Break it", fails=1)
    code, output = reader.type(commands("3. Break it")[0])
    assert (code, "FAIL" in output) == (0, False), output
    assert re.search(r"^\d+ pass, ", reader.type_all("4. Prove it"), re.MULTILINE)

    start, *rest = commands("5. Run it")
    assert (start, rest[2:4]) == (DAEMON, [LIST, "provisioner decisions -c provisioner.yaml"])
    with reader.running(start):
        write, push, _, decisions, take_back, push_again = rest
        assert (reader.type(write)[0], reader.type(push)[0]) == (0, 0)
        reader.see(LIST, machines=2)
        assert "buy 2" in reader.type(decisions)[1]
        assert (reader.type(take_back)[0], reader.type(push_again)[0]) == (0, 0)
        reader.see(LIST, machines=0)
