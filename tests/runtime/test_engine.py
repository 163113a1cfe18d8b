"""The engine records before it acts, keeps what a refused commit held, and starts as it goes on."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from provisioner.core.capabilities import EXTEND
from provisioner.core.effects import AskRequest, ExtendInstances, ReadList, SendRequest, StartProcess
from provisioner.core.events import DemandPushed, HealthSeen, ReadFailed, Refusal, RequestAnswered, SupplyPushed
from provisioner.core.evolve import Accepted
from provisioner.core.model import Problem
from provisioner.core.request import RequestState
from provisioner.edge.fact_codec import decode_fact
from provisioner.runtime.engine import Engine, FactsUnwritable
from provisioner.runtime.links.link import Refused
from provisioner.runtime.links.memory import MemoryLink
from tests.core.play import cores, machine, report, settings_for
from tests.runtime.engine_world import FaultyLink, engine_on, make_ready
from tests.virtual_time import pass_s

FULL = Refused("disk_full", (), "the disk is full")


@pytest.fixture
def autojump_clock() -> MockClock:
    """Virtual time that jumps as soon as nothing runs."""
    return MockClock(autojump_threshold=0)


async def lack(engine: Engine, count: int, revision: int) -> None:
    """A source says that it has nothing and lacks so many cores."""
    await engine.push(SupplyPushed("lsf", 0, revision, ()))
    await engine.push(DemandPushed("lsf", 0, revision + 1, revision, (cores(count),)))


async def stored(link: MemoryLink, kind: str) -> list[object]:
    """The facts of one kind as they are in the store."""
    return [decode_fact(r.kind, r.id, r.value)[1] for r in (await link.load()).records if r.kind == kind]


async def test_a_purchase_is_durable_as_being_sent_before_its_frame_is_begun(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await lack(engine, 3, 1)
        effect = await begun.next(SendRequest)
        (request,) = await stored(link, "request")
        assert (request.id, request.state) == (effect.request, RequestState.SENDING)  # type: ignore[attr-defined]
        assert engine.is_owed(effect)


async def test_a_push_is_answered_after_its_commit(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, _):
        (reply,) = await engine.push(DemandPushed("lsf", 0, 7, None, (cores(1),)))
        assert isinstance(reply, Accepted)
        assert reply.news
        assert len(await stored(link, "demand")) == 1


async def test_with_a_full_disk_pushes_are_refused_nothing_is_bought_and_work_resumes_by_itself(
    autojump_clock: MockClock,
) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await engine.push(SupplyPushed("lsf", 0, 1, ()))
        link.faults = [FULL] * 5
        with pytest.raises(FactsUnwritable, match="disk is full"):
            await engine.push(DemandPushed("lsf", 0, 2, 1, (cores(3),)))
        assert engine.writable() is not None
        assert not any(isinstance(e, SendRequest) for e in begun.effects)
        await pass_s(30)
        assert engine.writable() is None
        await engine.push(DemandPushed("lsf", 0, 2, 1, (cores(3),)))
        await begun.next(SendRequest)


async def test_an_outcome_that_came_while_the_disk_was_full_is_not_dropped(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await lack(engine, 3, 1)
        effect = await begun.next(SendRequest)
        world = engine.world()
        assert world is not None
        link.faults = [FULL] * 3
        made = report(world.requests[effect.request], "made", machine("i-1"))
        await engine.tell(RequestAnswered(effect.key, "east", effect.number, effect.request, made))
        await pass_s(1)
        assert not await stored(link, "instance")
        await pass_s(10)
        assert len(await stored(link, "instance")) == 1


@pytest.mark.parametrize("truth", ["landed", "lost"])
async def test_after_an_unknown_commit_the_facts_are_read_again_and_nothing_is_bought_twice(
    autojump_clock: MockClock, truth: str
) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await engine.push(SupplyPushed("lsf", 0, 1, ()))
        link.faults = [truth]
        with pytest.raises(FactsUnwritable):
            await engine.push(DemandPushed("lsf", 0, 2, 1, (cores(3),)))
        await pass_s(5)
        await engine.push(DemandPushed("lsf", 0, 2, 1, (cores(3),)))
        await pass_s(5)
        requests = await stored(link, "request")
        assert len([r for r in requests if r.state is not RequestState.CANCELLED]) == 1  # type: ignore[attr-defined]


async def test_the_next_engine_finds_what_the_last_one_left_and_asks_before_it_buys(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await lack(engine, 3, 1)
        first = await begun.next(SendRequest)
    async with engine_on(link, settings_for("east")) as (engine, begun):
        start = begun.effects[0]
        assert isinstance(start, StartProcess)
        assert start.epoch == 2
        await make_ready(engine, begun, "east")
        ask = await begun.next(AskRequest)
        assert ask.request == first.request
        await lack(engine, 3, 3)
        await pass_s(2)
        assert not any(isinstance(e, SendRequest) for e in begun.effects)


async def test_the_end_of_a_host_that_runs_since_an_earlier_daemon_is_put_off_in_time(
    autojump_clock: MockClock,
) -> None:
    link = FaultyLink("clu", "l-1")
    settings = settings_for("east", idle_time_s=1e6)
    async with engine_on(link, settings) as (engine, begun):
        await make_ready(engine, begun, "east", capabilities=(EXTEND,))
        await lack(engine, 3, 1)
        send = await begun.next(SendRequest)
        world = engine.world()
        assert world is not None
        host = machine("i-1", "running", expires_at=engine.moment().at + 3_000.0)
        made = report(world.requests[send.request], "made", host)
        await engine.tell(RequestAnswered(send.key, "east", send.number, send.request, made))
        await pass_s(1)
        (instance,) = await stored(link, "instance")
    async with engine_on(link, settings) as (engine, begun):
        await make_ready(engine, begun, "east", host, capabilities=(EXTEND,))
        await pass_s(2_500)
        (effect,) = [e for e in begun.effects if isinstance(e, ExtendInstances)]
        assert [item.instance for item in effect.items] == [instance.id]  # type: ignore[attr-defined]


async def test_a_full_queue_makes_the_teller_wait_and_loses_nothing(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, _):
        async with trio.open_nursery() as nursery:
            for n in range(3_000):
                nursery.start_soon(engine.push, DemandPushed(f"s{n % 50}", n // 50, 1, None, (cores(1),)))
        world = engine.world()
        assert world is not None
        assert {d.incarnation for d in world.demands.values()} == {59}


def turns_since(engine: Engine, seed: str) -> int:
    """Moments taken since the one with this seed, which was the last."""
    return int(engine.moment().seed.removeprefix("seed-")) - int(seed.removeprefix("seed-")) - 1


async def test_a_ping_that_says_nothing_new_is_not_decided_and_one_that_does_is(autojump_clock: MockClock) -> None:
    async with engine_on(MemoryLink("clu", "l-1"), settings_for("east")) as (engine, begun):
        number = await make_ready(engine, begun, "east")
        await pass_s(5)
        before = engine.moment().seed
        await engine.tell(HealthSeen("east", number, "ok"))
        await engine.tell(HealthSeen("east", number - 1, "down"))
        await wait_all_tasks_blocked()
        assert turns_since(engine, before) == 0
        await engine.tell(HealthSeen("east", number, "degraded"))
        await wait_all_tasks_blocked()
        assert health_of(engine) == ("degraded", None)
        assert turns_since(engine, before) > 0


async def test_a_ping_behind_other_news_is_decided_after_it(autojump_clock: MockClock) -> None:
    link = FaultyLink("clu", "l-1")
    async with engine_on(link, settings_for("east")) as (engine, begun):
        number = await make_ready(engine, begun, "east")
        listed = await begun.next(ReadList)
        link.faults = [FULL]
        with pytest.raises(FactsUnwritable):
            await engine.push(SupplyPushed("lsf", 0, 1, ()))
        await engine.tell(ReadFailed(listed.key, "east", number, "list", Refusal(Problem("transient"), not_made=False)))
        await engine.tell(HealthSeen("east", number, "ok"))
        assert health_of(engine) == ("ok", None)
        await pass_s(3)
        assert health_of(engine) == ("ok", None), "the far side is well again, as the later word says"


def health_of(engine: Engine) -> tuple[str, Problem | None]:
    """What is known of the far side of east."""
    world = engine.world()
    assert world is not None
    view = world.seen.processes["east"]
    return view.health, view.problem


async def test_what_processes_have_to_do_in_a_while_is_done_together_at_a_whole_second(
    autojump_clock: MockClock,
) -> None:
    async with engine_on(MemoryLink("clu", "l-1"), settings_for("east", "west")) as (engine, begun):
        await make_ready(engine, begun, "east")
        await pass_s(0.3)
        await make_ready(engine, begun, "west")
        reads = [await begun.next(ReadList), await begun.next(ReadList)]
        assert {read.provider for read in reads} == {"east", "west"}
        assert trio.current_time() == pytest.approx(61, abs=0.05)
