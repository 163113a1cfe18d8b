"""Legal sequences of calls, found by hypothesis: what was said once must hold whatever comes in between.

Alone responsible for the rules of what may follow what. Needs hypothesis, which only the extra `conformance` installs.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from provider_sdk.contract import (
    DescribeResult,
    ErrorClass,
    ForgetResult,
    Outcome,
    PingResult,
    QuoteResult,
    Report,
    ReturnResult,
    ReturnState,
)
from provider_sdk.contract.words import Capability
from provider_sdk.testing import acting
from provider_sdk.testing.acting import Bought
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

STEPS: Final = 12
PURCHASES: Final = 3
RESTARTS: Final = 1
OVER_CRASHES: Final = ("PR-token.replay", "PR-memory.keep_s", "EP-5", "ST-1", "ST-4", "ST-6", "CN-3", "FG-1")
T = TypeVar("T")


class _Daemon:
    """What one sequence has done so far, in calls that the state machine's thread can make."""

    def __init__(self, stage: Stage, conversation: Conversation, found: list[Broken]) -> None:
        self.found = found
        self.stage = stage
        self.conversation = conversation
        self.bought: list[Bought] = []
        self.returned: list[tuple[str, ...]] = []
        self.forgotten: set[str] = set()
        self.restarts = 0
        self.trace: list[str] = []

    @property
    def may_repeat(self) -> bool:
        """Return whether a request may be sent twice to this provider."""
        return self.conversation.promises.token.replay != "none"

    @property
    def may_restart(self) -> bool:
        """Return whether a restart would tell anything new of it."""
        broken = any(self.stage.watch.is_broken(clause) for clause in OVER_CRASHES)
        return bool(self.bought) and self.may_repeat and self.restarts < RESTARTS and not broken

    @property
    def remembered(self) -> list[Bought]:
        """Return the purchases that may still be asked about."""
        return [each for each in self.bought if each.token not in self.forgotten]

    @property
    def givable(self) -> list[Bought]:
        """Return the purchases that can be given back, again too, unless even their names may be dropped by now."""
        return [each for each in self.bought if each.token not in self.forgotten or each.ids not in self.returned]

    @property
    def still_known(self) -> list[tuple[str, ...]]:
        """Return what was given back and is known to have been."""
        dropped = [each.ids for each in self.bought if each.token in self.forgotten]
        return [ids for ids in self.returned if ids not in dropped]

    def declares(self, capability: Capability) -> bool:
        """Return whether there is such a method."""
        return capability in self.conversation.capabilities

    def do(self, step: str, work: Callable[[], Awaitable[T]]) -> T:
        """Run one step in the trio thread; a breach tells the whole sequence."""
        self.trace.append(step)
        try:
            return trio.from_thread.run(work)
        except Broken as found:
            sent = f"{' → '.join(self.trace)}: {found.sent}"
            self.found.append(Broken(found.clause, found.expected, found.came, sent))
            raise

    async def buy(self, quoted: bool = False) -> None:
        """Buy under a new token, perhaps by a quote; no capacity is no breach."""
        terms: dict[str, object] = {}
        if quoted:
            asked = {"template": self.stage.wares.template.template, "units": self.stage.wares.units}
            terms["quote"] = (await self.conversation.call("quote", asked)).result(QuoteResult, "QT-1").quote
        try:
            self.bought.append(await self.stage.buy(self.conversation, None, **terms))
        except Inapplicable:
            self.trace.append("(refused)")

    async def again(self, which: int) -> None:
        """Send a request again."""
        bought = self.bought[which % len(self.bought)]
        reply = await self.conversation.call("request", {**bought.params, **self.conversation.fence()})
        report = reply.result(Report, "RQ-1")
        more = {each.instance for each in report.instances} - {each.instance for each in bought.report.instances}
        if more:
            raise reply.broken("RQ-1", f"the present report ({', '.join(bought.ids)}), no second purchase")

    async def other(self, which: int) -> None:
        """Send other content under a token."""
        bought = self.remembered[which % len(self.remembered)]
        changed = {**bought.params, "units": bought.params["units"] + 1, **self.conversation.fence()}
        (await self.conversation.call("request", changed)).refused("RQ-1", ErrorClass.TOKEN_CONFLICT)

    async def ask(self, which: int) -> None:
        """Ask what became of a purchase; the ledger compares."""
        await acting.status(self.conversation, self.remembered[which % len(self.remembered)].params)

    async def give_back(self, which: int) -> None:
        """Give a purchase back, perhaps a second time."""
        ids = self.givable[which % len(self.givable)].ids
        await acting.give_back(self.conversation, ids, self.stage.subject.settle_s)
        self.returned.append(ids)

    async def give_back_again(self, which: int) -> None:
        """What was returned stays returned."""
        ids = self.still_known[which % len(self.still_known)]
        reply = await self.conversation.call("return", acting.giving(self.conversation, ids))
        for item in reply.result(ReturnResult, "RT-1").items:
            if item.state is not ReturnState.RETURNED:
                raise reply.broken("RT-1", f"{item.instance} returned, as before")

    async def cancel(self, which: int) -> None:
        """Cancel what is made already: it stays made."""
        bought = self.remembered[which % len(self.remembered)]
        names = {name: bought.params[name] for name in ("request_id", "token")}
        reply = await self.conversation.call("cancel", {**names, **self.conversation.fence()})
        if reply.result(Report, "CN-1").outcome is not Outcome.MADE:
            raise reply.broken("CN-1", "made, as before: a cancel undoes nothing")

    async def forget(self, which: int) -> None:
        """Have a final answer forgotten; it is not asked for again."""
        bought = self.remembered[which % len(self.remembered)]
        self.forgotten.add(bought.token)
        self.stage.watch.ledger.forgot(bought.token)
        (await self.conversation.call("forget", {"tokens": [bought.token]})).result(ForgetResult, "FG-1")

    async def restart(self) -> None:
        """Kill the process and start another on its folder, under the next epoch."""
        self.restarts += 1
        place = self.conversation.state_dir
        await self.stage.end(self.conversation)
        self.conversation = await self.stage.open(place)

    async def list_pages(self, limit: int) -> None:
        """List in pages; no instance twice."""
        names = [each.instance for each in (await acting.list_all(self.conversation, limit=limit)).instances]
        if len(set(names)) < len(names):
            raise Broken("LS-4", "each instance once in one pass", ", ".join(names), f"list limit={limit}")

    async def describe(self) -> None:
        """Describe."""
        (await self.conversation.call("describe")).result(DescribeResult)

    async def ping(self) -> None:
        """Ping."""
        (await self.conversation.call("ping")).result(PingResult)

    async def tidy(self) -> None:
        """Give everything back."""
        ids = [each for bought in self.bought for each in bought.ids]
        gone = {each for ids in self.returned for each in ids}
        if set(ids) - gone:
            await acting.give_back(self.conversation, sorted(set(ids) - gone), self.stage.subject.settle_s)


