"""The harness itself: a run with as little as possible writes whole, valid JSON and shows every row."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench.measure import Measured, Row, best_ratio, median_ratio, p99

ROOT = Path(__file__).resolve().parents[2]
ROWS = {
    "facts.commit.ratio_to_fsync_floor": ("higher", 0.5),
    "facts.commit.ratio_to_handed_floor": ("higher", 0.5),
    "facts.commit_again.ratio_to_fsync_floor": ("higher", 0.5),
    "demand_to_frame.p99.ratio_to_commit": ("lower", 5.0),
    "demand_to_frame_process.p99.ratio_to_commit": ("lower", 5.0),
    "restart.10k.ratio_to_parse": ("lower", 3.0),
    "rpc.roundtrip_1k.ratio_to_floor": ("lower", 3.0),
    "rpc.roundtrip_108k.ratio_to_floor": ("lower", None),
    "rpc.roundtrip_1k_32_at_once.ratio_to_floor": ("lower", None),
    "rpc.roundtrip_1k_100_providers.ratio_to_floor": ("lower", None),
    "rpc.calls.ratio_to_mcp": ("higher", 5.0),
    "list.decode_1000.ratio_to_orjson": ("lower", 3.0),
    "list.decode_1000_unseen.ratio_to_orjson": ("lower", None),
    "list.decode_10000.ratio_to_orjson": ("lower", None),
    "supervise.1000_idle.core_share": ("lower", 0.01),
    "supervise.1000_idle.kib_per_provider": ("lower", None),
    "spawn.start_2gb.ratio_to_small": ("lower", None),
    "spawn.kill_2gb.ratio_to_small": ("lower", None),
}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def _is_met(entry: dict[str, Any]) -> bool | None:
    if entry["goal"] is None:
        return None
    return bool(entry["value"] <= entry["goal"] if entry["better"] == "lower" else entry["value"] >= entry["goal"])


def test_a_tiny_run_measures_every_row_and_writes_valid_json(tmp_path: Path) -> None:
    out, folder = tmp_path / "bench.json", tmp_path / "measured"
    done = bench("--tiny", "--repeat", "1", "--out", str(out), "--folder", str(folder))
    assert done.returncode == 0, done.stderr
    entries = json.loads(out.read_text())
    assert {entry["name"]: (entry["better"], entry["goal"]) for entry in entries} == ROWS
    for entry in entries:
        assert entry["name"] in done.stdout
        if "skipped" in entry:  # what it is measured against is not installed here
            assert entry["name"] == "rpc.calls.ratio_to_mcp"
            assert (entry["value"], entry["met"], entry["n"]) == (None, None, 0)
            assert entry["skipped"] in done.stdout
            continue
        assert set(entry) == {"name", "value", "goal", "better", "met", "n"}
        assert entry["value"] >= 0
        assert entry["n"] >= 1
        assert entry["met"] is _is_met(entry)
    assert list(folder.iterdir()) == []


def test_a_pattern_that_fits_no_row_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    done = bench("--only", "no.such.row", "--out", str(tmp_path / "bench.json"))
    assert done.returncode == 2
    assert all(name in done.stderr for name in ROWS)
    assert not (tmp_path / "bench.json").exists()


@pytest.mark.parametrize(("better", "met"), [("lower", (True, True, False)), ("higher", (False, True, True))])
def test_a_goal_is_met_from_its_better_side_up_to_the_goal_itself(better: str, met: tuple[bool, bool, bool]) -> None:
    row = Row("row", 2.0, "lower" if better == "lower" else "higher")
    assert tuple(Measured(row, value, 1, "").as_json()["met"] for value in (1.9, 2.0, 2.1)) == met


def test_one_slow_round_does_not_decide_a_ratio() -> None:
    assert median_ratio([2.0, 90.0, 2.2], [1.0, 1.0, 1.1]) == pytest.approx(2.0)


def test_rounds_in_which_only_one_side_was_interrupted_do_not_decide_the_ratio_of_the_best() -> None:
    assert best_ratio([9.0, 8.0, 6.0, 9.5], [2.0, 2.1, 2.2, 2.0]) == pytest.approx(3.0)


def test_the_slowest_in_a_hundred_are_left_out_of_p99() -> None:
    assert p99([float(n) for n in range(1, 201)]) == 198.0
