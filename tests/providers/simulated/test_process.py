"""The real provider process on the real clock: crashes in the middle, and misbehaviour as a process."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from providers.simulated import books
from tests.providers.simulated.daemon import LIMIT_S, ROOT, Process
from tests.providers.simulated.daemon import purchase as purchase_params
from tests.providers.simulated.stage import CONFIG

pytestmark = pytest.mark.e2e


def ordered(*calls: Mapping[str, object], **process: object) -> dict[str, object]:
    return {**CONFIG, "faults": {"calls": list(calls), "process": process}}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_a_whole_conversation_ends_in_order_and_its_books_agree(state: Path) -> None:
    with Process(state) as process:
        assert process.greet()["result"]["promises"]["token"]["replay"] == "exact"
        report = process.buy("tk-1", 3)["result"]
        assert process.call("list")["result"]["complete"] is True
        items = [{"instance": i["instance"], "keep": 0} for i in report["instances"]]
        returned = process.call("return", return_id="rt-1", items=items, epoch=7, not_after=1e12)["result"]["items"]
        assert {item["state"] for item in returned} == {"returning"}
        assert process.call("shutdown", grace_s=5)["result"]["open"] == 3
        assert process.end_input() == 0
    printed = subprocess.run(
        [sys.executable, "-m", "providers.simulated", "books", str(state)],
        cwd=ROOT,
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    entries = json.loads(printed.stdout)
    assert [entry["instance"] for entry in entries] == [item["instance"] for item in items]
    assert all(entry["returned_at"] and entry["mark"]["token"] == "tk-1" for entry in entries)


def test_f_02_kill_9_at_any_moment_of_a_request_and_the_same_token_again_is_one_purchase(state: Path) -> None:
    made_before_the_kill = 0
    for patience in (0, 1, 2, 40, 4000):
        with Process(state) as process:
            process.greet()
            process.send("request", **purchase_params("tk-1", 3))
            for _ in range(patience):  # from "killed at once" to "killed after the answer"
                if process.read(0.0005):
                    break
            process.popen.kill()
            process.popen.wait(LIMIT_S)
        made_before_the_kill = len(books.read(state))
        assert made_before_the_kill in (0, 3)
    assert made_before_the_kill == 3
    with Process(state) as process:
        process.greet()
        report = process.buy("tk-1", 3)["result"]
        assert report["outcome"] == "made"
        assert [entry["instance"] for entry in books.read(state)] == [i["instance"] for i in report["instances"]]
        assert len(report["instances"]) == 3


def test_an_answer_lost_with_the_process_is_found_again_under_the_token(state: Path) -> None:
    config = ordered({"on": "request", "do": "exit", "when": "after", "calls": [1], "code": 5})
    with Process(state) as process:
        process.greet(config)
        with pytest.raises(EOFError):
            process.buy("tk-1", 2)
        assert process.popen.wait(LIMIT_S) == 5
    assert len(books.read(state)) == 2
    with Process(state) as process:
        process.greet(config)
        assert len(process.buy("tk-1", 2)["result"]["instances"]) == 2
    assert len(books.read(state)) == 2


def test_the_answer_is_cut_at_the_chosen_byte(state: Path) -> None:
    with Process(state) as process:
        process.greet(ordered({"on": "request", "do": "cut_answer", "bytes": 17}))
        with pytest.raises(EOFError) as caught:
            process.buy("tk-1")
        assert len(caught.value.args[0]) == 17
    assert len(books.read(state)) == 1


def test_a_process_deaf_to_sigterm_that_outlives_its_input_must_be_killed(state: Path) -> None:
    with Process(state) as process:
        process.greet(ordered(ignore_sigterm=True, outlive_stdin="1h"))
        process.popen.send_signal(signal.SIGTERM)
        assert process.call("ping")["result"]["health"] == "ok"
        assert process.popen.stdin is not None
        process.popen.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            process.popen.wait(1.5)


def test_without_that_order_the_end_of_input_ends_the_process(state: Path) -> None:
    with Process(state) as process:
        process.greet(ordered({"on": "request", "do": "delay", "for": "1h"}))
        process.send("request", **purchase_params("tk-1"))
        assert process.end_input() == 0
    assert books.read(state) == []


@pytest.mark.parametrize("leaves_group", [False, True])
def test_a_grandchild_holds_the_pipe_open_after_the_process_has_ended(state: Path, leaves_group: bool) -> None:
    with Process(state) as process:
        process.greet(ordered(grandchild={"for": "3s", "leaves_group": leaves_group}))
        assert process.end_input() == 0
        assert process.read(0.2) is None  # no end of file though the process is gone
        if not leaves_group:
            os.killpg(process.popen.pid, signal.SIGKILL)
        assert process.read(LIMIT_S) == b""


def test_stderr_is_flooded_without_a_line_end(state: Path) -> None:
    with Process(state) as process:
        process.greet(ordered(stderr_flood={"bytes_per_s": 50_000_000, "newlines": False}))
        while process.stderr_file.stat().st_size < 1_000_000:
            assert process.call("ping")["result"]["health"] == "ok"
        assert b"\n" not in process.stderr_file.read_bytes()


def test_text_on_stdout_does_not_hide_the_answers(state: Path) -> None:
    with Process(state) as process:
        process.greet(ordered(stdout_junk={"text": "Loading modules"}))
        process.call("ping")
        process.call("ping")
        assert process.skipped == [b"Loading modules", b"Loading modules"]


def test_it_dies_in_the_handshake_again_and_again(state: Path) -> None:
    for _ in range(2):
        with Process(state) as process:
            with pytest.raises(EOFError):
                process.greet(ordered({"on": "initialize", "do": "exit", "code": 7}))
            assert process.popen.wait(LIMIT_S) == 7


def test_it_crashes_by_itself_soon_after_the_handshake(state: Path) -> None:
    with Process(state) as process:
        assert "result" in process.greet(ordered(crash_after="200ms"))
        assert process.popen.wait(LIMIT_S) == 70


def test_a_faulty_configuration_is_told_whole_and_ends_with_78(state: Path) -> None:
    with Process(state) as process:
        data = process.greet({**CONFIG, "types": ["c9x.*"], "sed": 1})["error"]["data"]
        assert [fault["path"] for fault in data["faults"]] == ["/types", "/sed"]
        assert process.popen.wait(LIMIT_S) == 78


def test_books_of_nothing_are_an_error(tmp_path: Path) -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "providers.simulated", "books", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (printed.returncode, printed.stdout) == (66, b"")