WHICH: Final = some.integers(0, 50)


class _Sequence(RuleBasedStateMachine):
    """One legal sequence."""

    def __init__(self, daemon: _Daemon) -> None:
        super().__init__()
        self.daemon = daemon

    @initialize()
    def first(self) -> None:
        self.daemon.do("request", self.daemon.buy)

    @precondition(lambda self: len(self.daemon.bought) < PURCHASES)
    @rule(quoted=some.booleans())
    def buy(self, quoted: bool) -> None:
        by_quote = quoted and self.daemon.declares(Capability.QUOTE)
        self.daemon.do("request by quote" if by_quote else "request", lambda: self.daemon.buy(by_quote))

    @precondition(lambda self: self.daemon.bought and self.daemon.may_repeat)
    @rule(which=WHICH)
    def again(self, which: int) -> None:
        self.daemon.do("the same request", lambda: self.daemon.again(which))

    @precondition(lambda self: self.daemon.remembered and self.daemon.may_repeat)
    @rule(which=WHICH)
    def other(self, which: int) -> None:
        self.daemon.do("other content", lambda: self.daemon.other(which))

    @precondition(lambda self: self.daemon.remembered and self.daemon.declares(Capability.CANCEL))
    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        self.daemon.do("cancel", lambda: self.daemon.cancel(which))

    @precondition(lambda self: self.daemon.remembered and self.daemon.declares(Capability.FORGET))
    @rule(which=WHICH)
    def forget(self, which: int) -> None:
        self.daemon.do("forget", lambda: self.daemon.forget(which))

    @precondition(lambda self: self.daemon.may_restart)
    @rule()
    def restart(self) -> None:
        self.daemon.do("kill -9, restart", self.daemon.restart)

    @precondition(lambda self: self.daemon.remembered)
    @rule(which=WHICH)
    def ask(self, which: int) -> None:
        self.daemon.do("request_status", lambda: self.daemon.ask(which))

    @precondition(lambda self: self.daemon.givable)
    @rule(which=WHICH)
    def give_back(self, which: int) -> None:
        self.daemon.do("return", lambda: self.daemon.give_back(which))

    @precondition(lambda self: self.daemon.still_known)
    @rule(which=WHICH)
    def give_back_again(self, which: int) -> None:
        self.daemon.do("return again", lambda: self.daemon.give_back_again(which))

    @rule(limit=some.integers(1, 4))
    def list_pages(self, limit: int) -> None:
        self.daemon.do(f"list by {limit}", lambda: self.daemon.list_pages(limit))

    @rule(describe=some.booleans())
    def look(self, describe: bool) -> None:
        step, work = ("describe", self.daemon.describe) if describe else ("ping", self.daemon.ping)
        self.daemon.do(step, work)

    def teardown(self) -> None:
        self.daemon.do("tidy", self.daemon.tidy)
        self.on_end(self.daemon.conversation)

    def on_end(self, conversation: Conversation) -> None:
        """Take the conversation that the next sequence goes on with."""


async def play(stage: Stage, first: Conversation, number: int) -> None:
    """Play so many sequences; raises the first Broken. The same ones each time, so that a failure comes again."""
    found: list[Broken] = []
    conversations = [first]

    class OfThisStage(_Sequence):
        def __init__(self) -> None:
            super().__init__(_Daemon(stage, conversations[-1], found))

        def on_end(self, conversation: Conversation) -> None:
            conversations.append(conversation)

    bounds = settings(
        max_examples=number,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )

    def play_all() -> None:
        run_state_machine_as_test(OfThisStage, settings=bounds)

    try:
        await trio.to_thread.run_sync(play_all)
    except BaseException:
        if found:  # hypothesis plays a failing sequence again, and may tell of the second time only
            raise found[0] from None
        raise
