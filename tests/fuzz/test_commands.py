"""What the commands of fuzzing print, write and end with."""

import importlib.util
from pathlib import Path

import pytest

from tests.fuzz import case as cases
from tests.fuzz import guided
from tests.fuzz.__main__ import main
from tests.fuzz.campaign import Tally, campaign, keep_failures
from tests.fuzz.case import FOUND, read_case, what_breaks
from tests.fuzz.planted import PLANTED


def test_a_campaign_prints_its_counts_by_target_and_by_mutation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["12", "3"]) == 0
    said = capsys.readouterr().out
    assert "12 cases from seed 3, 0 failed" in said
    assert "  daemon " in said
    assert "  key repeated " in said


@pytest.mark.parametrize("words", [["0"], ["--", "-1"], ["5", "1", "--first", "-1"]])
def test_a_campaign_of_no_case_is_refused_and_not_called_good(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_a_kept_case_is_run_again_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--file", str(FOUND / "true-is-no-id.case")]) == 0
    assert "nothing breaks" in capsys.readouterr().out


def test_a_campaign_shared_out_runs_the_same_cases() -> None:
    whole, last = campaign(5, 20), campaign(5, 8, first=12)
    assert (whole.cases, last.cases) == (20, 8)
    assert not last.kinds - whole.kinds


def test_a_failure_is_told_with_its_seed_its_bytes_and_the_line_that_runs_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PLANTED["true is one"][1](monkeypatch)
    case = read_case(FOUND / "true-is-no-id.case")
    tally = Tally(1)
    tally.add(17, case, what_breaks(case))
    lines = keep_failures(tally, tmp_path)
    assert lines[0].startswith("seed 1, case 17, sdk (any)")
    assert "nobody cancelled" in lines[1]
    (kept,) = tmp_path.glob("*.case")
    assert str(kept) in lines[-1]
    assert what_breaks(read_case(kept)) == tally.failures[0][1].why


@pytest.mark.skipif(importlib.util.find_spec("atheris") is not None, reason="atheris is installed here")
def test_guided_fuzzing_says_what_to_install_where_atheris_is_absent(capsys: pytest.CaptureFixture[str]) -> None:
    assert guided.main([]) == guided.ABSENT
    assert "pip install atheris" in capsys.readouterr().err


def test_an_input_for_guided_fuzzing_says_by_its_first_byte_where_the_rest_is_said(tmp_path: Path) -> None:
    where = guided.places(cases)
    assert len(where) == len(set(where)) < 256
    entry = guided.entry(cases)
    entry(b"")
    entry(bytes([where.index(("frames", "lines"))]) + b'{"a":1}\nnone\n')
    guided.write_corpus(cases, tmp_path)
    written = sorted(tmp_path.iterdir())
    assert {path.read_bytes()[0] for path in written} == set(range(len(where)))
