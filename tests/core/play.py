"""The engine's loop without a store and without time of its own, so that scenarios read as what happened and what is
owed then."""

from collections.abc import Iterable
from typing import TypeVar

from attrs import evolve

from provisioner.core import decide
from provisioner.core.effects import (
    Effect,
    EffectKey,
    OpenProvider,
    ReadDescription,
    ReadList,
    SendRequest,
    StartProcess,
)
from provisioner.core.events import (
    CameDue,
    DaemonStarted,
    DemandPushed,
    Described,
    Event,
    Listed,
    Moment,
    PlanningDue,
    ProcessEnded,
    ProcessSpawned,
    ProviderOpened,
    Report,
    SeenInstance,
    SeenMark,
    SupplyPushed,
)
from provisioner.core.evolve import Reply
from provisioner.core.facts import FactKind, InstanceFact, Key, RequestFact
from provisioner.core.model import Kind, Line, Per, Price, Promises, Template
from provisioner.core.owed import owed
from provisioner.core.planner import planning_at
from provisioner.core.settings import PolicySettings, ProviderSettings, Reclaim, Settings, SqliteController
from provisioner.core.world import Seen, World

E = TypeVar("E")

TRUSTED = Promises(
    token_replay="exact",
    token_lifetime_s=86_400,
    mark_kept="far_side",
    list_covers="far_side",
    list_delay_s=10,
    memory_where="far_side",
    in_flight=8,
    late_effect_s=5,
    return_observed=True,
)
HOST = Template(
    template="small",
    kind=Kind.HOST,
    unit="machine",
    units_per_instance=1,
    size=(("cores", 4_000),),
    max_units=100,
    price=Price(1_000_000_000, "USD", Per.HOUR),
    lead_typical_s=30,
    lead_worst_s=60,
)


def settings_for(*providers: str, idle_time_s: float = 600.0) -> Settings:
    """Settings with these providers and nothing else out of the ordinary."""
    return Settings(
        cluster="clu",
        controller=SqliteController(path="/nowhere/facts.db"),
        policy=PolicySettings(min_interval_s=0.0, reclaim=Reclaim(idle_time_s=idle_time_s)),
        providers={p: ProviderSettings(name=p, command=("provider",)) for p in providers},
    )


def cores(count: int, *, id: str = "queue") -> Line:
    """A line that lacks so many single cores."""
    return Line(id=id, kind=Kind.HOST, count=count, each=(("cores", 1_000),))


