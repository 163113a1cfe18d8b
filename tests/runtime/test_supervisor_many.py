"""Many providers at once, as real processes: a storm of ends and starts, and an end of all, beside a good one."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import pytest
import trio

from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.spawn import leaders
from provisioner.runtime.supervision import Answered, EndKind, Graces, Lost, ProcessSpec, Report, Unwritten
from provisioner.runtime.supervisor import ProviderProcess, open_process
from tests.runtime.real_provider import is_alive, running
from tests.runtime.scripted_provider import Lines

pytestmark = pytest.mark.e2e
MANY = 50
QUICK = Graces(shutdown_s=0.5, exit_s=0.5, stdin_end_s=0.2, term_s=0.2, kill_s=5.0, last_output_s=0.2)
BAD = (
    ("no-such-program",),
    ("/etc/hostname",),
    ("sh", "-c", "exit 3"),
    ("sh", "-c", "read line; kill -9 $$"),
    ("sh", "-c", "echo banner; exec 1>&-; sleep 300"),
)
DEAF = (sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); print(); time.sleep(300)")


async def unheard(_: Report) -> None:
    await trio.lowlevel.checkpoint()


def spec_of(folder: Path, name: str, argv: tuple[str, ...]) -> ProcessSpec:
    here = folder / name
    marker = f"test-{uuid.uuid4()}"
    return ProcessSpec(name, argv, marker, str(here / "run"), str(here / "state"), graces=QUICK)


async def test_f_33_fifty_commands_that_keep_failing_do_not_touch_the_good_one_beside_them(tmp_path: Path) -> None:
    ended = 0

    async def start_again_and_again(number: int) -> None:
        nonlocal ended
        for _ in range(4):
            try:
                async with trio.open_nursery() as own:
                    spec = spec_of(tmp_path, f"bad{number}", BAD[number % len(BAD)])
                    process = await open_process(spec, own, unheard, log=Lines())
                    assert isinstance(await process.call("initialize", {}, 20), Lost | Unwritten)
                    await process.wait_ended()
            except* SpawnRefused:
                pass
            ended += 1

    async with running(tmp_path, "serve(echo)") as good, trio.open_nursery() as storm:
        for number in range(MANY):
            storm.start_soon(start_again_and_again, number)
        answered = 0
        while ended < 4 * MANY:
            assert await good.call(n=answered) == Answered({"of": {"n": answered}})
            answered += 1
            await trio.lowlevel.checkpoint()
        assert answered > MANY
        assert good.process.ended is None
        assert leaders() == {good.process.identity.pid}


async def test_fifty_providers_that_ignore_everything_end_side_by_side_and_not_one_after_another(
    tmp_path: Path,
) -> None:
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            processes: list[ProviderProcess] = []
            for number in range(MANY):
                spec = spec_of(tmp_path, f"deaf{number}", DEAF)
                processes.append(await open_process(spec, nursery, unheard, log=Lines()))
            began = trio.current_time()
            async with trio.open_nursery() as stops:
                for process in processes:
                    stops.start_soon(process.stop, "over")
            took_s = trio.current_time() - began
    pids = [process.identity.pid for process in processes]
    assert all(process.ended is not None and process.ended.kind is EndKind.FORCED for process in processes)
    assert not [pid for pid in pids if is_alive(pid)]
    assert took_s < MANY * 0.5, "the graces of one after another would take longer"
