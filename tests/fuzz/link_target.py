"""A hostile provider before the daemon's whole runtime: supervised process, pipes, deadlines, pages and the core's
decisions, in virtual time.

The process is one in memory that says what a script of bytes tells: one line after another; `!await` waits for the
daemon's next frame, `!pass N` lets seconds pass, `!room N` sets how much of the daemon's frames the pipe still takes.
"@METHOD" is the id of the last call of that method, @rq and @token name the purchase asked for last.
"""

import json
import re
from collections import Counter
from typing import Any

import trio
import trio.testing

from provisioner.core.effects import Effect, StartProcess, StopProcess
from provisioner.core.events import Event, Moment, ProcessSpawned
from provisioner.core.invariants import violations
from provisioner.core.owed import owed_in_any_case, record_of
from provisioner.core.request import OPEN
from provisioner.core.world import World
from provisioner.edge.to_provider import Folders
from provisioner.runtime.provider_link import ProviderLink
from provisioner.runtime.supervisor import ProviderProcess
from tests.core.play import Play, cores, settings_for
from tests.fuzz import judge
from tests.fuzz.daemon_side import PROVIDER, WHO
from tests.fuzz.judge import Bought
from tests.fuzz.oracle import check, run_the_same
from tests.runtime.scripted_provider import Lines, MemoryChild
from tests.virtual_time import pass_s

LASTS_S = 240.0
ENDS_WITHIN_S = 60.0
TICK_S = 20.0
STARTS_MOST = 3
AWAIT_S = 3.0
CALLS_MOST = 20_000
EVENTS_MOST = 50_000


