"""What a check is given: processes to talk to, what may be bought, and a place for what it finds.

Alone responsible for starting conversations, ending them, and giving back what a check bought.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio
from attrs import evolve

from provider_sdk.contract import PROVIDER_FRAME_BYTES, InitializeResult, ReturnState, Template
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought, Wares
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.process import run_by_hand, start
from provider_sdk.testing.saying import Identity, Params
from provider_sdk.testing.subject import Subject
from provider_sdk.testing.verdict import Broken, Inapplicable, Status
from provider_sdk.testing.watch import Watch

TIDY_S: Final = 60.0


class Stage:
    """One run's processes; `wares` and `templates` are known once the subject was described."""

    def __init__(self, subject: Subject, watch: Watch, identity: Identity, folder: Path, nursery: trio.Nursery) -> None:
        """Take an empty folder for everything the run writes, and the nursery in which processes are read."""
        self.subject = subject
        self.watch = watch
        self.identity = identity
        self.ends_at = trio.current_time() + 3600
        self.templates: dict[str, Template] = {}
        self.provider = "?"
        self.main: Wares | None = None
        self.left_over: set[str] = set()
        self._folder = folder
        self._nursery = nursery
        self._epochs: dict[Path, int] = {}
        self._running: list[Conversation] = []
        self._shared: Conversation | None = None
        self._to_return: dict[Path, set[str]] = {}
        self.credentials = folder / "credentials"
        self.credentials.mkdir(mode=0o700)

    # Processes.

    def fresh_dir(self) -> Path:
        """Return a new, empty, private state folder."""
        path = self._folder / self.identity.fresh("state")
        path.mkdir(mode=0o700)
        return path

    async def start(
        self,
        state_dir: Path | None = None,
        *,
        epoch: int | None = None,
        config: Mapping[str, object] | None = None,
        frame_bytes: int = PROVIDER_FRAME_BYTES,
        loose: bool = False,
    ) -> Conversation:
        """Start a process that nothing was said to, with the next epoch of its state folder if none is named."""
        place = state_dir or self.fresh_dir()
        number = self._epochs.get(place, 0) + 1 if epoch is None else epoch
        self._epochs[place] = max(number, self._epochs.get(place, 0))
        home = self._folder / self.identity.fresh("home")
        home.mkdir(mode=0o700)
        process = await start(self.subject, home, self.credentials, self._nursery)
        self.watch.processes += 1
        conversation = Conversation(
            process,
            self.watch,
            self.identity,
            place,
            number,
            self.subject.config if config is None else config,
            frame_bytes=frame_bytes,
            loose=loose,
        )
        self._running.append(conversation)
        self._nursery.start_soon(conversation.read)
        self._nursery.start_soon(conversation.watch_end)
        return conversation

    async def open(
        self,
        state_dir: Path | None = None,
        *,
        config: Mapping[str, object] | None = None,
        frame_bytes: int = PROVIDER_FRAME_BYTES,
        loose: bool = False,
    ) -> Conversation:
        """Start a process and do the handshake; Broken under the check's first clause if it is refused."""
        conversation = await self.start(state_dir, config=config, frame_bytes=frame_bytes, loose=loose)
        reply = await conversation.greet()
        if not conversation.greeted:
            if reply.error is None:
                reply.result(InitializeResult)
            raise reply.broken(None, "a handshake as before")
        return conversation

    async def started_by_hand(self, terminal: int, within_s: float) -> tuple[int | None, str]:
        """Start the subject with a terminal on stdin and no daemon; return its exit status and what it said."""
        home = self._folder / self.identity.fresh("home")
        home.mkdir(mode=0o700)
        return await run_by_hand(self.subject, home, terminal, within_s)

    async def shared(self) -> Conversation:
        """Return the conversation that checks without a process of their own share; a new one after a crash."""
        if self._shared is None or self._shared.ended:
            self._shared = await self.open()
        return self._shared

    async def end(self, conversation: Conversation) -> None:
        """Kill a process and remember what it has sold."""
        await conversation.process.kill()
        with trio.move_on_after(1):
            while not conversation.ended:
                await conversation.quiet(1)
        self._note(conversation)
        if conversation in self._running:
            self._running.remove(conversation)

    # Buying.

    @property
    def wares(self) -> Wares:
        """Return what is bought again and again."""
        if self.main is None:
            raise Inapplicable("nothing is known that may be bought")
        return self.main

    def may_buy(self) -> tuple[Template, ...]:
        """Return the templates that may be bought: the main one and the others the subject names."""
        named = (self.wares.template.template, *self.subject.others)
        return tuple(self.templates[name] for name in named if name in self.templates)

    def order(self, conversation: Conversation, **changes: object) -> Params:
        """Return the params of a new purchase of the main template."""
        return acting.order(conversation, self.wares, **changes)

    async def buy(self, conversation: Conversation, wares: Wares | None = None, **changes: object) -> Bought:
        """Buy and wait for `made`; Inapplicable if nothing can be bought now."""
        params = acting.order(conversation, wares or self.wares, **changes)
        return await acting.buy(conversation, params, self.subject.settle_s)

    # Findings.

    def kept(self, *clauses: str) -> None:
        """Say that clauses were seen to be kept."""
        for clause in clauses:
            self.watch.say(clause, Status.PASS)

    def measured(self, clause: str, text: str) -> None:
        """Say what was measured where the promise is kept and there is a figure, or more than was promised."""
        self.watch.say(clause, Status.MEASURED, text)

    def passed_over(self, clause: str, reason: str) -> None:
        """Say why nothing can be said of a clause."""
        self.watch.say(clause, Status.SKIPPED, reason)

    # Tidying.

    async def tidy(self, *, everything: bool = False) -> None:
        """End the processes of the last check and give back what it bought; what can't be is left over."""
        for conversation in list(self._running):
            self._note(conversation)
            if everything or conversation is not self._shared:
                await self._return_what_is_left(conversation)
                await self.end(conversation)
        if self._shared is not None and not self._shared.ended and not everything:
            await self._return_what_is_left(self._shared)
        for place in [place for place, ids in self._to_return.items() if ids]:
            await self._return_by_new_process(place)
        self._to_return.clear()

    def _note(self, conversation: Conversation) -> None:
        living = {name for name, each in conversation.instances.items() if each.state not in acting.ENDED}
        self._to_return.setdefault(conversation.state_dir, set()).update(living)
        conversation.instances.clear()

    async def _return_what_is_left(self, conversation: Conversation) -> None:
        ids = self._to_return.get(conversation.state_dir, set())
        if not ids or conversation.ended or not conversation.greeted:
            return
        was_loose, conversation.loose = conversation.loose, True
        try:
            with trio.move_on_after(TIDY_S):
                items = await acting.give_back(conversation, sorted(ids)[:1000], self.subject.settle_s)
                ids -= {each.instance for each in items if each.state is ReturnState.RETURNED}
        except (Broken, Inapplicable):
            self.left_over |= ids
            ids.clear()
        conversation.loose = was_loose

    async def _return_by_new_process(self, place: Path) -> None:
        try:
            conversation = await self.open(place, loose=True)
            await self._return_what_is_left(conversation)
            await self.end(conversation)
        except Broken:
            self.left_over |= self._to_return[place]
        self._to_return.get(place, set()).clear()


def as_wares(template: Template, units: int | None = None) -> Wares:
    """Return a template as something to buy, in its least number of units if none is given."""
    return Wares(evolve(template), units or template.granularity.min_units)
