import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest
import trio
from trio.testing import MockClock

from provider_sdk.contract import ErrorClass, ListParams, ListResult, PingResult, Problem
from provider_sdk.contract.words import Health
from provider_sdk.errors import ContractError
from provider_sdk.lifespan import OPEN_S, Lifespan
from provider_sdk.provider import Start
from provider_sdk.session import LEAVE_S
from tests.sdk.conversation import conversation, error_class, purchase
from tests.sdk.shop import Gate, Shop


class Living(Shop):
    """A shop whose lifespan is a function of the test."""

    def __init__(self, span: Callable[[Start], Lifespan], **steps: Callable[..., object]) -> None:
        super().__init__(**steps)  # type: ignore[arg-type]
        self.span = span

    def lifespan(self, start: Start) -> Lifespan:
        return self.span(start)


class Diary(list[str]):
    @asynccontextmanager
    async def held(self, start: Start) -> AsyncIterator[None]:
        self.append(f"entered by {start.provider}")
        try:
            yield
        finally:
            self.append("left")


@pytest.fixture
def diary() -> Diary:
    return Diary()


async def test_a_lifespan_is_entered_after_open_before_the_first_call_and_left_after_the_last(
    autojump_clock: MockClock, tmp_path: Path, diary: Diary
) -> None:
    async def note(what: object) -> None:
        diary.append(type(what).__name__)

    async def describe(params: object) -> object:
        diary.append("called")
        raise ContractError(ErrorClass.TRANSIENT)

    async with conversation(Living(diary.held, open=note, describe=describe)) as daemon:
        await daemon.greet(tmp_path)
        assert diary == ["Start", "entered by east"]
        await daemon.call("describe")
        await daemon.end_input()
        assert await daemon.exit() == 0
    assert diary == ["Start", "entered by east", "called", "left"]


