"""What the log says of processes: one that is left alone or never came up is a warning, and said once."""

import pytest
import trio
from trio.testing import MockClock

from provisioner.core.effects import OpenProvider, StartProcess
from provisioner.core.events import ProcessEnded, ProcessNotSpawned, ProcessSpawned, ProviderNotOpened
from tests.core.play import settings_for
from tests.runtime.engine_world import FaultyLink, engine_on, make_ready
from tests.runtime.scripted_provider import Lines
from tests.virtual_time import pass_s


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that jumps as soon as nothing runs."""
    return MockClock(autojump_threshold=0)


async def test_a_provider_that_keeps_ending_is_quarantined_with_a_warning(autojump_clock: MockClock) -> None:
    log = Lines()
    async with engine_on(FaultyLink("clu", "l-1"), settings_for("east"), log) as (engine, begun):
        for n in range(1, 6):
            assert log.warnings == []
            number = await make_ready(engine, begun, "east")
            await engine.tell(ProcessEnded("east", number, 1, f"crash {n}"))
        await pass_s(60.0)
    assert log.warnings == ["provider_quarantined"]
    (told,) = log.of("provider_quarantined")
    assert (told["provider"], told["reason"]) == ("east", "crash 5")
    assert "900 s" in str(told["then"])
    assert "5 times" in str(told["then"])


async def test_a_provider_that_only_an_operator_can_put_right_is_parked_with_a_warning(
    autojump_clock: MockClock,
) -> None:
    log = Lines()
    async with engine_on(FaultyLink("clu", "l-1"), settings_for("east"), log) as (engine, begun):
        start = await begun.next(StartProcess)
        await engine.tell(ProcessSpawned(start.key, "east", start.number, 4_242, 99, "boot"))
        opening = await begun.next(OpenProvider)
        await engine.tell(ProviderNotOpened(opening.key, "east", start.number, "config", "no such region"))
        await engine.tell(ProcessEnded("east", start.number, 0, "told to"))
        await pass_s(60.0)
    assert log.warnings == ["provider_parked"]
    (told,) = log.of("provider_parked")
    assert "no such region" in str(told["reason"])


async def test_a_provider_that_can_not_be_started_is_a_warning_each_time(autojump_clock: MockClock) -> None:
    log = Lines()
    async with engine_on(FaultyLink("clu", "l-1"), settings_for("east"), log) as (engine, begun):
        for _ in range(2):
            start = await begun.next(StartProcess)
            await engine.tell(ProcessNotSpawned(start.key, "east", start.number, "no such program"))
        with trio.fail_after(100):
            await begun.next(StartProcess)
    assert [told["reason"] for told in log.of("provider_not_started")] == ["no such program"] * 2
    assert log.warnings == ["provider_not_started"] * 2
