"""The faults an operator of a test can order: their notation, and which of them strikes a given call.

Pure. Says what should go wrong and when; must not know how it is made to go wrong (cloud, process or wire).
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

from attrs import field, frozen

from providers.simulated.draws import fraction

FarAct = Literal[
    "delay",
    "error",
    "partial",
    "fulfil_late",
    "empty_list",
    "incomplete_list",
    "item_errors",
    "unknown_outcome",
]
WireAct = Literal["never_answer", "lose_answer", "delay_answer", "answer_twice", "exit", "cut_answer"]
Act = FarAct | WireAct

WIRE_ACTS: frozenset[str] = frozenset(
    {"never_answer", "lose_answer", "delay_answer", "answer_twice", "exit", "cut_answer"}
)
METHODS = (
    "initialize", "describe", "quote", "request", "request_status", "cancel", "return", "return_status", "list",
    "extend", "ping", "forget", "shutdown",
)  # fmt: skip
CLASSES = (
    "no_capacity",
    "throttled",
    "quota",
    "auth",
    "bad_request",
    "unknown_template",
    "not_found",
    "transient",
    "internal",
    "price",
    "held",
    "unsupported",
)
_BY_TOKEN = ("error", "partial", "fulfil_late")


@frozen
class Rule:
    """One ordered fault: which calls it strikes and what it does to them.

    `spans` are closed ranges of call numbers counted from 1, `rate` a share of calls; without both all are struck.
    """

    on: str
    do: Act
    spans: tuple[tuple[int, int], ...] = ()
    rate: float | None = None
    templates: tuple[str, ...] = ()
    for_ms: int = 0
    error_class: str = "transient"
    outcome: Literal["not_made", "unknown"] = "not_made"
    retry_after_s: int | None = None
    reason: str | None = None
    scope: Literal["template", "provider", "place"] = "template"
    made: int = 0
    items: int = 1
    bytes: int = 0
    when: Literal["before", "after"] = "before"
    code: int = 1

    @property
    def on_wire(self) -> bool:
        """Is it done to the frames rather than at the far side?"""
        return self.do in WIRE_ACTS


@frozen
class ProcessFaults:
    """What the provider process does wrong as a process."""

    stderr_bytes_per_s: int = 0
    stderr_newlines: bool = True
    stdout_junk: str | None = None
    stdout_junk_every: int = 1
    grandchild_s: int = 0
    grandchild_leaves_group: bool = False
    ignore_sigterm: bool = False
    outlive_stdin_s: int = 0
    crash_after_ms: int | None = None

    @property
    def any(self) -> bool:
        """Is anything ordered?"""
        return self != ProcessFaults()


@frozen
class PriceFaults:
    """Templates (globs) whose price is left out, and templates priced in another currency."""

    omit: tuple[str, ...] = ()
    currency: Mapping[str, str] = field(factory=dict)


@frozen
class FaultPlan:
    """Everything ordered."""

    rules: tuple[Rule, ...] = ()
    process: ProcessFaults = ProcessFaults()
    prices: PriceFaults = PriceFaults()

    def far(self, method: str) -> tuple[Rule, ...]:
        """Return the rules for this method that act at the far side."""
        return tuple(rule for rule in self.rules if not rule.on_wire and rule.on in (method, "*"))

    def wire(self, method: str) -> tuple[Rule, ...]:
        """Return the rules for this method that act on frames."""
        return tuple(rule for rule in self.rules if rule.on_wire and rule.on in (method, "*"))


def strikes(
    rule: Rule, number: int, seed: int, order: int, token: str | None = None, template: str | None = None
) -> bool:
    """Does this rule (the `order`-th) strike the call with this number?

    A rate is drawn from the token where the act decides the fate of a purchase, so that a repeat fares the same;
    else from the number of the call, so that a repeat may fare better.
    """
    if rule.templates and not (template is not None and any(fnmatchcase(template, glob) for glob in rule.templates)):
        return False
    if rule.spans and not any(first <= number <= last for first, last in rule.spans):
        return False
    if rule.rate is None:
        return True
    drawn_from = token if rule.do in _BY_TOKEN and token is not None else number
    return fraction(seed, "fault", order, drawn_from) < rule.rate
