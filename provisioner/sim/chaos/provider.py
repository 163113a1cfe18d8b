"""How an honest provider of each kind answers: by the far side's tokens, by a ledger of its own, or by what it sees.

It speaks the core's words instead of frames. It must not know what befalls the frames that carry them, nor when.
"""

from collections.abc import Sequence

from attrs import define, field

from provisioner.core.events import ItemWord, Listed, Report, ReturnWords, SeenInstance, SeenMark
from provisioner.core.facts import RequestFact, ReturnFact
from provisioner.core.model import Kind, Per, Price, Problem, Template
from provisioner.sim.chaos.far_side import FarSide, Thing

HOST_CORES = 4
TEMPLATE = "four"


@define(eq=False)
class Process:
    """One process of a provider: what it works on and remembers; all of it ends with it."""

    number: int
    started_s: float
    is_there: bool = True
    is_stopping: bool = False
    has_input: bool = True
    working_on: set[str] = field(factory=set)
    heard_of: set[str] = field(factory=set)
    told: dict[str, Report] = field(factory=dict)
    returns: dict[str, tuple[str, ...]] = field(factory=dict)


@define(eq=False)
class Behaviour:
    """One provider: the far side it buys from, and the folder that outlives its processes.

    `begun` and `settled` are its ledger by token, written before and after the far-side call; `closed` are tokens
    it has said No to.
    """

    far: FarSide
    begun: set[str] = field(factory=set)
    settled: dict[str, tuple[str, ...]] = field(factory=dict)
    closed: set[str] = field(factory=set)

    @property
    def keeps_ledger(self) -> bool:
        """Whether its own records, written before each far-side call, are whole."""
        return self.far.supplier.promises.token_replay == "at_most_once"

    def templates(self) -> tuple[Template, ...]:
        """The one kind of host it sells."""
        supplier = self.far.supplier
        host = Template(
            template=TEMPLATE,
            kind=Kind.HOST,
            unit="machine",
            units_per_instance=1,
            size=(("cores", HOST_CORES * 1000),),
            max_units=20,
            price=Price(supplier.price_nanos, "USD", Per.HOUR),
            lead_typical_s=10,
            lead_worst_s=40,
        )
        return (host,)

    # --- purchases

    def before_call(self, request: RequestFact, process: Process, now_s: float) -> Report | None:
        """What it answers without a far-side call: what its ledger holds already. None: the call is begun."""
        if not self.keeps_ledger:
            return None
        if request.token in self.closed or request.token in self.begun:
            return self.status(request, process, now_s)
        self.begun.add(request.token)
        return None

    def call(self, request: RequestFact, now_s: float, delay_s: float, *, most: int | None = None) -> None:
        """The far-side call takes effect; `most` limits what the far side has at this moment."""
        self.far.asked[request.token] = request.units
        units = request.units if most is None else min(most, request.units)
        order = self.far.make(request.token, units, now_s, delay_s)
        if self.keeps_ledger:
            order.visible_s = now_s

    def after_call(self, request: RequestFact, process: Process, now_s: float) -> Report:
        """The answer once the call is over and its process lives to tell."""
        made = self.far.orders[request.token].made
        if self.keeps_ledger:
            self.settled[request.token] = tuple(t.id for t in made)
        report = self._report(request, made, now_s, is_final=True)
        process.told[request.token] = report
        return report

    def cancel(self, request: RequestFact, process: Process, now_s: float, *, heeds: bool) -> Report:
        """What it says when asked to make no more (contract v2, CN-1 to CN-3)."""
        token = request.token
        if token in self.far.under_way:
            if not heeds:
                return Report(request.id, token, "pending", poll_after_s=2)
            self.far.give_up(token, now_s)
        return self.status(request, process, now_s)

    def forget(self, tokens: Sequence[str], now_s: float) -> None:
        """It drops its records: a fault of the daemon if a thing under such a token still costs money."""
        for token in tokens:
            living = [t.id for t in self.far.things.values() if t.token == token and t.lives(now_s)]
            if living:
                self.far.wrong.append(f"{token} was to be forgotten while {living} live under it")

    def status(self, request: RequestFact, process: Process, now_s: float) -> Report:
        """What it finds for a token (contract v2, the table below `request_status`)."""
        token = request.token
        if token in process.working_on:
            return Report(request.id, token, "pending", poll_after_s=2)
        match self.far.supplier.promises.token_replay:
            case "exact":
                return self._by_far_side(request, process, now_s)
            case "at_most_once":
                return self._by_ledger(request, now_s)
            case _:
                return self._by_sight(request, process, now_s)

    def _by_far_side(self, request: RequestFact, process: Process, now_s: float) -> Report:
        order = self.far.orders.get(request.token)
        if order is not None and order.visible_s <= now_s:
            return self._report(request, order.made, now_s, is_final=True)
        if request.token in self.far.under_way:
            return Report(request.id, request.token, "pending", poll_after_s=2)
        promises = self.far.supplier.promises
        is_old = now_s - process.started_s > promises.list_delay_s
        is_sure = is_old and request.token not in process.heard_of
        return Report(request.id, request.token, "not_made" if is_sure else "unknown")

    def _by_ledger(self, request: RequestFact, now_s: float) -> Report:
        token = request.token
        if token in self.settled:
            return self._report(request, [self.far.things[i] for i in self.settled[token]], now_s, is_final=True)
        if token in self.begun:
            return self._seen(request, now_s)
        self.closed.add(token)
        return Report(request.id, token, "not_made")

    def _by_sight(self, request: RequestFact, process: Process, now_s: float) -> Report:
        told = process.told.get(request.token)
        if told is not None:
            return self._report(request, self.far.orders[request.token].made, now_s, is_final=True)
        return self._seen(request, now_s)

    def _seen(self, request: RequestFact, now_s: float) -> Report:
        if self.far.supplier.promises.mark_kept != "far_side":
            return Report(request.id, request.token, "unknown")
        seen = self.far.of_token(request.token, now_s)
        return self._report(request, seen, now_s, is_final=len(seen) >= request.units)

    def _report(self, request: RequestFact, made: list[Thing], now_s: float, *, is_final: bool) -> Report:
        for thing in made:
            thing.recorded = True
        missing = request.units - len(made)
        problems = (Problem("no_capacity", units=missing),) if missing and is_final else ()
        outcome = "unknown" if not is_final else "made" if made else "not_made"
        instances = tuple(self.shown(t, now_s) for t in made)
        return Report(request.id, request.token, outcome, instances, problems=problems)

    # --- things

    def shown(self, thing: Thing, now_s: float) -> SeenInstance:
        """One thing as it is told of."""
        marked = self.far.supplier.promises.mark_kept == "far_side"
        state = "gone" if not thing.lives(now_s) else "returning" if thing.leaves_s is not None else "booting"
        if state == "booting" and now_s >= thing.runs_s:
            state = "running"
        return SeenInstance(
            provider_id=thing.id,
            kind=Kind.HOST,
            units=1,
            state=state,
            template=TEMPLATE,
            reason="reclaimed" if thing.reclaimed else "",
            name=f"h-{thing.id}",
            mark=SeenMark(token=thing.token) if marked else None,
        )

    def listed(self, now_s: float) -> tuple[SeenInstance, ...]:
        """Everything its lists show now; `own_records` shows only what it has told of."""
        supplier = self.far.supplier
        found = []
        for thing in self.far.things.values():
            is_known = thing.recorded or supplier.promises.list_covers == "far_side"
            is_shown = thing.lives(now_s) or (supplier.lists_gone and now_s < (thing.leaves_s or 0.0) + 300.0)
            if is_known and is_shown and thing.visible_s <= now_s:
                found.append(self.shown(thing, now_s))
        return tuple(found)

    def named(self, refs: tuple[str, ...], now_s: float) -> tuple[tuple[SeenInstance, ...], tuple[str, ...]]:
        """The present state of some things, and what was not found."""
        seen = [self.far.things[r] for r in refs if r in self.far.things and self.far.things[r].visible_s <= now_s]
        found = [t for t in seen if t.lives(now_s) or self.far.supplier.lists_gone]
        there = {t.id for t in found}
        return tuple(self.shown(t, now_s) for t in found), tuple(r for r in refs if r not in there)

    def was_told(self, outcome: object) -> None:
        """A daemon has this answer: what it names is known by name, on a list only by its mark."""
        match outcome:
            case Report(instances=seen):
                told = seen
            case Listed(instances=seen):
                told = tuple(s for s in seen if s.mark is not None)
            case _:
                told = ()
        for one in told:
            self.far.things[one.provider_id].named = True

    # --- give-backs

    def give_back(self, giveback: ReturnFact, process: Process, now_s: float, takes_s: float) -> ReturnWords:
        """Takes a give-back; things leave within `takes_s`."""
        for item in giveback.items:
            thing = self.far.things.get(item.provider_id)
            if thing is not None and thing.visible_s <= now_s:
                self.far.leave(thing, now_s + takes_s)
        process.returns[giveback.id] = tuple(item.provider_id for item in giveback.items)
        return self._words(process.returns[giveback.id], now_s)

    def give_back_status(self, id: str, process: Process, now_s: float) -> ReturnWords:
        """How a give-back stands; what another process took is not known any more."""
        if id not in process.returns:
            return ReturnWords((), known=False)
        return self._words(process.returns[id], now_s)

    def _words(self, refs: tuple[str, ...], now_s: float) -> ReturnWords:
        return ReturnWords(tuple(self._word(ref, now_s) for ref in refs))

    def _word(self, ref: str, now_s: float) -> ItemWord:
        thing = self.far.things.get(ref)
        if thing is None or thing.visible_s > now_s or thing.leaves_s is None:
            return ItemWord(ref, "not_found", problem=Problem("not_found"))
        if not thing.lives(now_s):
            return ItemWord(ref, "returned", units=0)
        is_observed = self.far.supplier.promises.return_observed
        return ItemWord(ref, "returning" if is_observed else "returned")
