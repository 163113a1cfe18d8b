"""What is known to have brought supervisors down, each played by a real process: the field's failures F-25 to F-32."""

from __future__ import annotations

import os
import signal
import tracemalloc
import uuid
from pathlib import Path

import pytest
import trio

from provisioner.runtime.supervision import (
    Answered,
    Ended,
    EndKind,
    Failed,
    Graces,
    Lost,
    Outcome,
    ProcessSpec,
    Unwritten,
)
from provisioner.runtime.supervisor import ProviderProcess, open_process
from tests.runtime.real_provider import QUICK, is_alive, running
from tests.runtime.scripted_provider import Lines

pytestmark = pytest.mark.e2e
MIB = 1 << 20


async def test_f_25_a_mebibyte_on_stderr_before_each_answer_leaves_memory_flat(tmp_path: Path) -> None:
    script = """
        line = b"x" * (256 * 1024)
        lines = b"".join(b"%0200d\\n" % n for n in range(4000))
        def flood(message):
            os.write(2, line)
            view = memoryview(lines)
            while view:
                view = view[os.write(2, view):]
            echo(message)
        serve(flood)
    """
    async with running(tmp_path, script) as run:
        run.log.lines = Bounded()
        for n in range(5):
            assert await run.call(n=n) == Answered({"of": {"n": n}})
        tracemalloc.start()
        try:
            for n in range(15):
                assert await run.call(n=n) == Answered({"of": {"n": n}})
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert grown < 3 * MIB, "15 MiB went by, of which the tail keeps one"


class Bounded(list[tuple[str, dict[str, object]]]):
    """Log lines that are not kept, so that only the supervision's own memory is seen."""

    def append(self, _: tuple[str, dict[str, object]]) -> None:
        """Forgets it."""


async def test_f_26_no_text_on_the_protocol_channel_hides_a_frame_or_hangs_a_call(tmp_path: Path) -> None:
    script = """
        answer = lambda m: json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"n": m["params"]["n"]}}).encode()
        noise = [b"\\x1b[31mWelcome!\\n", b"word\\n", b"17\\n[1, 2]\\n", b'{"neither": "method nor id"}\\n']
        def chatter(message):
            n = message["params"]["n"]
            if n < len(noise):
                write(noise[n] + answer(message) + b"\\n")
            else:
                write(b"glued text " + answer(message) + b"\\n" + answer(message) + b"\\n")
        serve(chatter)
    """
    async with running(tmp_path, script) as run:
        for n in range(5):
            assert await run.call(n=n) == Answered({"n": n})
        assert run.process.ended is None
    junk = run.log.of("provider_stdout_junk")
    assert [str(line["text"]).split()[0] for line in junk] == [
        "\\x1b[31mWelcome!",
        "word",
        "17",
        "[1,",
        "['neither']",
        "glued",
    ]


async def test_f_27_no_character_but_the_line_feed_ends_a_frame(tmp_path: Path) -> None:
    name = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg\x00h\U0001f680"
    script = """
        def slowly(message):
            data = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"of": message["params"]}},
                              ensure_ascii=False).encode() + b"\\r\\n"
            for at in range(0, len(data), 3):
                write(data[at:at + 3])
        serve(slowly)
    """
    async with running(tmp_path, script) as run:
        assert await run.call(name=name) == Answered({"of": {"name": name}})
        assert run.log.of("provider_stdout_junk") == []


async def test_f_28_answers_twice_late_out_of_order_and_to_ids_never_used_reach_nobody_else(tmp_path: Path) -> None:
    script = """
        kept = []
        def confuse(message):
            what = message["params"]["what"]
            if what == "keep":
                kept.append(message["id"])
                return
            say({"id": 4711, "result": {"of": "nobody"}})
            say({"id": message["id"], "result": {"of": what}})
            say({"id": message["id"], "result": {"of": "twice"}})
            for id in reversed(kept):
                say({"id": id, "result": {"of": f"kept {id}"}})
            kept.clear()
        serve(confuse)
    """
    outcomes: dict[str, Outcome] = {}
    async with running(tmp_path, script) as run:

        async def keep(name: str) -> None:
            outcomes[name] = await run.call(what="keep")

        async with trio.open_nursery() as calls:
            for name in "ab":
                calls.start_soon(keep, name)
                await trio.testing.wait_all_tasks_blocked()
            for n in range(3):
                assert await run.call(what=n) == Answered({"of": n})
        assert outcomes == {"a": Answered({"of": "kept 2"}), "b": Answered({"of": "kept 3"})}
        assert run.process.counts["unknown_id"] == 6
        assert run.process.ended is None


async def test_f_28_what_comes_in_the_grace_after_the_deadline_is_the_answer_to_its_own_call(tmp_path: Path) -> None:
    script = """
        import threading
        def late(message):
            wait_s = message["params"]["wait_s"]
            threading.Timer(wait_s, lambda: say({"id": message["id"], "result": {"after": wait_s}})).start()
        serve_all = lambda: [handle(json.loads(line)) for line in sys.stdin.buffer]
        def handle(message):
            if message["method"] in ("initialize", "shutdown"):
                say({"id": message["id"], "result": {}})
            elif message["method"] == "request":
                late(message)
        serve_all()
    """
    outcomes: dict[str, Outcome] = {}
    async with running(tmp_path, script) as run:

        async def call(name: str, timeout_s: float, wait_s: float) -> None:
            outcomes[name] = await run.call(timeout_s, wait_s=wait_s)

        async with trio.open_nursery() as calls:
            calls.start_soon(call, "late", 0.2, 1.0)
            calls.start_soon(call, "in time", 20, 0.5)
        assert run.process.ended is None
    assert outcomes == {"late": Answered({"after": 1.0}), "in time": Answered({"after": 0.5})}


