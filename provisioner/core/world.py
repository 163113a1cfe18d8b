"""The world: the facts as last committed plus what was only observed since this start; frozen, and made anew only by
`evolve`.

Observations (`Seen`) are empty at each start and never decide what is owed to the outside by themselves: they say
when, not what.
Times in `Seen` are boot clock seconds of this host.
"""

from attrs import field, frozen
from immutables import Map

from provisioner.core.effects import EffectKey
from provisioner.core.facts import (
    DecisionFact,
    DemandFact,
    DescriptionFact,
    EpochFact,
    HeadFact,
    HealthFact,
    InstanceFact,
    Key,
    OverrideFact,
    ProcessFact,
    RequestFact,
    ReturnFact,
    SupplyFact,
    WishFact,
)
from provisioner.core.model import Place, Price, Problem, Rejected
from provisioner.core.process import ProcessState
from provisioner.core.reasons import Reason


@frozen
class End:
    """One end of a process that nobody ordered: when, why, which frames were open (the first ones, and how many in
    all), and the last line it wrote to standard error."""

    at_boot_s: float
    reason: str
    open: tuple[str, ...] = ()
    open_count: int = 0
    last_words: str = ""


@frozen
class ProcessView:
    """A provider's process as this daemon runs it; `number` 0 means none was started yet.

    `is_running` is from the spawn until the reaping, whatever the state; `contract` is the version agreed with it;
    `restart_wanted`: its end is an order, and it is started again at once. `delta_from` is the revision this process
    named for what we hold of its description: only changes to that one may be asked for, since another process may give
    the same name to something else. `lost` are frames that were open at an end that is not proven yet; `quarantines`
    counts those since it last held out for a whole window.
    """

    state: ProcessState = ProcessState.ABSENT
    number: int = 0
    is_running: bool = False
    since_boot_s: float = 0.0
    wait_until_boot_s: float = 0.0
    crashes_boot_s: tuple[float, ...] = ()
    health: str = "ok"
    problem: Problem | None = None
    last_end: str = ""
    described_boot_s: float | None = None
    describe_after_boot_s: float = 0.0
    throttled_until_boot_s: float = 0.0
    auth_failed: bool = False
    state_id: str | None = None
    memory_by: str = "none"
    contract: str = ""
    restart_wanted: bool = False
    delta_from: str = ""
    ends: tuple[End, ...] = ()
    lost: tuple[str, ...] = ()
    lost_count: int = 0
    describe_crashes: int = 0
    quarantines: int = 0


@frozen
class Heard:
    """When a source was last heard, by kind of snapshot; `fresh_since_boot_s` is since when without a gap."""

    demand_boot_s: float | None = None
    supply_boot_s: float | None = None
    fresh_since_boot_s: float = 0.0


@frozen
class Ask:
    """When an open record may be asked for (or said) again, and how often that was done; `crashes` are ends of the
    process in a row at which the question was open."""

    tries: int = 0
    next_boot_s: float = 0.0
    crashes: int = 0


@frozen
class Progress:
    """How far a purchase is in its provider's words: `at` (epoch) is when that was told; `cancelling` is whether a
    cancel was taken and is not settled."""

    phase: str | None = None
    eta_s: int | None = None
    at: float | None = None
    cancelling: bool = False


@frozen
class Extension:
    """What came of asking for a later end of one instance: tries that were refused, when to ask again, and why."""

    tries: int = 0
    next_boot_s: float = 0.0
    problem: Problem | None = None


@frozen
class QuoteView:
    """What is known of the price of one offer beyond its description: the newest quote, for how many units one is
    wanted, and when its price was refused last.

    `quote` is None where there is none to use; `number` is the process that told it. `valid_until` is epoch seconds.
    """

    quote: str | None = None
    units: int = 0
    price: Price | None = None
    valid_until: float = 0.0
    held: bool = False
    number: int = 0
    wanted_units: int = 0
    tries: int = 0
    next_boot_s: float = 0.0
    problem: Problem | None = None
    refusals: int = 0
    refused_boot_s: float | None = None
    refused_until_boot_s: float = 0.0


@frozen
class ListView:
    """The lists of one provider: begin of the newest complete one, when to read again, and what was listed that no
    fact knows; of the newest one besides, what the provider said was wrong with it, and which places it could not read.
    `on_the_way` is what no fact knows in the pages of a pass that goes on.
    `crashes` are ends of the process in a row at which a whole list was open, `named_crashes` a list of named ones.
    """

    complete_begun_boot_s: float | None = None
    next_boot_s: float = 0.0
    passes: int = 0
    strangers: tuple[str, ...] = ()
    is_complete: bool = False
    problems: tuple[Problem, ...] = ()
    missing: tuple[Place, ...] = ()
    on_the_way: tuple[str, ...] = ()
    crashes: int = 0
    named_crashes: int = 0


