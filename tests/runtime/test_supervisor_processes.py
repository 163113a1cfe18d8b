"""Real processes on the real clock: they die, hang, flood, leave things behind, and are ended in bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.supervision import (
    Answered,
    EndKind,
    Graces,
    Lost,
    Outcome,
    Unwritten,
)
from tests.runtime.real_provider import running

pytestmark = pytest.mark.e2e


async def test_an_orderly_provider_answers_and_ends_by_itself_after_shutdown(tmp_path: Path) -> None:
    async with running(tmp_path, "serve(echo)", graces=Graces()) as run:
        assert await run.call(n=1) == Answered({"of": {"n": 1}})
        ended = await run.process.stop("over")
    assert (ended.kind, str(ended.status), ended.is_gone) == (EndKind.ORDERLY, "exit status 0", True)
    assert run.log.of("provider_signalled") == []


async def test_a_provider_starts_with_its_private_folders_and_environment(tmp_path: Path) -> None:
    script = """
        def look(message):
            tmp = os.environ["TMPDIR"]
            say({"id": message["id"], "result": {"cwd": os.getcwd(), "tmp": tmp, "mode": os.stat(tmp).st_mode & 0o777,
                 "names": sorted(n for n in os.environ if n != "LC_CTYPE")}})
        serve(look)
    """
    async with running(tmp_path, script) as run:
        outcome = await run.call()
    assert outcome == Answered(
        {
            "cwd": str(tmp_path / "run"),
            "tmp": str(tmp_path / "run" / "tmp"),
            "mode": 0o700,
            "names": ["LANG", "PATH", "PROVISIONER_CONTRACT", "PROVISIONER_PROCESS", "TMPDIR", "TZ"],
        }
    )
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


async def test_a_provider_that_cannot_start_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(SpawnRefused, match="is not on the provider's PATH"), flatten_subgroups=True
    ):
        async with running(tmp_path, "", argv=("no-such-provider",)):
            pass
    with pytest.RaisesGroup(pytest.RaisesExc(SpawnRefused, match="can't be made"), flatten_subgroups=True):
        async with running(tmp_path, "", state_dir=str(tmp_path / "provider.py" / "state")):
            pass


async def test_cc_8_death_in_the_middle_of_an_answer_settles_all_calls_within_a_second(tmp_path: Path) -> None:
    script = """
        def die(message):
            if message["params"]["n"] == 4:
                sys.stderr.write("disk full\\n")
                write(b'{"jsonrpc":"2.0","id":2,"res')
                os._exit(3)
        serve(die)
    """
    outcomes: list[Outcome] = []
    async with running(tmp_path, script) as run:

        async def call(n: int) -> None:
            outcomes.append(await run.call(n=n))

        async with trio.open_nursery() as calls:
            for n in range(4):
                calls.start_soon(call, n)
            await trio.testing.wait_all_tasks_blocked()
            began = trio.current_time()
            calls.start_soon(call, 4)
        took_s = trio.current_time() - began
        ended = await run.process.wait_ended()
    assert took_s < 1
    assert len(outcomes) == 5
    assert all(isinstance(outcome, Lost) and "exit status 3" in outcome.reason for outcome in outcomes)
    assert (ended.kind, ended.stderr_tail, ended.is_gone) == (EndKind.CRASH, ("disk full",), True)


async def test_the_answer_written_right_before_the_exit_counts(tmp_path: Path) -> None:
    script = """
        def answer_and_go(message):
            say({"id": message["id"], "result": {"data": "x" * 200000}})
            os._exit(0)
        serve(answer_and_go)
    """
    async with running(tmp_path, script) as run:
        assert isinstance(await run.call(), Answered)


async def test_faulty_configuration_is_told_by_the_exit_status(tmp_path: Path) -> None:
    async with running(tmp_path, "serve(lambda message: os._exit(78))") as run:
        assert isinstance(await run.call(), Lost)
        assert (await run.process.wait_ended()).kind is EndKind.FAULTY_CONFIGURATION


async def test_a_provider_that_ignores_shutdown_the_end_of_stdin_and_sigterm_is_killed_in_bounds(
    tmp_path: Path,
) -> None:
    script = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        serve(lambda message: (say({"id": message["id"], "result": {}}), [time.sleep(1) for _ in range(300)]))
    """
    async with running(tmp_path, script) as run:
        await run.call()
        began = trio.current_time()
        ended = await run.process.stop("over")
    assert trio.current_time() - began < 4
    assert (ended.kind, str(ended.status)) == (EndKind.FORCED, "ended by signal 9 (SIGKILL)")
    assert [fields["signal"] for fields in run.log.of("provider_signalled")] == ["SIGTERM", "SIGKILL"]


