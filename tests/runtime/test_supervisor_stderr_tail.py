"""What a provider writes to stderr is kept in bounded memory and safe to show."""

from __future__ import annotations

import sys

from provisioner.edge.redaction import Hidden
from provisioner.runtime.stderr_tail import StderrTail, last_said


def test_lines_are_put_together_from_pieces_and_the_unfinished_one_is_shown_last() -> None:
    tail = StderrTail()
    assert tail.feed(b"on") == ([], 0)
    assert tail.feed(b"e\r\ntwo\nthr") == (["one", "two"], 0)
    assert tail.lines == ("one", "two", "thr")


def test_what_was_said_last_is_a_line_with_words_and_not_the_frame_of_a_traceback() -> None:
    group = ("  +-+---------------- 1 ----------------", "    | SystemExit: no way back", "    +-------------", "")
    assert last_said(group) == "SystemExit: no way back"
    assert last_said(("no licence server",)) == "no licence server"
    assert last_said(("----", "")) == ""
    assert last_said(()) == ""


def test_a_character_split_over_two_reads_is_whole() -> None:
    tail = StderrTail()
    tail.feed("ü".encode()[:1])
    assert tail.feed("ü".encode()[1:] + b"\n") == (["ü"], 0)


def test_a_line_without_end_costs_no_memory_and_says_what_was_cut() -> None:
    tail = StderrTail(line_bytes=100)
    for _ in range(4096):
        tail.feed(b"x" * 65536)
    finished, _ = tail.feed(b"\n")
    assert finished == ["x" * 100 + f" … {4096 * 65536 - 100} bytes more"]
    assert sys.getsizeof(tail._open) < 1000


def test_only_the_last_lines_of_a_flood_are_kept_and_the_rest_is_counted() -> None:
    tail = StderrTail(lines=3)
    finished, dropped = tail.feed(b"".join(b"%d\n" % n for n in range(1000)))
    assert finished == ["997", "998", "999"]
    assert dropped == 997
    assert tail.lines == ("997", "998", "999")


def test_all_lines_together_are_bounded_in_bytes() -> None:
    tail = StderrTail(lines=1000, line_bytes=100, total_bytes=250)
    for _ in range(10):
        tail.feed(b"y" * 100 + b"\n")
    assert len(tail.lines) == 2


def test_control_characters_are_shown_as_escapes() -> None:
    tail = StderrTail()
    assert tail.feed("\x1b[31mred\x07 \u202ebidi \udcff".encode("utf-8", "surrogatepass") + b"\n")[0] == [
        "\\x1b[31mred\\x07 \\u202ebidi ���"
    ]


def test_a_passed_secret_that_is_printed_back_is_hidden() -> None:
    tail = StderrTail(hidden=Hidden(["tok-4711-abc", "1"]))
    assert tail.feed(b"login with tok-4711-abc failed 1 time\n")[0] == ["login with [hidden] failed 1 time"]


def test_a_secret_that_lies_across_the_cut_of_a_line_is_hidden_as_far_as_it_is_shown() -> None:
    tail = StderrTail(line_bytes=20, hidden=Hidden(["tok-4711-abc"]))
    assert tail.feed(b"it is wrong: tok-4711-abc\n")[0] == ["it is wrong: [hidden] … 5 bytes more"]


def test_lines_are_numbered_over_all_that_were_ever_written_also_those_not_kept() -> None:
    tail = StderrTail(lines=2)
    before = tail.finished
    tail.feed(b"a\nb\nc\nd")
    early = tail.finished
    tail.feed(b"\n" + b"".join(b"%d\n" % n for n in range(100)) + b"rest")
    assert (before, early, tail.finished) == ((1, ()), (2, ("b", "c")), (103, ("98", "99")))
    assert tail.lines == ("98", "99", "rest")
