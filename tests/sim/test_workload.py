"""Job logs: what is read, what is left out, and that no text can break the reading."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.sim.job_log import SAMPLE, UnreadableLog, open_workload
from provisioner.sim.make_sample import SEED, sample_text
from provisioner.sim.workload import Job, read_workload, section

HEADER = ["; Version: 2.2", ";   a note without a colon", "   ; an indented one", "", "   "]


def row(
    number: object = 1, submit: object = 10, run: object = 60, allocated: object = 4, requested: object = -1
) -> str:
    return f"  {number} {submit} 5 {run} {allocated} -1 -1 {requested} -1 -1 1 -1 -1 -1 -1 -1 -1 -1"


def test_headers_and_empty_lines_are_no_jobs() -> None:
    workload = read_workload([*HEADER, row()])
    assert workload.jobs == (Job("1", 10.0, 60.0, 4),)
    assert workload.left_out == {}


def test_jobs_that_never_ran_are_left_out_and_counted() -> None:
    workload = read_workload([row(1, run=-1), row(2, run=0), row(3, run=0.5)])
    assert [job.id for job in workload.jobs] == ["3"]
    assert workload.left_out == {"never ran": 2}


def test_a_row_without_allocated_processors_counts_those_requested() -> None:
    workload = read_workload([row(1, allocated=-1, requested=8), row(2, allocated=-1), row(3, allocated=0)])
    assert [(job.id, job.cores) for job in workload.jobs] == [("1", 8)]
    assert workload.left_out == {"says no number of processors": 2}


def test_decimals_stand_in_any_column() -> None:
    assert read_workload([row(1, submit=10.5, run=2.25, allocated="4.0")]).jobs == (Job("1", 10.5, 2.25, 4),)


def test_rows_may_be_wider_or_narrower_than_the_format() -> None:
    wide, narrow, stub = row(1) + " 7 8 9", "2 20 -1 30 2", "3 20 -1"
    workload = read_workload([wide, narrow, stub, "no numbers in this row at all"])
    assert [job.id for job in workload.jobs] == ["1", "2"]
    assert workload.left_out == {"is no row of a job log": 2}


def test_rows_out_of_order_are_sorted_by_submission_and_equal_ones_keep_their_order() -> None:
    workload = read_workload([row(1, submit=30), row(2, submit=10), row(3, submit=30), row(4, submit=-1)])
    assert [job.id for job in workload.jobs] == ["2", "1", "3"]
    assert workload.left_out == {"says no time of submission": 1}


def test_a_number_used_twice_makes_two_jobs_that_can_be_told_apart() -> None:
    assert [job.id for job in read_workload([row(7), row(7), row(7)]).jobs] == ["7", "7/2", "7/3"]


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e400"])
def test_what_is_no_finite_number_makes_no_job(word: str) -> None:
    assert read_workload([row(run=word), row(submit=word), row(allocated=word)]).jobs == ()


def test_a_section_counts_from_its_begin_and_cuts_width_and_run_time() -> None:
    whole = read_workload([row(1, submit=99), row(2, submit=100, run=9000, allocated=99), row(3, submit=200)])
    part = section(whole, 100, 200, most_run_s=7200, most_cores=64)
    assert part.jobs == (Job("2", 0.0, 7200.0, 64),)
    assert part.core_seconds == 7200 * 64


@given(st.lists(st.text(max_size=60), max_size=20))
def test_any_text_is_read_without_a_fault(lines: list[str]) -> None:
    workload = read_workload(lines)
    rows = sum(1 for line in lines if line.split(";", 1)[0].split())
    assert len(workload.jobs) + sum(workload.left_out.values()) == rows


NUMBERS = st.one_of(
    st.integers(-5, 10**9).map(str), st.floats(allow_nan=True, allow_infinity=True).map(repr), st.just("-1")
)


@given(st.lists(st.lists(NUMBERS, min_size=5, max_size=22), max_size=12))
def test_every_job_read_from_any_numbers_can_run(rows: list[list[str]]) -> None:
    jobs = read_workload([" ".join(cells) for cells in rows]).jobs
    assert all(job.run_s > 0 and job.cores >= 1 and job.submit_s >= 0 for job in jobs)
    assert [job.submit_s for job in jobs] == sorted(job.submit_s for job in jobs)
    assert len({job.id for job in jobs}) == len(jobs)


def test_the_shipped_sample_is_what_its_generator_makes() -> None:
    assert SAMPLE.read_text(encoding="utf-8") == sample_text(SEED)


@given(st.integers(0, 2**32))
def test_every_seed_makes_an_hour_of_jobs_that_run(seed: int) -> None:
    workload = read_workload(sample_text(seed).splitlines())
    assert workload.left_out == {}
    assert len(workload.jobs) == 62
    assert all(0 <= job.submit_s < 3600 and 30 <= job.run_s <= 900 and job.cores <= 32 for job in workload.jobs)


def test_a_compressed_log_reads_like_a_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert open_workload(packed) == open_workload(SAMPLE)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "holds no job that ran (it is empty)"),
        (b"; a header\n", "holds no job that ran (it is empty)"),
        (b"hello world\n", "1 rows: is no row of a job log"),
        (b"\xff\xfe\x00\x01" * 50, "holds no job that ran"),
        (gzip.compress(b"1 2 3 4 5" * 1000)[:-20], "ends in the middle"),
        (b"\x1f\x8b broken beyond repair", "can't be read"),
    ],
)
def test_a_file_without_jobs_is_refused_with_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(content)
    with pytest.raises(UnreadableLog) as refused:
        open_workload(path)
    assert str(path) in str(refused.value)
    assert sentence in str(refused.value)


def test_a_missing_log_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(UnreadableLog, match="can't be read: No such file"):
        open_workload(tmp_path / "none.swf")