async def test_a_provider_that_closes_its_stdout_and_lives_on_is_taken_for_dead_and_ended(tmp_path: Path) -> None:
    script = """
        def close(message):
            os.close(1)
            time.sleep(300)
        serve(close)
    """
    async with running(tmp_path, script) as run:
        began = trio.current_time()
        outcome = await run.call()
        assert trio.current_time() - began < 1
        assert isinstance(outcome, Lost)
        ended = await run.process.wait_ended()
    assert ended.reason == "the provider closed its stdout"
    assert ended.is_gone


async def test_f_25_a_flood_on_stderr_with_lines_without_end_blocks_nothing(tmp_path: Path) -> None:
    script = """
        def flood(message):
            sys.stderr.write("y" * 80 + "\\n")
            os.write(2, b"x" * (256 * 1024))
            os.write(2, b"".join(b"%d\\n" % n for n in range(100000)))
            echo(message)
        serve(flood)
    """
    async with running(tmp_path, script, stderr_rate=10) as run:
        began = trio.current_time()
        for n in range(20):
            assert await run.call(n=n) == Answered({"of": {"n": n}})
        assert sum(map(len, run.process.stderr_tail)) < 1 << 20
        assert len(run.log.of("provider_stderr")) <= 10 * (2 + trio.current_time() - began)


async def test_fr_4_junk_on_stdout_does_not_hide_a_good_frame_and_too_much_of_it_ends_the_process(
    tmp_path: Path,
) -> None:
    script = """
        def chatter(message):
            write(b"Welcome!\\n\\xff\\xfe\\n")
            echo(message)
        serve(chatter)
    """
    async with running(tmp_path, script) as run:
        for n in range(9):
            assert await run.call(n=n) == Answered({"of": {"n": n}})
        await run.call(n=10)
        ended = await run.process.wait_ended()
    assert "20 lines on stdout" in ended.reason
    assert len(run.log.of("provider_stdout_junk")) == 20


async def test_fr_3_an_endless_line_on_stdout_costs_the_limit_and_ends_only_this_process(tmp_path: Path) -> None:
    script = """
        def endless(message):
            while True:
                write(b"x" * 65536)
        serve(endless)
    """
    async with running(tmp_path, script, frame_bytes=1 << 20) as run:
        outcome = await run.call()
        assert outcome == Lost("frame too large (limit 1048576 bytes)")
        assert (await run.process.wait_ended()).is_gone


async def test_a_provider_that_stops_reading_gets_half_a_frame_which_is_lost_and_the_next_which_is_unwritten(
    tmp_path: Path,
) -> None:
    script = """
        write(b'{"jsonrpc":"2.0","id":1,"result":{}}\\n')
        time.sleep(300)
    """
    async with running(tmp_path, script) as run:
        outcomes: dict[str, Outcome] = {}

        async def call(name: str) -> None:
            outcomes[name] = await run.call(0.5, data="x" * 200_000)

        async with trio.open_nursery() as calls:
            calls.start_soon(call, "first")
            await trio.testing.wait_all_tasks_blocked()
            calls.start_soon(call, "second")
        ended = await run.process.wait_ended()
    assert isinstance(outcomes["first"], Lost)
    assert isinstance(outcomes["second"], Unwritten)
    assert ended.is_gone


async def test_fr_7_a_provider_that_only_writes_while_we_write_does_not_lock_both_up(tmp_path: Path) -> None:
    script = """
        def answer_at_length(message):
            say({"id": message["id"], "result": {"data": "y" * 500000}})
        serve(answer_at_length)
    """
    async with running(tmp_path, script) as run:
        done = 0

        async def call() -> None:
            nonlocal done
            assert isinstance(await run.call(data="x" * 500_000), Answered)
            done += 1

        async with trio.open_nursery() as calls:
            for _ in range(8):
                calls.start_soon(call)
        assert done == 8


async def test_a_secret_that_the_provider_prints_is_in_no_log_and_no_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_KEY", "planted-marker-4711")
    script = (
        "serve(lambda m: (sys.stderr.write('key ' + os.environ['CLOUD_KEY'] + '\\n'), sys.stderr.flush(), echo(m)))"
    )
    async with running(tmp_path, script, env_names=("CLOUD_KEY",)) as run:
        await run.call()
        ended = await run.process.stop("over")
    assert ended.stderr_tail == ("key [hidden]",)
    assert "planted-marker" not in repr((run.log.lines, run.reports))
