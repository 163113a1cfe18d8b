"""Ordered faults of the wire: frames swallowed, answers lost, late, doubled or cut, and the process ended in between.

Stands between the descriptors and the SDK. Knows frames as lines with an id and a method; must not know what a call
means. Without ordered faults it steps aside after the first frame and costs nothing.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson
import trio
from attrs import define, field, frozen

from provider_sdk.serve import Wiring
from providers.simulated.far_faults import CallCounter
from providers.simulated.fault_orders import read_faults
from providers.simulated.faults import FaultPlan, Rule, strikes
from providers.simulated.misbehaviour import misbehave
from providers.simulated.reading import Fault, Section

_READ_BYTES = 65_536


@frozen
class Orders:
    """What was ordered in the configuration that came with `initialize`."""

    plan: FaultPlan
    seed: int
    counter: CallCounter

    def strike(self, method: str) -> tuple[Rule, ...]:
        """Count this call and return the rules that strike it."""
        rules = self.plan.wire(method)
        if not rules:
            return ()
        number = self.counter.next(method)
        return tuple(rule for order, rule in enumerate(rules) if strikes(rule, number, self.seed, order))


@define
class WireFaults:
    """The two ends of the wire and what is to happen on it; `exit_now` ends the process without clean-up."""

    exit_now: Callable[[int], None] = os._exit
    orders: Orders | None = None
    armed: dict[object, tuple[Rule, ...]] = field(factory=dict)
    output_fd: int | None = None

    def wiring(self) -> Wiring:
        """Return what `serve` puts between the descriptors and the conversation."""
        return Wiring(input=lambda stream: FaultyInput(stream, self), output=self._wrap, outlives_input=self._outlives)

    def _wrap(self, stream: trio.abc.SendStream) -> trio.abc.SendStream:
        fileno = getattr(stream, "fileno", None)
        self.output_fd = None if fileno is None else fileno()
        return FaultyOutput(stream, self)

    def _outlives(self) -> bool:
        return self.orders is not None and self.orders.plan.process.outlive_stdin_s > 0

    def take_first(self, frame: Mapping[str, object]) -> None:
        """Read the orders from the first frame, and begin to misbehave as a process if that was ordered."""
        params = frame.get("params")
        config = params.get("config") if isinstance(params, Mapping) else None
        if frame.get("method") != "initialize" or not isinstance(params, Mapping) or not isinstance(config, Mapping):
            return
        faults: list[Fault] = []
        ordered = config.get("faults")
        values = ordered if isinstance(ordered, Mapping) else {}
        plan = read_faults(Section(values, "/faults", faults), Section({}, "/failures", faults))
        if faults or not (plan.process.any or any(rule.on_wire for rule in plan.rules)):
            return  # a faulty section is refused by `open`, with every fault
        seed, folder = config.get("seed"), params.get("state_dir")
        keeps = isinstance(folder, str) and params.get("mode") == "serve"
        counter = CallCounter(Path(str(folder)) / "wire-calls.json" if keeps else None)
        self.orders = Orders(plan, seed if isinstance(seed, int) else 0, counter)
        misbehave(plan.process, self.output_fd, self.exit_now)

    def passes(self, line: bytes) -> bool:
        """Note an arriving frame; False if it is swallowed."""
        frame = _object(line)
        if self.orders is None or "method" not in frame:
            return True
        struck = self.orders.strike(str(frame["method"]))
        for rule in struck:
            if rule.do == "exit" and rule.when == "before":
                self.exit_now(rule.code)
        if struck and "id" in frame:
            self.armed[frame["id"]] = struck
        return not any(rule.do == "never_answer" for rule in struck)


class FaultyInput(trio.abc.ReceiveStream):
    """Hands on what arrives, without the frames that are swallowed."""

    def __init__(self, inner: trio.abc.ReceiveStream, faults: WireFaults) -> None:
        self._inner = inner
        self._faults = faults
        self._partial = b""
        self._greeted = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return bytes of frames that pass, b"" at the end of input (later, if the process is to outlive it)."""
        while True:
            data = bytes(await self._inner.receive_some(_READ_BYTES))
            if not data:
                await self._linger()
                return self._handed_on()
            passed = self._sift(data)
            if passed:
                return passed

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def _sift(self, data: bytes) -> bytes:
        if self._greeted and self._faults.orders is None:
            return self._handed_on() + data
        *lines, self._partial = (self._partial + data).split(b"\n")
        passed = []
        for line in lines:
            if not self._greeted and line.strip():
                self._greeted = True
                self._faults.take_first(_object(line))
            if self._faults.passes(line):
                passed.append(line + b"\n")
        if self._greeted and self._faults.orders is None:
            passed.append(self._handed_on())
        return b"".join(passed)

    def _handed_on(self) -> bytes:
        rest, self._partial = self._partial, b""
        return rest

    async def _linger(self) -> None:
        if self._faults.orders is not None:
            await trio.sleep(self._faults.orders.plan.process.outlive_stdin_s)


class FaultyOutput(trio.abc.SendStream):
    """Writes answers as ordered; each call carries whole frames, as the SDK writes them."""

    def __init__(self, inner: trio.abc.SendStream, faults: WireFaults) -> None:
        self._inner = inner
        self._faults = faults
        self._turn = trio.Lock()
        self._answers = 0

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Write one frame, or do to it what was ordered."""
        if self._faults.orders is None:
            await self._inner.send_all(data)
            return
        content = bytes(data)
        frame = _object(content)
        if "method" in frame:
            await self._write(content)
            return
        struck = self._faults.armed.pop(frame.get("id"), ())
        await self._answer(content, {rule.do: rule for rule in reversed(struck)})
        await self._add_junk(self._faults.orders.plan)

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until the pipe has room."""
        await self._inner.wait_send_all_might_not_block()

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    async def _answer(self, content: bytes, struck: Mapping[str, Rule]) -> None:
        if "exit" in struck:
            self._faults.exit_now(struck["exit"].code)
        if "lose_answer" in struck:
            return
        if "cut_answer" in struck:
            await self._write(content[: struck["cut_answer"].bytes])
            self._faults.exit_now(struck["cut_answer"].code)
        copies = 2 if "answer_twice" in struck else 1
        if "delay_answer" in struck:
            trio.lowlevel.spawn_system_task(self._write_later, content * copies, struck["delay_answer"].for_ms / 1000)
            return
        await self._write(content * copies)

    async def _write_later(self, content: bytes, after_s: float) -> None:
        await trio.sleep(after_s)
        try:
            await self._write(content)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return  # nobody waits for it any more

    async def _write(self, content: bytes) -> None:
        async with self._turn:
            await self._inner.send_all(content)

    async def _add_junk(self, plan: FaultPlan) -> None:
        self._answers += 1
        if plan.process.stdout_junk is not None and self._answers % plan.process.stdout_junk_every == 0:
            await self._write(plan.process.stdout_junk.encode() + b"\n")


def _object(line: bytes) -> dict[str, object]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