class Stage:
    """A daemon's engine without a store, and the far end of its one provider's pipes."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.log = Lines()
        self.play = Play(settings_for(PROVIDER))
        self.play.supply(revision=1)
        self.play.demand(cores(3), revision=2)
        self.before = self.play.world
        self.began_s = self.play.now_s - trio.current_time()
        self.nursery = nursery
        self.link = ProviderLink(
            self.play.settings.providers[PROVIDER], WHO, Folders("/s", "/r"), self, nursery, self.log
        )
        self.processes: list[ProviderProcess] = []
        self.child: MemoryChild | None = None
        self.calls: dict[int, str] = {}
        self.last: dict[str, int] = {}
        self.asked: dict[str, Any] = {}
        self.framed = trio.Event()
        self.said = bytearray()
        self.begun: Counter[object] = Counter()
        self.told: Counter[object] = Counter()
        self.events = 0

    # --- what a provider link needs of the engine

    def world(self) -> World | None:
        return self.play.world

    def moment(self) -> Moment:
        self._now()
        return self.play.moment()

    def is_owed(self, effect: Effect) -> bool:
        found = owed_in_any_case(self.play.world, record_of(effect), self.moment(), self.play.settings)
        return effect in found.effects

    async def tell(self, event: Event) -> None:
        await trio.lowlevel.checkpoint()
        self.events += 1
        check(self.events <= EVENTS_MOST, "events without an end")
        key = getattr(event, "key", None)
        self.told[key] += key is not None
        self._now()
        self.play.event(event)
        self.begin_owed()

    def _now(self) -> None:
        self.play.now_s = self.began_s + trio.current_time()

    def begin_owed(self) -> None:
        effects, self.play.effects = self.play.effects, {}
        for effect in effects.values():
            if isinstance(effect, StartProcess):
                self.nursery.start_soon(self._start, effect)
            else:
                self.begun[effect.key] += not isinstance(effect, StopProcess)
                self.link.begin(effect)

    async def tick(self) -> None:
        while True:
            await pass_s(TICK_S)
            self.play.pass_s(0)
            self.begin_owed()

    # --- the process in memory

    async def _start(self, effect: StartProcess) -> None:
        if len(self.processes) >= STARTS_MOST:
            return
        seat, child = self.link._seat, MemoryChild()
        seat._number = effect.number
        process = ProviderProcess(seat._spec(effect), child, seat._reporter(effect.number), self.log)
        await self.nursery.start(process.run)
        seat._process = process
        self.processes.append(process)
        self.child, self.calls, self.last = child, {}, {}
        self.nursery.start_soon(self._read, child)
        await self.tell(
            ProcessSpawned(effect.key, PROVIDER, effect.number, child.pid, child.start_ticks, child.boot_id)
        )

    async def _read(self, child: MemoryChild) -> None:
        while (text := await child.stdin.read_line()) is not None:
            message = json.loads(text)
            if "id" in message and "method" in message:
                self._called(message["id"], message["method"], message["params"])
            framed, self.framed = self.framed, trio.Event()
            framed.set()

    def _called(self, call_id: int, method: str, params: dict[str, Any]) -> None:
        check(len(self.calls) < CALLS_MOST, "calls without an end")
        check(call_id not in self.calls, "an id was used twice")
        self.calls[call_id] = method
        self.last[method] = call_id
        items = params.get("requests", [params])
        self.asked = items[0] if "token" in items[0] else self.asked

    async def play_script(self, script: bytes) -> None:
        for text in script.split(b"\n"):
            await trio.testing.wait_all_tasks_blocked()
            if text.startswith(b"!"):
                await self._direct(text)
            elif self.child is not None:
                await self._say(self.child, text + b"\n")

    async def _direct(self, text: bytes) -> None:
        figures = re.findall(rb"\d{1,5}", text)
        figure = int(figures[0]) if figures else 0
        if text.startswith(b"!await"):
            with trio.move_on_after(AWAIT_S):
                await self.framed.wait()
        elif text.startswith(b"!pass"):
            await pass_s(min(figure, 100))
        elif text.startswith(b"!room") and self.child is not None:
            self.child.stdin.room = figure
            self.child.stdin._change()

    async def _say(self, child: MemoryChild, text: bytes) -> None:
        for method, call_id in self.last.items():
            text = text.replace(b'"@%s"' % method.encode(), str(call_id).encode())
        for name, field in ((b"@rq", "request_id"), (b"@token", "token")):
            text = text.replace(name, str(self.asked.get(field, "none")).encode())
        self.said += text
        try:
            await child.out.send_all(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return


def run_link(scene: str, data: bytes) -> None:
    """Plays the script of these bytes against the whole runtime, ends it in order, and looks."""
    run_the_same(_play, data)


async def _play(data: bytes) -> None:
    stage = None
    with trio.move_on_after(2 * LASTS_S + ENDS_WITHIN_S) as bound:
        async with trio.open_nursery() as nursery:
            stage = Stage(nursery)
            stage.begin_owed()
            ticker = trio.CancelScope()
            nursery.start_soon(_ticking, stage, ticker)
            with trio.move_on_after(LASTS_S):
                await stage.play_script(data)
            ticker.cancel()
            began_s = trio.current_time()
            await stage.link.end("the case is over")
            check(trio.current_time() - began_s <= ENDS_WITHIN_S, "the process did not end in time")
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    check(not bound.cancelled_caught, "it does not end")
    assert stage is not None
    _look(stage)


async def _ticking(stage: Stage, scope: trio.CancelScope) -> None:
    with scope:
        await stage.tick()


def _look(stage: Stage) -> None:
    play = stage.play
    found = violations(play.world, play.moment(), play.settings, stage.before)
    check(not found, "; ".join(f"{v.id}: {v.sentence}" for v in found[:3]))
    for process in stage.processes:
        check(process.ended is not None, "a process has no end")
        check(all(call.is_settled for call in process._conversation._open.values()), "an open call has no outcome")
        check(len(process._conversation.peer._forgotten) <= 1024, "forgotten calls pile up")
    wrong = {key: stage.told[key] - n for key, n in stage.begun.items() if stage.told[key] != n}
    check(not wrong, f"effects begun and outcomes told differ: {wrong}")
    words = judge.heard(bytes(stage.said))
    every = {message["id"]: "request" for message in words.messages if type(message.get("id")) is int}
    asked = {**every, **{k: "request_status" for k, v in stage.calls.items() if v == "request_status"}}
    for id, request in play.world.requests.items():
        if request.state not in OPEN and request.frames:
            allowed = judge.may_be_settled(words, Bought(id, request.token, request.units), asked)
            allowed |= {"not_made", "short"} if any(judge.lists_all(m) for m in words.messages) else set()
            check(request.state.value in allowed, f"{id} was settled as {request.state}, at the most {sorted(allowed)}")
    for instance in play.world.instances.values():
        check(judge.names(words, instance.provider_id), f"{instance.provider_id} is from nowhere")


# --- scripts


def scripts() -> tuple[bytes, ...]:
    """What an honest provider does, and what a bad one is known to do, as scripts."""
    from tests.fuzz.honest import ERRORS, HONEST, LISTS, REPORTS, hints, line  # noqa: PLC0415

    def said(method: str, result: object) -> bytes:
        return line({"jsonrpc": "2.0", "id": f"@{method}", "result": result})

    def failed(method: str, error: object) -> bytes:
        return line({"jsonrpc": "2.0", "id": f"@{method}", "error": error})

    def on(report: Any) -> Any:
        return {**report, "request_id": "@rq", "token": "@token"}

    opened = b"!await\n" + said("initialize", HONEST["initialize"]) + b"!await\n"
    ready = opened + said("describe", HONEST["describe"]) + said("list", HONEST["list"]) + b"!await\n"
    bought = ready + said("request", on(REPORTS[5]))
    asked = b"!pass 70\n" + said("request_status", {"requests": [on(REPORTS[2])]})
    early = opened.replace(b"{", b"!room 0\n{", 1)
    forged = b"".join(line({"jsonrpc": "2.0", "id": n, "result": {}}) for n in range(1, 9))
    return (
        bought,
        bought + said("ping", HONEST["ping"]) + b"!pass 60\n" + said("ping", HONEST["ping"]),
        bought + bought.replace(b"!await\n", b""),
        ready + b"!pass 100\n" + said("request", on(REPORTS[5])) + asked,
        ready + b"!pass 60\n" + b"".join(hints()) + asked,
        early + forged + b"!room 65536\n!pass 30\n" + asked,
        early + forged + b"!pass 100\n" + asked,
        forged + bought + forged,
        b"!room 40\n" + bought + b"!pass 90\n!room 65536\n" + asked,
        *(ready + said("request", on(report)) + asked for report in REPORTS),
        *(ready + failed("request", error) + b"!pass 20\n" + asked for error in ERRORS),
        *(
            bought + b"!pass 90\n" + said("list", listed) + b"!await\n" + said("list", HONEST["list"])
            for listed in LISTS
        ),
        *(b"!await\n" + failed("initialize", error) + b"!pass 30\n" + opened for error in ERRORS),
        b"!pass 100\n" * 2,
        b"junk\n" * 25 + opened,
    )