@frozen
class ForgetView:
    """What one provider is to be told it may forget (ids of purchases and of give-backs), and when to look again."""

    next_boot_s: float = 0.0
    requests: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()


@frozen
class LineStatus:
    """How one line stands after a planner pass: count = met + in_flight + open; `reason` explains what is open."""

    source: str
    line: str
    count: int
    met: int
    in_flight: int
    open: int
    reason: Reason
    rejected: tuple[Rejected, ...] = ()
    expected_at: float | None = None


@frozen
class PlanView:
    """What is known of planner passes since this start. `refused_now`: an offer refused within the pass, so the next
    is asked at once."""

    last_boot_s: float | None = None
    wanted: bool = True
    at_once: bool = False
    wake_boot_s: float | None = None
    lines: tuple[LineStatus, ...] = ()


@frozen
class Seen:
    """What was observed since this start.

    `frames_open` and `frames_closed` are by token: the process number that has the frame, and when the last one
    closed. `wanted` are a
    provider's ids to be read soon. `absent_since` is by request: begin of the first complete list, after its frames
    closed, without it; and by instance whose give-back does not find it.
    `progress` is by open request. `extending` are instances, by provider, that wait for a later end; `extensions` is
    what came of asking, by instance. `quotes` is by `provider/template`.
    `unneeded_since` is by instance: since which pass it served no line, without a break.
    `wall_offset_s` is wall clock less boot clock since `steady_since_boot_s`; `undated` are purchases that were open
    when the wall clock jumped: how old their tokens are is not known any more.
    """

    started_boot_s: float = 0.0
    wall_offset_s: float | None = None
    steady_since_boot_s: float = 0.0
    undated: frozenset[str] = frozenset()
    epochs: Map[str, int] = field(factory=Map)
    processes: Map[str, ProcessView] = field(factory=Map)
    heard: Map[str, Heard] = field(factory=Map)
    in_flight: Map[EffectKey, float] = field(factory=Map)
    frames_open: Map[str, int] = field(factory=Map)
    wanted: Map[str, frozenset[str]] = field(factory=Map)
    frames_closed: Map[str, float] = field(factory=Map)
    asks: Map[str, Ask] = field(factory=Map)
    idle_since: Map[str, float] = field(factory=Map)
    unneeded_since: Map[str, float] = field(factory=Map)
    lists: Map[str, ListView] = field(factory=Map)
    absent_since: Map[str, float] = field(factory=Map)
    forgets: Map[str, ForgetView] = field(factory=Map)
    plan: PlanView = field(factory=PlanView)
    progress: Map[str, Progress] = field(factory=Map)
    # A map of names, not a set: thousands may join it one by one, and each would copy the set.
    extending: Map[str, Map[str, None]] = field(factory=Map)
    extensions: Map[str, Extension] = field(factory=Map)
    quotes: Map[str, QuoteView] = field(factory=Map)


@frozen
class World:
    """Everything a decision may look at. `live`, `open_requests`, `under_way`, `armed`, `open_returns`, `by_token` and
    `by_provider_id` are indexes of the facts; `under_way` are open requests without those that are only planned,
    `armed` those of which a frame is being sent: no more than there are slots, while of the others there may be
    thousands."""

    cluster: str
    lineage: str
    versions: Map[Key, int] = field(factory=Map)
    head: HeadFact | None = None
    epochs: Map[str, EpochFact] = field(factory=Map)
    demands: Map[str, DemandFact] = field(factory=Map)
    supplies: Map[str, SupplyFact] = field(factory=Map)
    requests: Map[str, RequestFact] = field(factory=Map)
    returns: Map[str, ReturnFact] = field(factory=Map)
    instances: Map[str, InstanceFact] = field(factory=Map)
    decisions: Map[str, DecisionFact] = field(factory=Map)
    descriptions: Map[str, DescriptionFact] = field(factory=Map)
    health: Map[str, HealthFact] = field(factory=Map)
    wishes: Map[str, WishFact] = field(factory=Map)
    processes: Map[str, ProcessFact] = field(factory=Map)
    overrides: Map[str, OverrideFact] = field(factory=Map)
    live: Map[str, InstanceFact] = field(factory=Map)
    open_requests: Map[str, RequestFact] = field(factory=Map)
    under_way: Map[str, RequestFact] = field(factory=Map)
    armed: Map[str, RequestFact] = field(factory=Map)
    open_returns: Map[str, ReturnFact] = field(factory=Map)
    by_token: Map[str, str] = field(factory=Map)
    by_provider_id: Map[tuple[str, str], str] = field(factory=Map)
    seen: Seen = field(factory=Seen)