@pytest.mark.parametrize("size", [65_537, 8 * MIB])
async def test_f_29_realistic_sizes_just_work(tmp_path: Path, size: int) -> None:
    script = 'serve(lambda m: say({"id": m["id"], "result": {"data": "y" * m["params"]["size"]}}))'
    async with running(tmp_path, script) as run:
        outcome = await run.call(size=size)
        assert isinstance(outcome, Answered)
        assert len(str(outcome.result["data"])) == size


async def test_f_29_a_valid_frame_beside_an_oversize_one_in_the_same_read_still_counts(tmp_path: Path) -> None:
    script = """
        def both(message):
            good = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode() + b"\\n"
            write(good + b"x" * (MIB + 1) + b"\\n")
        MIB = 1 << 20
        serve(both)
    """
    async with running(tmp_path, script, frame_bytes=MIB) as run:
        assert await run.call() == Answered({})
        ended = await run.process.wait_ended()
    assert (ended.reason, ended.kind) == (f"frame too large (limit {MIB} bytes)", EndKind.CRASH)


async def opened_and_ended(tmp_path: Path, *argv: str) -> tuple[Outcome, Ended]:
    spec = ProcessSpec(
        "east", argv, f"test-{uuid.uuid4()}", str(tmp_path / "run"), str(tmp_path / "state"), graces=QUICK
    )

    async def unheard(_: object) -> None:
        await trio.lowlevel.checkpoint()

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            process = await open_process(spec, nursery, unheard, log=Lines())
            outcome = await process.call("initialize", {}, 20)
            return outcome, await process.wait_ended()


@pytest.mark.parametrize(
    ("does", "kind", "reason"),
    [
        ("exit 3", EndKind.CRASH, "exit status 3"),
        ("exit 78", EndKind.FAULTY_CONFIGURATION, "exit status 78"),
        ("exit 0", EndKind.ORDERLY, "exit status 0"),
        ("kill -11 $$", EndKind.CRASH, "SIGSEGV"),
        ('printf \'{"jsonrpc":"2.0","id":1,"res\'; exit 3', EndKind.CRASH, "exit status 3"),
        ("exec 1>&-; sleep 300", EndKind.CRASH, "closed its stdout"),
    ],
)
async def test_f_30_a_provider_that_ends_in_the_handshake_settles_it_with_status_and_last_words(
    tmp_path: Path, does: str, kind: EndKind, reason: str
) -> None:
    outcome, ended = await opened_and_ended(tmp_path, "sh", "-c", f"read line; echo no such region >&2; {does}")
    assert isinstance(outcome, Lost)
    assert reason in outcome.reason
    assert (ended.kind, ended.stderr_tail, ended.is_gone) == (kind, ("no such region",), True)


async def test_f_30_a_provider_that_is_gone_before_the_first_frame_was_told_nothing(tmp_path: Path) -> None:
    outcome, ended = await opened_and_ended(tmp_path, "true")
    assert isinstance(outcome, Lost | Unwritten)
    assert ended.is_gone


async def test_f_30_an_answer_that_is_there_before_the_question_settles_nothing_and_hangs_nothing(
    tmp_path: Path,
) -> None:
    script = """
        write(b'{"jsonrpc":"2.0","id":2,"result":{"of":"a guess"}}\\n')
        serve(echo)
    """
    async with running(tmp_path, script) as run:
        outcome = await run.call(n=1)
    assert isinstance(outcome, Answered | Failed)
    assert outcome != Answered({"of": "a guess"})


@pytest.mark.parametrize("how", ["", ", start_new_session=True"])
async def test_f_32_what_holds_the_pipes_can_hold_up_neither_the_end_nor_the_next_start(
    tmp_path: Path, how: str
) -> None:
    script = f"""
        def leave(message):
            holder = subprocess.Popen(["sleep", "300"]{how})
            say({{"id": message["id"], "result": {{"pid": holder.pid}}}})
            if message["params"]["crash"]:
                os._exit(3)
        serve(leave)
    """
    for crash in (True, False):
        async with running(tmp_path, script) as run:
            outcome = await run.call(crash=crash)
            assert isinstance(outcome, Answered)
            with trio.fail_after(10):
                if crash:
                    await run.process.wait_ended()
                else:
                    await run.process.stop("over")
        pid = int(str(outcome.result["pid"]))
        if how:
            # Out of the session, and no subreaper here that would find it: it is only that nobody waits for it.
            assert is_alive(pid)
            os.kill(pid, signal.SIGKILL)
        else:
            with trio.fail_after(10):
                while is_alive(pid):
                    await trio.lowlevel.checkpoint()


async def test_a_provider_that_never_reads_its_stdin_is_ended_by_the_ladder_and_not_waited_for(tmp_path: Path) -> None:
    outcomes: list[Outcome] = []
    script = """
        write(b'{"jsonrpc":"2.0","id":1,"result":{}}\\n')
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    """

    async def call(process: ProviderProcess, data: str) -> None:
        outcomes.append(await process.call("request", {"data": data}, 300))

    graces = Graces(0.3, 0.3, 0.3, 0.3, 5.0, 0.3)
    async with running(tmp_path, script, graces=graces) as run, trio.open_nursery() as calls:
        for _ in range(4):
            calls.start_soon(call, run.process, "x" * 50_000)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(10):
            ended = await run.process.stop("over")
    assert (ended.kind, str(ended.status)) == (EndKind.FORCED, "ended by signal 9 (SIGKILL)")
    assert len(outcomes) == 4
    assert {type(outcome) for outcome in outcomes} == {Lost, Unwritten}
