"""A lifespan and the log of a real process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk.conversation import greeting

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-W", "ignore", "-m", "tests.sdk.living_provider"]
KEY = "hunter2-hunter2"

pytestmark = pytest.mark.e2e


def lived(tmp_path: Path, *, fails: bool, form: str) -> tuple[int, list[str]]:
    """Greet one process, ask it for a list, end its input: its exit code and its log."""
    (tmp_path / "far.key").write_text(KEY)
    environment = {**os.environ, "PROVISIONER_CONTRACT": "2", "PYTHONPATH": str(ROOT), "PROVIDER_LOG": form}
    asked = greeting(tmp_path / "state", credentials_dir=str(tmp_path), config={"fails": fails})
    frames = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}]
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        if fails:
            process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"list","params":{}}\n')
            process.stdin.flush()
            assert process.stdout.readline() == b""
        _, log = process.communicate(timeout=30)
    return process.returncode, log.decode().splitlines()


def test_a_lifespan_is_left_before_close_at_an_orderly_end(tmp_path: Path) -> None:
    code, log = lived(tmp_path, fails=False, form="text")
    told = [line.split(" ", 2)[2] for line in log]
    assert (code, told) == (0, ["entered key=<secret>", "left", "closed"])
    assert KEY not in "".join(log)


def test_a_background_task_that_fails_ends_the_process_as_a_crash_and_shows_no_secret(tmp_path: Path) -> None:
    code, log = lived(tmp_path, fails=True, form="text")
    assert code == 1
    assert any("the far side does not like <secret>" in line for line in log)
    assert KEY not in "".join(log)


def test_every_line_of_the_log_is_json_where_the_operator_asks_for_that(tmp_path: Path) -> None:
    code, log = lived(tmp_path, fails=True, form="json")
    found = [json.loads(line) for line in log]
    assert (code, [line["level"] for line in found]) == (1, ["info", "error"])
    assert "Traceback" in found[1]["text"]
    assert found[0] | {"at": ""} == {"at": "", "level": "info", "text": "entered", "key": "<secret>"}
