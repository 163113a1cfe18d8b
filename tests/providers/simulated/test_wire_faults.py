"""Ordered faults of the wire on memory streams; the clock is virtual."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import trio
import trio.testing

from providers.simulated.wire_faults import FaultyInput, FaultyOutput, WireFaults


class Ended(Exception):
    """The process would have ended here, with this code."""


def end(code: int) -> None:
    raise Ended(code)


def frame(method: str, call_id: int, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}).encode() + b"\n"


def answer(call_id: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "result": {}}).encode() + b"\n"


class Wire:
    """Both ends of a faulty wire whose orders came with `initialize`."""

    def __init__(self, *calls: Mapping[str, object], process: Mapping[str, object] | None = None) -> None:
        self.faults = WireFaults(exit_now=end)
        self._to_provider, inner_input = trio.testing.memory_stream_one_way_pair()
        inner_output, self._from_provider = trio.testing.memory_stream_one_way_pair()
        self.input = FaultyInput(inner_input, self.faults)
        self.output = FaultyOutput(inner_output, self.faults)
        self._config = {"faults": {"calls": list(calls), "process": process or {}}, "seed": 3}

    async def greet(self, **changes: object) -> bytes:
        """Send `initialize` and return what reached the provider."""
        params = {"config": self._config, "mode": "check", **changes}
        return await self.arrive(frame("initialize", 1, **params))

    async def arrive(self, *frames: bytes) -> bytes:
        """Send frames and return what reached the provider, b"" if nothing did."""
        await self._to_provider.send_all(b"".join(frames))
        with trio.move_on_after(1):
            return await self.input.receive_some()
        return b""

    async def end_input(self) -> None:
        """Close the daemon's end."""
        await self._to_provider.aclose()

    async def answered(self, *answers: bytes) -> bytes:
        """Answer and return what reached the daemon within a second."""
        for content in answers:
            await self.output.send_all(content)
        got = b""
        with trio.move_on_after(1):
            while True:
                got += await self._from_provider.receive_some()
        return got

    async def next_bytes(self) -> bytes:
        """Wait for what reaches the daemon next."""
        return bytes(await self._from_provider.receive_some())


def rule(do: str, on: str = "request", **more: object) -> Mapping[str, object]:
    return {"on": on, "do": do, **more}


async def test_without_orders_every_byte_passes_as_it_came(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire()
    greeting = await wire.greet()
    assert json.loads(greeting)["method"] == "initialize"
    parts: Sequence[bytes] = (b'{"half', b'": 1}\n\nno json\r\n', "ü\u2028".encode()[:2], b"\xff\n")
    got = b"".join([await wire.arrive(part) for part in parts])
    assert got == b"".join(parts)
    assert await wire.answered(answer(2)) == answer(2)


async def test_orders_that_come_in_pieces_are_understood(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("never_answer"))
    greeting = frame("initialize", 1, config={"faults": {"calls": [rule("never_answer")]}}, mode="check")
    assert await wire.arrive(greeting[:40]) == b""
    assert await wire.arrive(greeting[40:], frame("list", 2)[:10]) == greeting
    assert await wire.arrive(frame("list", 2)[10:], frame("request", 3)) == frame("list", 2)


async def test_the_nth_frame_is_swallowed_and_others_pass(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("never_answer", calls=[2]))
    await wire.greet()
    first, second, third = (frame("request", number) for number in (2, 3, 4))
    assert await wire.arrive(first, second, frame("list", 9), third) == first + frame("list", 9) + third


async def test_an_answer_is_lost_though_the_work_was_done(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("lose_answer", calls=1))
    await wire.greet()
    assert await wire.arrive(frame("request", 2), frame("request", 3)) != b""
    assert await wire.answered(answer(2), answer(3)) == answer(3)


async def test_an_answer_comes_twice(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("answer_twice"))
    await wire.greet()
    await wire.arrive(frame("request", 2))
    assert await wire.answered(answer(2)) == answer(2) * 2


async def test_an_answer_comes_late_and_holds_up_no_other(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("delay_answer", calls=1, **{"for": "1m"}))
    await wire.greet()
    await wire.arrive(frame("request", 2), frame("request", 3))
    began = trio.current_time()
    assert await wire.answered(answer(2), answer(3)) == answer(3)
    assert await wire.next_bytes() == answer(2)
    assert trio.current_time() - began == pytest.approx(60)


async def test_the_process_ends_before_the_work_or_after_it(autojump_clock: trio.testing.MockClock) -> None:
    before = Wire(rule("exit", code=3))
    await before.greet()
    with pytest.raises(Ended, match="3"):
        await before.arrive(frame("request", 2))
    after = Wire(rule("exit", when="after", code=4))
    await after.greet()
    await after.arrive(frame("request", 2))
    with pytest.raises(Ended, match="4"):
        await after.output.send_all(answer(2))
    assert await after.answered() == b""


async def test_the_process_ends_after_a_chosen_byte_of_its_answer(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("cut_answer", bytes=11))
    await wire.greet()
    await wire.arrive(frame("request", 2))
    with pytest.raises(Ended, match="1"):
        await wire.output.send_all(answer(2))
    assert await wire.answered() == answer(2)[:11]


async def test_the_handshake_can_be_struck(autojump_clock: trio.testing.MockClock) -> None:
    with pytest.raises(Ended):
        await Wire(rule("exit", on="initialize")).greet()
    assert await Wire(rule("never_answer", on="initialize")).greet() == b""


async def test_text_stands_between_answers(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(process={"stdout_junk": {"text": "Loading modules", "every": 2}})
    await wire.greet()
    assert await wire.answered(answer(2), answer(3), answer(4)) == answer(2) + answer(
        3
    ) + b"Loading modules\n" + answer(4)


async def test_notifications_are_not_answers(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("lose_answer", on="*"))
    await wire.greet()
    hint = b'{"jsonrpc": "2.0", "method": "changed", "params": {}}\n'
    assert await wire.answered(hint) == hint


async def test_the_end_of_input_is_noticed_late(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(process={"outlive_stdin": "30s"})
    await wire.greet()
    began = trio.current_time()
    await wire.end_input()
    assert wire.faults.wiring().outlives_input()
    assert await wire.input.receive_some() == b""
    assert trio.current_time() - began == pytest.approx(30)


async def test_a_faulty_order_is_left_to_the_handshake(autojump_clock: trio.testing.MockClock) -> None:
    wire = Wire(rule("explode"))
    assert await wire.greet() != b""
    assert wire.faults.orders is None


async def test_counts_of_the_wire_survive_a_restart(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    for reaches in (True, False, True):
        wire = Wire(rule("never_answer", calls=2))
        await wire.greet(state_dir=str(tmp_path / "state"), mode="serve")
        assert bool(await wire.arrive(frame("request", 2))) is reaches


async def test_a_process_that_is_to_crash_does_so_by_itself() -> None:
    ended: list[int] = []
    with trio.fail_after(5):
        wire = Wire(process={"crash_after": "1ms"})
        done = trio.Event()

        def note(code: int) -> None:
            ended.append(code)
            done.set()

        wire.faults.exit_now = note
        await wire.greet()
        await done.wait()
    assert ended == [70]