async def test_a_plain_context_manager_is_entered_and_left_in_worker_threads(tmp_path: Path) -> None:
    threads: list[str] = []

    @contextmanager
    def held(start: Start) -> Iterator[None]:
        threads.append(threading.current_thread().name)
        yield
        threads.append(threading.current_thread().name)

    async with conversation(Living(held)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.end_input()
        assert await daemon.exit() == 0
    assert len(threads) == 2
    assert all(name.startswith("author: ") for name in threads)


async def test_a_lifespan_that_cannot_be_entered_refuses_the_handshake_in_its_own_words(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    @asynccontextmanager
    async def held(start: Start) -> AsyncIterator[None]:
        if start.provider == "east":
            raise ContractError(ErrorClass.CONFIG, "no such pool")
        yield

    async with conversation(Living(held)) as daemon:
        assert error_class(await daemon.greet(tmp_path)) == "config"
        assert await daemon.exit() == 78


async def test_hs_1_a_lifespan_that_hangs_is_given_up_before_the_handshake_is(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    @asynccontextmanager
    async def held(start: Start) -> AsyncIterator[None]:
        await trio.Event().wait()
        yield

    async with conversation(Living(held)) as daemon:
        begun = trio.current_time()
        assert error_class(await daemon.greet(tmp_path)) == "transient"
        assert trio.current_time() - begun == pytest.approx(OPEN_S)
        assert await daemon.exit() == 1


async def test_background_tasks_of_a_lifespan_run_beside_calls_and_end_with_it(
    autojump_clock: MockClock, tmp_path: Path, diary: Diary
) -> None:
    async def watch(start: Start) -> None:
        start.notify.changed("instances")
        try:
            await trio.sleep_forever()
        finally:
            diary.append("watch ended")

    @asynccontextmanager
    async def held(start: Start) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch, start)
            yield
            nursery.cancel_scope.cancel()

    async with conversation(Living(held)) as daemon:
        await daemon.greet(tmp_path)
        assert (await daemon.next_frame())["method"] == "changed"
        await daemon.end_input()
        assert await daemon.exit() == 0
    assert diary == ["watch ended"]


async def test_a_background_task_that_fails_ends_the_conversation_as_a_crash(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    @asynccontextmanager
    async def held(start: Start) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield

    async def greeted() -> None:
        async with conversation(Living(held)) as daemon:
            await daemon.greet(tmp_path)
            await daemon.exit()

    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True):
        await greeted()


async def test_hs_9_a_lifespan_that_will_not_end_is_cut_off(autojump_clock: MockClock, tmp_path: Path) -> None:
    @asynccontextmanager
    async def held(start: Start) -> AsyncIterator[None]:
        yield
        await trio.sleep_forever()

    async with conversation(Living(held)) as daemon:
        await daemon.greet(tmp_path)
        begun = trio.current_time()
        await daemon.end_input()
        assert await daemon.exit() == 0
        assert trio.current_time() - begun == pytest.approx(LEAVE_S)


async def test_nothing_is_taken_away_under_a_call_that_still_runs_at_the_end(
    autojump_clock: MockClock, tmp_path: Path, diary: Diary
) -> None:
    gate = Gate()

    async def stuck(params: object, call: object) -> object:
        try:
            return await gate.request(params, call)  # type: ignore[arg-type]
        finally:
            diary.append("call cut off")

    async with conversation(Living(diary.held, request=stuck)) as daemon:
        await daemon.greet(tmp_path)
        await daemon.ask("request", purchase())
        await gate.at("tk-1")[0].wait()
        await daemon.end_input()
        await daemon.exit()
    assert sorted(diary[1:]) == ["call cut off", "left"]


class Shy(Living):
    """Shows a credential at every list, and may be refused."""

    def __init__(self) -> None:
        super().__init__(Diary().held)
        self.shown: list[str] = []
        self.problem: Problem | None = None

    async def list_(self, params: ListParams) -> ListResult:
        assert self.start is not None
        self.shown.append(self.start.credentials.get("far.key").reveal())
        self.start.log.info("shown", key=self.shown[-1])
        if self.problem is None:
            raise ContractError(ErrorClass.AUTH)
        return ListResult((), 0, complete=False, problems=(self.problem,))

    async def ping(self) -> PingResult:
        return PingResult(Health.DOWN, self.problem)


@pytest.mark.parametrize("said_by", ["error", "problem", "ping"])
async def test_sc_1_credentials_are_read_again_once_a_method_has_said_auth(
    autojump_clock: MockClock, tmp_path: Path, said_by: str
) -> None:
    (tmp_path / "far.key").write_text("old-secret")
    shop = Shy()
    if said_by != "error":
        shop.problem = Problem(ErrorClass.AUTH if said_by == "problem" else ErrorClass.QUOTA)
    async with conversation(shop) as daemon:
        await daemon.greet(tmp_path / "state", credentials_dir=str(tmp_path))
        await daemon.call("list")
        (tmp_path / "far.key").write_text("new-secret")
        if said_by == "ping":
            await daemon.call("list")
            shop.problem = Problem(ErrorClass.AUTH)
            await daemon.call("ping")
        await daemon.call("list")
    assert shop.shown == (["old-secret", "new-secret"] if said_by != "ping" else ["old-secret"] * 2 + ["new-secret"])
    assert "secret>" in "".join(daemon.logged)
    assert "old-secret" not in "".join(daemon.logged)


async def test_hs_4_a_section_is_checked_against_the_providers_own_schema_before_open(
    autojump_clock: MockClock, tmp_path: Path
) -> None:
    class Strict(Shop):
        config_schema = MappingProxyType(
            {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}
        )

    shop = Strict()
    async with conversation(shop) as daemon:
        answer = await daemon.greet(tmp_path, config={"size": "3", "colour": "red"})
        assert answer["error"]["data"]["faults"] == [
            {"path": "/colour", "detail": "is not known; known are size"},
            {"path": "/size", "detail": "must be a whole number"},
        ]
        assert await daemon.exit() == 78
    assert shop.start is None