class Play:
    """One daemon's decisions over a made-up time; `effects` are those begun and not yet answered."""

    def __init__(self, settings: Settings, world: World | None = None) -> None:
        self.settings = settings
        self.world = world if world is not None else World("clu", "l-test")
        self.now_s = 1_000.0
        self.started_at = 1_900_000_000.0
        self.count = 0
        self.effects: dict[EffectKey, Effect] = {}
        self.replies: list[Reply] = []
        self.event(DaemonStarted("me"), plan=False)
        self.settle(self._everything())

    def moment(self) -> Moment:
        """Now, with a seed that was never used."""
        self.count += 1
        return Moment(self.started_at + self.now_s, self.now_s, f"s{self.count}")

    def restarted(self) -> "Play":
        """The next daemon on the same facts: nothing that was only observed is known any more."""
        again = type(self).__new__(type(self))
        again.__dict__.update(self.__dict__)
        again.effects = {}
        again.world = evolve(self.world, seen=Seen())
        again.event(DaemonStarted("me again"), plan=False)
        again.settle(again._everything())
        return again

    def event(self, event: Event, *, plan: bool = True) -> None:
        """Decides one event, commits it, and lets everything it touches take its steps."""
        due = self._decide(event)
        self.settle(due, plan=plan)

    def pass_s(self, seconds: float) -> None:
        """Lets time pass and looks at everything again."""
        self.now_s += seconds
        self.settle(self._everything())

    def settle(self, keys: Iterable[Key], *, plan: bool = True) -> None:
        """Steps and effects until nothing moves by itself."""
        due = dict.fromkeys(keys)
        for _ in range(50):
            if plan and planning_at(self.world, self.settings) <= self.now_s:
                due |= dict.fromkeys(self._decide(PlanningDue()))
            moved = self._decide(CameDue(tuple(due))) if due else []
            for key in (*due, *moved):
                self._begin(key)
            due = dict.fromkeys(k for k in moved if k not in due) | dict.fromkeys(
                k for k in moved if k.kind is FactKind.WISH
            )
            if not due:
                return
        raise AssertionError("it does not settle")

    def _decide(self, event: Event) -> list[Key]:
        draft = decide.decided(self.world, event, self.moment(), self.settings)
        self.world = draft.world
        self.replies += draft.replies
        keys = [c.key for c in draft.changes if c.value is not None]
        for provider in draft.providers:
            keys.append(Key(FactKind.PROCESS, provider))
            keys += [Key(FactKind.REQUEST, r.id) for r in self.world.open_requests.values() if r.provider == provider]
            keys += [Key(FactKind.RETURN, r.id) for r in self.world.open_returns.values() if r.provider == provider]
        return [*keys, *draft.touched]

    def _begin(self, key: Key) -> None:
        for effect in owed(self.world, key, self.moment(), self.settings).effects:
            self.effects[effect.key] = effect
            seen = evolve(self.world.seen, in_flight=self.world.seen.in_flight.set(effect.key, self.now_s))
            if isinstance(effect, SendRequest):
                token = self.world.requests[effect.request].token
                seen = evolve(seen, frames_open=seen.frames_open.set(token, effect.number))
            self.world = evolve(self.world, seen=seen)

    def _everything(self) -> list[Key]:
        keys = [Key(FactKind.PROCESS, p) for p in self.settings.providers]
        keys += [Key(FactKind.REQUEST, r) for r in self.world.open_requests]
        keys += [Key(FactKind.RETURN, r) for r in self.world.open_returns]
        keys += [Key(FactKind.INSTANCE, i) for i in self.world.live]
        return keys + [Key(FactKind.WISH, w) for w in self.world.wishes]

    # --- what a provider does

    def take(self, kind: type[E], provider: str | None = None) -> E:
        """The one effect of this kind that is in flight; it is answered next, so it is taken out."""
        found = [e for e in self.effects.values() if isinstance(e, kind) and provider in (None, e.provider)]
        assert len(found) == 1, f"{kind.__name__} in flight: {found}"
        del self.effects[found[0].key]
        return found[0]

    def in_flight(self, kind: type) -> list[Effect]:
        """Effects of this kind begun and not answered."""
        return [e for e in self.effects.values() if isinstance(e, kind)]

    def provider_ready(
        self,
        provider: str,
        templates: tuple[Template, ...] = (HOST,),
        promises: Promises = TRUSTED,
        capabilities: tuple[str, ...] = (),
    ) -> int:
        """Start, handshake, description and first list of one provider; returns the process number."""
        start = self.take(StartProcess, provider)
        self.event(ProcessSpawned(start.key, provider, start.number, 4_242, 99, "boot"))
        opening = self.take(OpenProvider, provider)
        said = ("p", "1", ("host", "grant"), capabilities, promises, "0123456789abcdef")
        self.event(ProviderOpened(opening.key, provider, start.number, *said))
        reading = self.take(ReadDescription, provider)
        digest = repr(templates)[:20]
        self.event(Described(reading.key, provider, start.number, "r1", digest, templates, ()))
        self.listed(provider)
        return start.number

    def listed(self, provider: str, *seen: SeenInstance, complete: bool = True) -> None:
        """Answers the list that is in flight."""
        reading = self.take(ReadList, provider)
        self.event(Listed(reading.key, provider, reading.number, self.now_s, complete, 0, tuple(seen)))

    def process_ends(self, provider: str, status: int = -9) -> None:
        """The provider's process is reaped; whatever was in flight there gets its own outcome, or none in these
        scenarios."""
        number = self.world.seen.processes[provider].number
        self.effects = {k: e for k, e in self.effects.items() if not (k.provider == provider and k.process == number)}
        self.event(ProcessEnded(provider, number, status, "killed"))

    # --- what a source does

    def demand(self, *lines: Line, revision: int, supply_revision: int | None = 1, source: str = "lsf") -> None:
        """A source says what it lacks."""
        self.event(DemandPushed(source, 0, revision, supply_revision, lines))

    def supply(self, *entries: object, revision: int, source: str = "lsf") -> None:
        """A source says what it has."""
        self.event(SupplyPushed(source, 0, revision, tuple(entries)))  # type: ignore[arg-type]

    # --- looking

    def only_request(self) -> RequestFact:
        """The one purchase there is."""
        (request,) = self.world.requests.values()
        return request

    def instances(self) -> list[InstanceFact]:
        """All instances, by id."""
        return [self.world.instances[i] for i in sorted(self.world.instances)]


def report(request: RequestFact, outcome: str, *seen: SeenInstance, **more: object) -> Report:
    """A provider's report on this purchase."""
    return Report(request.id, request.token, outcome, tuple(seen), **more)  # type: ignore[arg-type]


def machine(
    provider_id: str, state: str = "booting", request: RequestFact | None = None, **more: object
) -> SeenInstance:
    """One machine as a provider tells of it; with a purchase it bears that purchase's mark."""
    mark = SeenMark(token=request.token) if request is not None else None
    return SeenInstance(provider_id, Kind.HOST, 1, state, template="small", mark=mark, **more)  # type: ignore[arg-type]
